//! How the functions of an interface's table reach its transport. Each is generated for every
//! transport of the registry, which it calls by a static call; others are behind their trait's table.

use core::any::Any;
use core::marker::PhantomData;
use std::rc::Rc;

use crate::abi::prelude::*;
use crate::uct::registry::Transport;
use crate::uct::{Ep, Iface};

/// A way to the interface and the endpoints of one transport, through thin pointers.
pub trait Reach: 'static {
    type Iface: Iface + ?Sized;
    type Ep: Ep + ?Sized;

    /// For [`Reach::iface`], while the `Rc` stays where it is; `None` if it is another transport's.
    fn iface_at(tl: &Rc<dyn Iface>) -> Option<*const c_void>;

    /// For [`Reach::ep`], likewise.
    fn ep_at(tl: &Rc<dyn Ep>) -> Option<*const c_void>;

    /// # Safety
    /// `at` is from [`Reach::iface_at`], and what it was made of is alive.
    unsafe fn iface<'a>(at: *const c_void) -> &'a Self::Iface;

    /// # Safety
    /// `at` is from [`Reach::ep_at`], and what it was made of is alive.
    unsafe fn ep<'a>(at: *const c_void) -> &'a Self::Ep;
}

/// A transport of the registry.
pub struct Own<T>(PhantomData<T>);

/// Any other.
pub struct Other;

impl<T: Transport> Reach for Own<T> {
    type Iface = T;
    type Ep = T::Ep;

    fn iface_at(tl: &Rc<dyn Iface>) -> Option<*const c_void> {
        let tl: &dyn Any = &**tl;
        tl.downcast_ref::<T>()
            .map(|tl| core::ptr::from_ref(tl).cast())
    }

    fn ep_at(tl: &Rc<dyn Ep>) -> Option<*const c_void> {
        let tl: &dyn Any = &**tl;
        tl.downcast_ref::<T::Ep>()
            .map(|tl| core::ptr::from_ref(tl).cast())
    }

    #[inline(always)]
    unsafe fn iface<'a>(at: *const c_void) -> &'a T {
        // SAFETY: as the caller says.
        unsafe { &*at.cast() }
    }

    #[inline(always)]
    unsafe fn ep<'a>(at: *const c_void) -> &'a T::Ep {
        // SAFETY: as the caller says.
        unsafe { &*at.cast() }
    }
}

impl Reach for Other {
    type Iface = dyn Iface;
    type Ep = dyn Ep;

    fn iface_at(tl: &Rc<dyn Iface>) -> Option<*const c_void> {
        Some(core::ptr::from_ref(tl).cast())
    }

    fn ep_at(tl: &Rc<dyn Ep>) -> Option<*const c_void> {
        Some(core::ptr::from_ref(tl).cast())
    }

    unsafe fn iface<'a>(at: *const c_void) -> &'a dyn Iface {
        // SAFETY: as the caller says.
        let tl: &Rc<dyn Iface> = unsafe { &*at.cast() };
        &**tl
    }

    unsafe fn ep<'a>(at: *const c_void) -> &'a dyn Ep {
        // SAFETY: as the caller says.
        let tl: &Rc<dyn Ep> = unsafe { &*at.cast() };
        &**tl
    }
}
