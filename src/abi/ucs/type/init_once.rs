//! `ucs/type/init_once.h`.

use crate::abi::prelude::*;

pub type ucs_init_once_t = ucs_init_once;

#[repr(C)]
pub struct ucs_init_once {
    pub lock: pthread_mutex_t,
    pub initialized: c_int,
}
