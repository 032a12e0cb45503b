//! What `ucp_mem_print_info` prints.

use std::fmt::Write;
use std::sync::Arc;

use crate::sys::map::{PAGE, Place};
use crate::ucp::context::Context;
use crate::ucp::mem::{Memory, Registered};
use crate::ucp::rkey;
use crate::ucs::config::{format_size, parse_size};

/// Allocates as `spec` says, `SIZE` or `SIZE,TYPE`, and tells how that went.
pub fn memory_info(context: &Arc<Context>, spec: &str) -> String {
    let (size, kind) = match spec.split_once(',') {
        Some((size, kind)) => (size, kind),
        None => (spec, "host"),
    };
    let Some(size) = parse_size(size) else {
        return "<Failed to convert a memunits string>\n".to_owned();
    };
    if size == 0 {
        return "<Memory size must be greater than 0>\n".to_owned();
    }
    if kind != "host" {
        return format!("<Invalid memory type '{kind}', supported types: host>\n");
    }
    match Memory::allocate(context, Place::ANY, size, false) {
        Ok(memory) => describe(&Registered::new(context.clone(), memory)),
        Err(_) => format!("<Failed to allocate memory of size {size} type {kind}>\n"),
    }
}

fn describe(registered: &Registered) -> String {
    let memory = registered.memory();
    let mut out = String::from("#\n# UCP memory allocation\n#\n");
    let _ = writeln!(
        out,
        "#  allocated {} at address {:#x} with {}, pagesize: {}",
        format_size(memory.len()),
        memory.address(),
        memory.method().unwrap_or("user memory"),
        format_size(PAGE)
    );
    out.push_str("#  registered on: ");
    for name in domains(registered) {
        let _ = write!(out, "{name} ");
    }
    let size = rkey::pack(registered).len();
    let _ = writeln!(out, "\n#\n#  rkey size: {size}");
    out
}

/// The memory domains through which the region can be accessed directly.
fn domains(registered: &Registered) -> Vec<&'static str> {
    let components = registered.context().components_in_use();
    let names = components.map(|component| component.name());
    let method = registered.memory().method();
    names
        .filter(|name| *name == "self" || method == Some(*name))
        .collect()
}
