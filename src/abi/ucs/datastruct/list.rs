//! `ucs/datastruct/list.h`.

pub type ucs_list_link_t = ucs_list_link;

/// A link of a doubly linked ring.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_list_link {
    pub prev: *mut ucs_list_link,
    pub next: *mut ucs_list_link,
}
