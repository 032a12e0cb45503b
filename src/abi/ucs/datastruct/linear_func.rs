//! `ucs/datastruct/linear_func.h`.

/// The function `c + m * x`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_linear_func_t {
    pub c: f64,
    pub m: f64,
}
