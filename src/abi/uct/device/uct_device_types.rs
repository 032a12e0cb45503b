//! `uct/api/device/uct_device_types.h`.

use crate::abi::prelude::*;

pub union uct_device_completion {
    _opaque: [u8; 0],
}

pub type uct_device_flags_t = u32;
pub const UCT_DEVICE_FLAG_NODELAY: uct_device_flags_t = 1 << 0;

pub type uct_device_tl_id_t = u32;
pub const UCT_DEVICE_TL_RC_MLX5_GDA: uct_device_tl_id_t = 0;
pub const UCT_DEVICE_TL_CUDA_IPC: uct_device_tl_id_t = 1;
pub const UCT_DEVICE_TL_D2P: uct_device_tl_id_t = 2;
pub const UCT_DEVICE_TL_LAST: uct_device_tl_id_t = 3;

pub type uct_ib_md_device_mem_element_t = uct_ib_md_device_mem_element;
pub type uct_device_ep_t = uct_device_ep;
pub type uct_device_completion_t = uct_device_completion;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_cuda_ipc_md_device_mem_element_t {
    pub mapped_offset: isize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_cuda_ipc_completion_t {}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_ib_md_device_mem_element {
    pub lkey: u32,
    pub rkey: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_device_ep {
    pub uct_tl_id: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union uct_device_mem_elem {
    pub ib_md_mem_element: uct_ib_md_device_mem_element_t,
    pub cuda_ipc_md_mem_element: uct_cuda_ipc_md_device_mem_element_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_device_local_mem_elem {
    pub addr: *mut c_void,
    pub tl: [uct_device_mem_elem_t; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_device_remote_tl_elem {
    pub ep: uct_device_ep_h,
    pub uct: uct_device_mem_elem_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_device_remote_mem_elem {
    pub addr: u64,
    pub tl: [uct_device_remote_tl_elem_t; 0],
}
