//! `ucs/datastruct/queue_types.h`.

pub type ucs_queue_elem_t = ucs_queue_elem;
pub type ucs_queue_head_t = ucs_queue_head;
pub type ucs_queue_iter_t = *mut *mut ucs_queue_elem_t;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_queue_elem {
    pub next: *mut ucs_queue_elem_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_queue_head {
    pub head: *mut ucs_queue_elem_t,
    pub ptail: *mut *mut ucs_queue_elem_t,
}
