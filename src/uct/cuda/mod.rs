//! CUDA: the driver as we see it, and the transports over it.
//!
//! Nobody's current context is needed, and none is changed: what needs a context finds that of the
//! memory ([`memtype`]) and has it current for the time of the call ([`context`]).

pub mod context;
pub mod copy;
#[allow(unsafe_code)]
pub mod driver;
pub mod ipc;
#[allow(unsafe_code)]
pub mod memory;
pub mod memtype;
#[allow(unsafe_code)]
pub mod mover;

/// What the components over the driver answer to [`Component::query_mds`] and
/// [`Component::unavailable`].
///
/// [`Component::query_mds`]: super::Component::query_mds
/// [`Component::unavailable`]: super::Component::unavailable
fn domains(name: &str) -> Vec<String> {
    driver::get().map_or_else(|_| Vec::new(), |_| vec![name.to_owned()])
}

fn why_none() -> String {
    match driver::get() {
        Ok(_) => "it was not available a moment ago".to_owned(),
        Err(missing) => missing.to_string(),
    }
}
