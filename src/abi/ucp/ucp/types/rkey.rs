//! Types and constants of `ucp/api/ucp.h`: rkey.

pub type ucp_rkey_compare_params_t = ucp_rkey_compare_params;

/// Parameters of `ucp_rkey_compare`: none so far.
#[repr(C)]
pub struct ucp_rkey_compare_params {
    pub field_mask: u64,
}
