//! `ucs/arch/x86_64/global_opts.h`.

pub type ucs_arch_global_opts_t = ucs_arch_global_opts;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_arch_global_opts {
    pub builtin_memcpy_min: usize,
    pub builtin_memcpy_max: usize,
    pub nt_buffer_transfer_min: usize,
    pub nt_dest_threshold: usize,
}
