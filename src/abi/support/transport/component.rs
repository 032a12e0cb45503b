//! Components: a handle is the address of an element of the registry.

use crate::abi::prelude::*;
use crate::uct::registry::components;
use crate::uct::{Component, config_table};

type Element = &'static dyn Component;

/// All handles, in order.
pub fn handles() -> impl ExactSizeIterator<Item = uct_component_h> {
    let elements: &'static [Element] = components();
    elements.iter().map(into)
}

fn into(element: &'static Element) -> uct_component_h {
    core::ptr::from_ref(element).cast_mut().cast()
}

/// The component behind a handle; any pointer is survived.
pub fn from(handle: uct_component_h) -> Result<&'static dyn Component, Error> {
    let elements: &'static [Element] = components();
    let found = elements.iter().find(|element| into(element) == handle);
    found.copied().ok_or(Error::InvalidParam)
}

/// `UCT_COMPONENT_FLAG_*` of a component.
pub fn flags(component: &'static dyn Component) -> u64 {
    let mut flags = 0;
    if config_table::connection_manager(component.name()).is_some() {
        flags |= UCT_COMPONENT_FLAG_CM;
    }
    let config = crate::ucs::config::Config::global();
    let md = component.query_mds().into_iter().next();
    let md = md.and_then(|name| component.open_md(&name, config).ok());
    if md.is_some_and(|md| md.attr().rkey_ptr) {
        flags |= UCT_COMPONENT_FLAG_RKEY_PTR;
    }
    flags
}
