//! Entry points of `ucp/api/ucp.h`: datatype.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_dt_create_generic(
    ops: *const ucp_generic_dt_ops_t,
    context: *mut c_void,
    datatype_p: *mut ucp_datatype_t,
) -> ucs_status_t {
    let _ = (ops, context, datatype_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_dt_destroy(datatype: ucp_datatype_t) {
    let _ = datatype;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_dt_query(
    datatype: ucp_datatype_t,
    attr: *mut ucp_datatype_attr_t,
) -> ucs_status_t {
    let _ = (datatype, attr);
    NOT_IMPLEMENTED
}
