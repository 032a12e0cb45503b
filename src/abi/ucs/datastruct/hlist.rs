//! `ucs/datastruct/hlist.h`.

use crate::abi::prelude::*;

pub type ucs_hlist_link_t = ucs_hlist_link;
pub type ucs_hlist_head_t = ucs_hlist_head;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_hlist_link {
    pub list: ucs_list_link_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_hlist_head {
    pub ptr: *mut ucs_hlist_link_t,
}
