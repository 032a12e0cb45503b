//! Entry points of `ucp/api/ucp.h`: datatype.

use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::ucp::dt::{DtClass, GenericDt, GenericOps};
use crate::ucs::memory::MemoryType;

/// Makes a datatype out of functions that pack and unpack; `context` is passed to them. To be
/// destroyed by `ucp_dt_destroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_dt_create_generic(
    ops: *const ucp_generic_dt_ops_t,
    context: *mut c_void,
    datatype_p: *mut ucp_datatype_t,
) -> ucs_status_t {
    if ops.is_null() || datatype_p.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: the caller's struct; the two types have the same layout.
    let ops = unsafe { ops.cast::<GenericOps>().read() };
    let datatype = Box::into_raw(Box::new(GenericDt { ops, context }));
    let handle = datatype.expose_provenance() as u64 | UCP_DATATYPE_GENERIC;
    // SAFETY: not NULL, and the caller's to be written.
    unsafe { datatype_p.write(handle) };
    Status::OK
}

/// Destroys a datatype that `ucp_dt_create_generic` made. Others need not be destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_dt_destroy(datatype: ucp_datatype_t) {
    if let Ok(DtClass::Generic(address)) = DtClass::decode(datatype)
        && address != 0
    {
        // SAFETY: made by `ucp_dt_create_generic`, destroyed once.
        drop(unsafe {
            Box::from_raw(core::ptr::with_exposed_provenance_mut::<GenericDt>(address))
        });
    }
}

/// Writes those attributes of a datatype into `attr` that its mask asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_dt_query(
    datatype: ucp_datatype_t,
    attr: *mut ucp_datatype_attr_t,
) -> ucs_status_t {
    // SAFETY: an attribute struct as its mask describes it.
    unsafe {
        let mut attrs = match Attrs::new(attr) {
            Ok(attrs) => attrs,
            Err(error) => return error.into(),
        };
        let given = |bit: ucp_datatype_attr_field| attrs.wants(bit);
        let buffer = match given(UCP_DATATYPE_ATTR_FIELD_BUFFER) {
            true => (*attr).buffer,
            false => core::ptr::null(),
        };
        let count = if given(UCP_DATATYPE_ATTR_FIELD_COUNT) {
            (*attr).count
        } else {
            1
        };
        if !given(UCP_DATATYPE_ATTR_FIELD_PACKED_SIZE) {
            return Status::OK;
        }
        let size = match DtClass::decode(datatype) {
            Ok(DtClass::Contig(size)) => size.checked_mul(count).ok_or(Error::InvalidParam),
            Ok(_) if buffer.is_null() => Err(Error::InvalidParam),
            Ok(_) => {
                convert::send_buf(buffer, count, datatype, MemoryType::HOST).map(|buf| buf.len())
            }
            Err(error) => Err(error),
        };
        match size {
            Ok(size) => {
                let bit = UCP_DATATYPE_ATTR_FIELD_PACKED_SIZE;
                crate::set_field!(attrs, bit, packed_size, size);
                Status::OK
            }
            Err(error) => error.into(),
        }
    }
}
