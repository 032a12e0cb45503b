//! `--json`: all that is asked for as one object.

use serde_json::{Map, Value, json};

use super::options::{Options, Print};
use super::{devices, protocols, system, types, version, why};
use crate::abi::prelude::*;
use crate::tools::client::ucs;
use crate::tools::client::uct::{self, Component, ComponentAttr, Md, Resource, Worker};
use crate::tools::client::why::Line;
use crate::tools::out;

/// Prints it. Returns the exit status.
pub fn print(options: &Options) -> i32 {
    match gather(options) {
        Ok(found) => {
            out!("{:#}\n", Value::Object(found));
            0
        }
        Err(status) => status,
    }
}

fn gather(options: &Options) -> Result<Map<String, Value>, i32> {
    let mut found = Map::new();
    let wanted = |print| options.print.contains(print);
    let mut put = |name: &str, value: Value| found.insert(name.to_owned(), value);
    if wanted(Print::VERSION) {
        put("version", object(version::version()));
    }
    if wanted(Print::BUILD) {
        put("build", object(version::BUILD.iter().copied()));
    }
    if wanted(Print::TYPES) {
        let group = |(name, sizes): (&str, &[(&str, usize)])| {
            (name.to_owned(), object(sizes.iter().copied()))
        };
        put(
            "types",
            Value::Object(types::GROUPS.into_iter().map(group).collect()),
        );
    }
    if wanted(Print::DEVICES) {
        put("components", components(options.tl.as_deref()));
    }
    if wanted(Print::SYSTEM) {
        let mut system = object(system::LABELS.into_iter().zip(ucs::machine()));
        system["Timer frequency"] = json!(ucs::clock_rate());
        system["Timer accuracy"] = json!(system::timer_accuracy());
        put("system", system);
    }
    if wanted(Print::TOPOLOGY) {
        put("topology", topology());
    }
    if options.prints_configuration() {
        put("configuration", configuration(options));
    }
    if options.print.intersects(Print::PROTOCOLS) {
        put("protocols", protocol_lines(options)?);
    }
    if wanted(Print::WHY) {
        let (nowhere, sections) = why::gather(options)?;
        let by_place = sections.iter().map(|s| (s.title(), lines(&s.lines)));
        put(
            "unused",
            json!({"everywhere": lines(&nowhere), "towards": object(by_place)}),
        );
    }
    Ok(found)
}

/// An object of names and values.
fn object<N: ToString, V: Into<Value>>(pairs: impl IntoIterator<Item = (N, V)>) -> Value {
    let pair = |(name, value): (N, V)| (name.to_string(), value.into());
    Value::Object(pairs.into_iter().map(pair).collect())
}

fn lines(lines: &[Line]) -> Value {
    let line = |[tl, dev, reason]: &Line| json!({"transport": tl, "device": dev, "reason": reason});
    lines.iter().map(line).collect()
}

/// What the library prints of a context and so on, as lines.
fn protocol_lines(options: &Options) -> Result<Value, i32> {
    if !options.has_features() {
        eprintln!("ucx_info: -p, -w, -e and -m need at least one of 'a','r','t','m' with -u");
        return Err(-1);
    }
    let mut status = 0;
    let text = ucs::printed(|to| status = protocols::print(to, options));
    if status != 0 {
        return Err(status);
    }
    let lines = text
        .lines()
        .map(|line| line.strip_prefix("# ").unwrap_or(line));
    Ok(lines.filter(|line| *line != "#").collect())
}

fn configuration(options: &Options) -> Value {
    let hidden = options.config & UCS_CONFIG_PRINT_HIDDEN;
    let text = ucs::printed(|to| {
        let flags = UCS_CONFIG_PRINT_CONFIG | hidden;
        ucs::print_configuration(to, flags, options.filter.as_deref());
    });
    object(text.lines().filter_map(|line| line.split_once('=')))
}

fn topology() -> Value {
    let names = system::device_names();
    let device = |(from, name): (u8, &String)| {
        let distance = |to: u8| match ucs::distance(from, to) {
            Ok(distance) if from != to => json!({
                "latency": distance.latency,
                "bandwidth": distance.bandwidth,
            }),
            _ => Value::Null,
        };
        json!({
            "name": name,
            "memory latency": ucs::memory_distance(from).latency,
            "distances": (0..names.len() as u8).map(distance).collect::<Vec<_>>(),
        })
    };
    (0..).zip(&names).map(device).collect()
}

fn components(tl: Option<&str>) -> Value {
    let all = uct::components().unwrap_or_default();
    let described = all.into_iter().filter_map(|component| {
        let attr = component.query().ok()?;
        Some(json!({
            "name": attr.name,
            "memory domains": memory_domains(component, &attr, tl),
        }))
    });
    let has_any = |component: &Value| {
        let mds = component["memory domains"].as_array();
        tl.is_none() || mds.is_some_and(|mds| !mds.is_empty())
    };
    described.filter(has_any).collect()
}

fn memory_domains(component: Component, attr: &ComponentAttr, tl: Option<&str>) -> Value {
    let describe = |name: &String| {
        let md = component.open_md(name).ok()?;
        let resources = md.resources().ok()?;
        let wanted: Vec<_> = resources
            .iter()
            .filter(|resource| tl.is_none_or(|tl| resource.tl_name == tl))
            .map(|resource| transport(&md, resource))
            .collect();
        if tl.is_some() && wanted.is_empty() {
            return None;
        }
        let attr = md.query().ok()?;
        Some(json!({
            "name": name,
            "memory types": devices::memory_types(&attr),
            "max alloc": attr.max_alloc,
            "max reg": attr.max_reg,
            "remote key bytes": attr.rkey_packed_size,
            "transports": wanted,
        }))
    };
    attr.mds.iter().filter_map(describe).collect()
}

fn transport(md: &Md, resource: &Resource) -> Value {
    let mut found = json!({
        "transport": resource.tl_name,
        "device": resource.dev_name,
        "type": devices::device_type(resource.dev_type),
        "system device": ucs::device_name(resource.sys_device),
    });
    let worker = Worker::new(UCS_ASYNC_MODE_THREAD_SPINLOCK, UCS_THREAD_MODE_SINGLE).ok();
    let iface = worker.as_ref().and_then(|worker| {
        md.open_iface(worker, &resource.tl_name, &resource.dev_name)
            .ok()
    });
    if let Some(attr) = iface.and_then(|iface| iface.query().ok()) {
        let cap = &attr.cap;
        found["bandwidth"] =
            json!({"shared": attr.bandwidth.shared, "dedicated": attr.bandwidth.dedicated});
        found["latency"] = json!({"fixed": attr.latency.c, "per endpoint": attr.latency.m});
        found["overhead"] = json!(attr.overhead);
        found["flags"] = json!(cap.flags);
        found["put"] = json!({"short": cap.put.max_short, "bcopy": cap.put.max_bcopy, "zcopy": cap.put.max_zcopy});
        found["get"] = json!({"short": cap.get.max_short, "bcopy": cap.get.max_bcopy, "zcopy": cap.get.max_zcopy});
        found["am"] = json!({"short": cap.am.max_short, "bcopy": cap.am.max_bcopy, "zcopy": cap.am.max_zcopy});
        found["priority"] = json!(attr.priority);
        found["error handling"] = json!(devices::errors(&attr));
    }
    found
}
