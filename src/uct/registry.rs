//! The components that are built in, in the order in which UCX lists them.

use super::md::Component;

/// All components. A new transport adds its line here.
pub fn components() -> &'static [&'static dyn Component] {
    static ALL: &[&dyn Component] = &[&super::tcp::TCP];
    ALL
}
