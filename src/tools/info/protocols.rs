//! `-p`, `-w`, `-e`, `-m`: a context, a worker, an endpoint, memory.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;

use super::options::{Options, Placement, Print};
use crate::abi::prelude::*;
use crate::tools::client::ucp::{self, Config, Context, Ep, Listener, Peer, Purpose, Worker};
use crate::tools::client::ucs::Stream;
use crate::tools::out;

/// Time, memory and descriptors, before something is made.
struct Usage {
    begin: Instant,
    memory: Option<u64>,
    descriptors: Option<usize>,
}

impl Usage {
    fn now() -> Usage {
        Usage {
            begin: Instant::now(),
            memory: peak_memory(),
            descriptors: descriptors(),
        }
    }

    fn print(&self, to: Stream) {
        let elapsed = self.begin.elapsed();
        let memory = peak_memory().zip(self.memory);
        let descriptors = descriptors().zip(self.descriptors);
        if let (Some((memory, before)), Some((fds, fds_before))) = (memory, descriptors) {
            to.write(&format!(
                "# memory: {:.2}MB, file descriptors: {}\n",
                (memory as f64 - before as f64) / 1024.0,
                fds as i64 - fds_before as i64
            ));
        }
        to.write(&format!(
            "# create time: {:.3} ms\n#\n",
            elapsed.as_secs_f64() * 1e3
        ));
    }
}

/// The most memory that was resident, in KiB.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

fn descriptors() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count())
}

/// A context as the options describe it.
///
/// # Errors
/// The exit status, after a message.
pub fn context(options: &Options) -> Result<(Config, Context), i32> {
    let config = Config::read().map_err(|error| error as i32)?;
    for list in options.without {
        let _ = config.set(list, "");
    }
    let purpose = Purpose {
        features: options.features,
        counts: Some((options.eps, options.ppn)),
        name: "ucx_info",
        shared: false,
    };
    match Context::new(&purpose, Some(&config)) {
        Ok(context) => Ok((config, context)),
        Err(error) => {
            out!("<Failed to create UCP context>\n");
            Err(error as i32)
        }
    }
}

/// Prints what was asked for. Returns the exit status.
pub fn print(to: Stream, options: &Options) -> i32 {
    match try_print(to, options) {
        Ok(()) => 0,
        Err(status) => status,
    }
}

fn try_print(to: Stream, options: &Options) -> Result<(), i32> {
    let wanted = |print| options.print.contains(print);
    let usage = Usage::now();
    let (_config, context) = context(options)?;
    if let Some(spec) = options.memory.as_deref().filter(|_| wanted(Print::MEMORY)) {
        context.print_memory(spec, to);
    }
    if wanted(Print::CONTEXT) {
        context.print(to);
        usage.print(to);
    }
    if !options.print.intersects(Print::WORKER | Print::ENDPOINT) {
        return Ok(());
    }
    let usage = Usage::now();
    let worker = worker(&context, "")?;
    if wanted(Print::WORKER) {
        worker.print(to);
        usage.print(to);
    }
    if wanted(Print::ENDPOINT) {
        let placement = options.placement.unwrap_or(Placement::SameProcess);
        let other = match placement {
            Placement::SameProcess => None,
            _ => Some(self::worker(&context, "peer ")?),
        };
        print_endpoint(
            to,
            &worker,
            other.as_ref().unwrap_or(&worker),
            placement,
            options,
        )?;
    }
    Ok(())
}

fn worker(context: &Context, which: &str) -> Result<Worker, i32> {
    Worker::new(context, UCS_THREAD_MODE_MULTI).map_err(|error| {
        out!("<Failed to create {which}UCP worker>\n");
        error as i32
    })
}

fn print_endpoint(
    to: Stream,
    worker: &Worker,
    other: &Worker,
    placement: Placement,
    options: &Options,
) -> Result<(), i32> {
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: Error| {
            out!("<Failed to {what}>\n");
            error as i32
        }
    };
    let handler: Option<ucp::ErrorHandler> = options.error_handling.then_some(ucp::ignore_failure);
    let address;
    let mut listener = None;
    let peer = match &options.address {
        Some(ip) => {
            let any: IpAddr = match options.ipv6 {
                true => Ipv6Addr::UNSPECIFIED.into(),
                false => Ipv4Addr::UNSPECIFIED.into(),
            };
            let made = Listener::new(other, SocketAddr::new(any, 0))
                .map_err(failed("create UCP listener"))?;
            let port = made.port().map_err(failed("get port"))?;
            listener = Some(made);
            let ip = ip.parse().map_err(|_| {
                eprintln!("ucx_info: invalid address {ip}");
                out!("<Failed to create UCP endpoint>\n");
                Error::InvalidAddr as i32
            })?;
            Peer::Listener(SocketAddr::new(ip, port))
        }
        None => {
            let net_only = placement == Placement::OtherHost;
            address = other
                .address(net_only)
                .map_err(failed("get UCP worker address"))?;
            Peer::Address(address.at)
        }
    };
    let ep = Ep::new(worker, &peer, handler).map_err(failed("create UCP endpoint"))?;
    let mut accepted = None;
    let mut progress = || {
        worker.progress();
        other.progress();
        let request = listener.as_ref().and_then(Listener::take_request);
        if let Some(request) = request {
            match Ep::new(worker, &Peer::Request(request), handler) {
                Ok(ep) => accepted = Some(ep),
                Err(_) => out!("<Failed to create UCP endpoint>\n"),
            }
        }
    };
    let flushed = ep.flush().wait(&mut progress);
    if flushed.is_ok() {
        ep.print(to);
    }
    // What a peer that is gone makes of it doesn't matter here.
    let _ = ep.close(false).wait(&mut progress);
    if let Some(ep) = accepted {
        // By force where that is possible: its peer has gone already.
        let _ = ep.close(handler.is_some()).wait(|| {
            worker.progress();
            other.progress();
        });
    }
    flushed.map_err(failed("flush UCP endpoint"))
}
