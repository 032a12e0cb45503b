//! Where allocated memory comes from (`UCX_ALLOC_PRIO`).
#![forbid(unsafe_code)]

use std::io;

use crate::sys::map::{Mapping, PAGE, Place};
use crate::ucp::address::TlId;
use crate::ucp::context::Context;
use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};
use crate::uct::{AllocRequest, Shared};

/// One source of memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Method {
    /// A memory domain of the component with this name, or any (`*`).
    Md(String),
    /// Memory that the kernel may back by huge pages.
    Thp,
    Mmap,
    Heap,
    /// Huge pages that were set aside.
    Huge,
}

/// Memory that was allocated.
pub enum Allocated {
    Private(Mapping),
    /// Other processes can map it, through this transport.
    Shared(TlId, Shared),
}

impl Method {
    /// # Errors
    /// `InvalidParam` for an unknown name, after a message.
    pub fn read_all(config: &Config) -> Result<Vec<Method>> {
        let names = config.list("ALLOC_PRIO");
        names.iter().map(|name| Method::parse(name)).collect()
    }

    fn parse(name: &str) -> Result<Method> {
        Ok(match name {
            "md" => Method::Md("*".to_owned()),
            "thp" => Method::Thp,
            "mmap" => Method::Mmap,
            "heap" => Method::Heap,
            "huge" => Method::Huge,
            _ => match name.strip_prefix("md:") {
                Some(component) => Method::Md(component.to_owned()),
                None => {
                    crate::ucs_error!(
                        "UCX_ALLOC_PRIO: '{name}' is no method of allocation; there are \
                         md:<component>, md:*, thp, mmap, heap and huge"
                    );
                    return Err(Error::InvalidParam);
                }
            },
        })
    }

    const fn name(&self) -> &'static str {
        match self {
            Method::Md(_) => "md",
            Method::Thp => "thp",
            Method::Mmap => "mmap",
            Method::Heap => "heap",
            Method::Huge => "huge",
        }
    }
}

/// Allocates by the first method that can; returns its name too.
///
/// # Errors
/// `NoMemory`, after a message.
pub fn allocate(
    context: &Context,
    place: Place,
    len: usize,
    lazy: bool,
) -> Result<(&'static str, Allocated)> {
    let rounded = len.checked_next_multiple_of(PAGE).ok_or(Error::NoMemory)?;
    let request = AllocRequest {
        len: rounded,
        place,
        lazy,
    };
    for method in &context.alloc_methods {
        let found = match method {
            Method::Md(component) => from_domains(context, component, &request),
            other => privately(other, len, &request),
        };
        if found.is_some() {
            return found.ok_or(Error::NoMemory);
        }
    }
    crate::ucs_error!(
        "failed to allocate {len} bytes: none of UCX_ALLOC_PRIO={} could",
        context.config.text("ALLOC_PRIO")
    );
    Err(Error::NoMemory)
}

fn from_domains(
    context: &Context,
    wanted: &str,
    request: &AllocRequest,
) -> Option<(&'static str, Allocated)> {
    let components = context.components_in_use();
    let mut named = components.filter(|c| wanted == "*" || wanted == c.name());
    named.find_map(
        |component| match component.alloc(&context.config, request) {
            Ok(memory) => {
                let tl = TlId::of(component.name());
                Some((component.name(), Allocated::Shared(tl, memory?)))
            }
            Err(error) => {
                let (name, len) = (component.name(), request.len);
                crate::ucs_debug!("{name} could not allocate {len} bytes: {error}");
                None
            }
        },
    )
}

fn privately(
    method: &Method,
    len: usize,
    request: &AllocRequest,
) -> Option<(&'static str, Allocated)> {
    let fixed = request.place.is_fixed();
    let made = match method {
        Method::Thp | Method::Heap if fixed => return None,
        Method::Thp => Mapping::transparent_huge(request.len),
        Method::Heap => Mapping::heap(len),
        Method::Huge => Mapping::huge(request.place, request.len),
        Method::Mmap => Mapping::anonymous(request.place, request.len),
        Method::Md(_) => Err(io::ErrorKind::Unsupported.into()),
    };
    match made {
        Ok(mapping) => Some((method.name(), Allocated::Private(mapping))),
        Err(error) => {
            let name = method.name();
            crate::ucs_debug!("{name} could not allocate {len} bytes: {error}");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_have_names() {
        let methods = |text: &str| {
            let mut config = Config::default();
            config.set("ALLOC_PRIO", text);
            Method::read_all(&config)
        };
        assert_eq!(
            methods("md:posix,thp,md:*,mmap,heap,huge,md").as_deref(),
            Ok(&[
                Method::Md("posix".to_owned()),
                Method::Thp,
                Method::Md("*".to_owned()),
                Method::Mmap,
                Method::Heap,
                Method::Huge,
                Method::Md("*".to_owned()),
            ][..])
        );
        assert_eq!(methods("mmap,hepa"), Err(Error::InvalidParam));
        assert!(Method::read_all(&Config::default()).is_ok());
    }
}
