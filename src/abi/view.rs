//! Structs that grow between versions.
//!
//! A caller passes a struct of the size it was compiled with, and says by a mask which fields it
//! filled or asks for. So no reference to the whole struct is ever formed and it is never copied:
//! [`Params`] reads one field at a time and only if its bit is set, [`Attrs`] writes only fields
//! that were asked for.
//!
//! ```
//! use ucx::abi::prelude::*;
//! # let mut raw: ucp_params_t = unsafe { core::mem::zeroed() };
//! # raw.field_mask = UCP_PARAM_FIELD_FEATURES;
//! # raw.features = UCP_FEATURE_TAG;
//! # let pointer: *const ucp_params_t = &raw;
//! // SAFETY: the caller of the entry point passes a struct as its mask describes it.
//! let params = unsafe { Params::new(pointer) }?;
//! let features = ucx::field!(params, UCP_PARAM_FIELD_FEATURES, features);
//! assert_eq!(features, Some(UCP_FEATURE_TAG));
//! # Ok::<(), Error>(())
//! ```

use core::marker::PhantomData;

use crate::ucs::status::{Error, Result};

/// A struct whose first member is the mask of its valid fields.
///
/// # Safety
/// The mask must be the first member, with type `Mask`.
pub unsafe trait Masked {
    type Mask: Copy + Into<u64>;
}

/// A parameter struct owned by the caller, read field by field.
pub struct Params<'a, T: Masked> {
    raw: *const T,
    mask: u64,
    life: PhantomData<&'a ()>,
}

impl<'a, T: Masked> Params<'a, T> {
    /// Looks at the mask of `raw`. Fails with `InvalidParam` when `raw` is NULL.
    ///
    /// # Safety
    /// `raw` is NULL or holds for `'a` a mask and every field whose bit is set in it.
    pub unsafe fn new(raw: *const T) -> Result<Self> {
        if raw.is_null() {
            return Err(Error::InvalidParam);
        }
        // SAFETY: not NULL, and `Masked` says that the mask comes first.
        let mask = unsafe { raw.cast::<T::Mask>().read() }.into();
        Ok(Params {
            raw,
            mask,
            life: PhantomData,
        })
    }

    /// The mask as the caller gave it, unknown bits included.
    pub fn mask(&self) -> u64 {
        self.mask
    }

    /// True if every bit of `bits` is set in the mask.
    pub fn has(&self, bits: u64) -> bool {
        self.mask & bits == bits
    }

    /// The field that `place` points at, if its bit is set.
    ///
    /// `place` must do nothing but `&raw const (*p).field`, for the field that `bit` belongs to.
    pub fn get<F: Copy>(&self, bit: u64, place: impl FnOnce(*const T) -> *const F) -> Option<F> {
        if self.mask & bit == 0 {
            return None;
        }
        // SAFETY: the bit is set, so the caller's struct holds this field (see `new`).
        Some(unsafe { place(self.raw).read() })
    }

    /// Like [`Params::get`], with the value that holds when the caller didn't set the field.
    pub fn get_or<F: Copy>(
        &self,
        bit: u64,
        default: F,
        place: impl FnOnce(*const T) -> *const F,
    ) -> F {
        self.get(bit, place).unwrap_or(default)
    }
}

/// An attribute struct owned by the caller, in which only the fields asked for are written.
pub struct Attrs<'a, T: Masked> {
    raw: *mut T,
    mask: u64,
    life: PhantomData<&'a mut ()>,
}

impl<'a, T: Masked> Attrs<'a, T> {
    /// Looks at the mask of `raw`. Fails with `InvalidParam` when `raw` is NULL.
    ///
    /// # Safety
    /// `raw` is NULL or has for `'a` a mask and room for every field whose bit is set in it, and
    /// nothing else touches it meanwhile.
    pub unsafe fn new(raw: *mut T) -> Result<Self> {
        if raw.is_null() {
            return Err(Error::InvalidParam);
        }
        // SAFETY: not NULL, and `Masked` says that the mask comes first.
        let mask = unsafe { raw.cast::<T::Mask>().read() }.into();
        Ok(Attrs {
            raw,
            mask,
            life: PhantomData,
        })
    }

    /// The mask as the caller gave it, unknown bits included.
    pub fn mask(&self) -> u64 {
        self.mask
    }

    /// True if the caller asked for any field of `bits`.
    pub fn wants(&self, bits: u64) -> bool {
        self.mask & bits != 0
    }

    /// Writes the field that `place` points at, if its bit is set; `value` is only computed then.
    ///
    /// `place` must do nothing but `&raw mut (*p).field`, for the field that `bit` belongs to.
    pub fn set<F: Copy>(
        &mut self,
        bit: u64,
        place: impl FnOnce(*mut T) -> *mut F,
        value: impl FnOnce() -> F,
    ) {
        if self.mask & bit != 0 {
            // SAFETY: the bit is set, so the caller's struct has room for this field (see `new`).
            unsafe { place(self.raw).write(value()) }
        }
    }
}

/// Reads one field of a [`Params`]: `field!(params, UCP_PARAM_FIELD_FEATURES, features)` is an
/// `Option` of the field's type. The bit must be the one that belongs to the field.
#[macro_export]
macro_rules! field {
    ($params:expr, $bit:expr, $($field:tt)+) => {
        $params.get($bit, |p| {
            #[allow(unused_unsafe)]
            // SAFETY: only the field's address is computed, within the caller's struct.
            unsafe { &raw const (*p).$($field)+ }
        })
    };
}

/// Writes one field of an [`Attrs`] if it was asked for; the value is computed only then:
/// `set_field!(attrs, UCP_ATTR_FIELD_REQUEST_SIZE, request_size, 128)`.
#[macro_export]
macro_rules! set_field {
    ($attrs:expr, $bit:expr, $field:ident, $value:expr) => {
        $attrs.set(
            $bit,
            |p| {
                #[allow(unused_unsafe)]
                // SAFETY: only the field's address is computed, within the caller's struct.
                unsafe {
                    &raw mut (*p).$field
                }
            },
            || $value,
        )
    };
}
