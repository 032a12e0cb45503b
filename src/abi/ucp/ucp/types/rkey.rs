//! Types and constants of `ucp/api/ucp.h`: rkey.

pub type ucp_rkey_compare_params_t = ucp_rkey_compare_params;

#[repr(C)]
pub struct ucp_rkey_compare_params {
    pub field_mask: u64,
}
