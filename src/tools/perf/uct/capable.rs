//! Whether the transport can do what the test needs.

use crate::abi::prelude::*;
use crate::tools::client::log::{error, warning};
use crate::tools::client::uct::Iface;
use crate::tools::perf::params::{BCOPY, Flags, MAX_WINDOW, Params, SHORT, SHORT_IOV, ZCOPY};
use crate::tools::perf::tests::Command;

/// Limits of an operation.
struct Limits {
    /// Flag and name of the operation in this layout.
    flag: (u64, &'static str),
    min: usize,
    max: usize,
    iov: usize,
}

/// # Errors
/// `Unsupported` or `InvalidParam`, after a message.
pub fn check(iface: &Iface, params: &Params) -> Result<(), Error> {
    let attr = iface.query()?;
    let command = params.test()?.command;
    params.check_sizes()?;
    if command.is_atomic() {
        return atomic(&attr, params, command);
    }
    let Some(limits) = limits(&attr, params, command) else {
        params.complain("Invalid test command");
        return Err(Error::InvalidParam);
    };
    let size = params.size();
    let (flag, name) = limits.flag;
    if attr.cap.flags & flag == 0 {
        let (tl, device) = (&params.tl_name, &params.device_name);
        return unsupported(
            params,
            format!("{tl}/{device} does not support operation {name}"),
        );
    }
    if size < limits.min {
        let min = limits.min;
        let text = format!("Message size ({size}) is smaller than min supported ({min})");
        return unsupported(params, text);
    }
    if size > limits.max {
        let max = limits.max;
        let text = format!("Message size ({size}) is larger than max supported ({max})");
        return unsupported(params, text);
    }
    if command == Command::Am {
        message(&attr, params)?;
    }
    pieces(params, command, limits.iov)
}

fn unsupported(params: &Params, text: String) -> Result<(), Error> {
    params.complain(&text);
    Err(Error::Unsupported)
}

fn limits(attr: &uct_iface_attr_t, params: &Params, command: Command) -> Option<Limits> {
    let cap = &attr.cap;
    let of = |flags: [(u64, &'static str); 3], max: [usize; 3], min_zcopy, iov| {
        let kind = match params.layout {
            SHORT | SHORT_IOV => 0,
            BCOPY => 1,
            ZCOPY => 2,
            _ => return None,
        };
        Some(Limits {
            flag: flags[kind],
            min: if kind == 2 { min_zcopy } else { 0 },
            max: max[kind],
            iov,
        })
    };
    match command {
        Command::Am => of(
            [
                (UCT_IFACE_FLAG_AM_SHORT, "am short"),
                (UCT_IFACE_FLAG_AM_BCOPY, "am bcopy"),
                (UCT_IFACE_FLAG_AM_ZCOPY, "am zcopy"),
            ],
            [cap.am.max_short, cap.am.max_bcopy, cap.am.max_zcopy],
            cap.am.min_zcopy,
            cap.am.max_iov,
        ),
        Command::Put => of(
            [
                (UCT_IFACE_FLAG_PUT_SHORT, "put short"),
                (UCT_IFACE_FLAG_PUT_BCOPY, "put bcopy"),
                (UCT_IFACE_FLAG_PUT_ZCOPY, "put zcopy"),
            ],
            [cap.put.max_short, cap.put.max_bcopy, cap.put.max_zcopy],
            cap.put.min_zcopy,
            cap.put.max_iov,
        ),
        Command::Get => of(
            [
                (UCT_IFACE_FLAG_GET_SHORT, "get short"),
                (UCT_IFACE_FLAG_GET_BCOPY, "get bcopy"),
                (UCT_IFACE_FLAG_GET_ZCOPY, "get zcopy"),
            ],
            [cap.get.max_short, cap.get.max_bcopy, cap.get.max_zcopy],
            cap.get.min_zcopy,
            cap.get.max_iov,
        ),
        _ => None,
    }
}

fn atomic(attr: &uct_iface_attr_t, params: &Params, command: Command) -> Result<(), Error> {
    let (op, fetches, name) = match command {
        Command::Add => (UCT_ATOMIC_OP_ADD, false, "add"),
        Command::Fadd => (UCT_ATOMIC_OP_ADD, true, "fetch-add"),
        Command::Swap => (UCT_ATOMIC_OP_SWAP, true, "swap"),
        _ => (UCT_ATOMIC_OP_CSWAP, true, "cswap"),
    };
    let (tl, device, size) = (&params.tl_name, &params.device_name, params.size());
    let ops = match size {
        4 => &attr.cap.atomic32,
        8 => &attr.cap.atomic64,
        _ => {
            error!("{tl}/{device} does not support atomic {name} for message size {size} bytes");
            return Err(Error::Unsupported);
        }
    };
    let supported = if fetches { ops.fop_flags } else { ops.op_flags };
    if supported >> op & 1 == 0 {
        let bits = size * 8;
        let text = format!("{tl}/{device} does not support required {bits}-bit atomic: {name}");
        return unsupported(params, text);
    }
    Ok(())
}

/// Headers and windows of active messages.
fn message(attr: &uct_iface_attr_t, params: &Params) -> Result<(), Error> {
    let (header, max) = (params.am_header, attr.cap.am.max_hdr);
    let (size, window) = (params.size(), params.fc_window);
    let wrong = if params.layout == SHORT && header != 8 {
        Some("Short AM header size must be 8 bytes".to_owned())
    } else if params.layout == ZCOPY && header > max {
        let text = format!("AM header size ({header}) is larger than max supported ({max})");
        return unsupported(params, text);
    } else if header > size {
        Some(format!(
            "AM header size ({header}) is larger than message size ({size})"
        ))
    } else if window > MAX_WINDOW {
        Some(format!(
            "AM flow-control window ({window}) too large (should be <= {MAX_WINDOW})"
        ))
    } else {
        None
    };
    if let Some(text) = wrong {
        params.complain(&text);
        return Err(Error::InvalidParam);
    }
    if params.flags.contains(Flags::ONE_SIDED | Flags::VERBOSE) {
        warning!("Running active-message test with on-sided progress");
    }
    Ok(())
}

/// Pieces of a message.
fn pieces(params: &Params, command: Command, max: usize) -> Result<(), Error> {
    if !matches!(params.layout, ZCOPY | SHORT_IOV) {
        return Ok(());
    }
    let count = params.sizes.len();
    if count > max || count == 0 {
        let text = format!(
            "Wrong number of IOV entries. Requested is {count}, should be in the range 1...{max}"
        );
        return unsupported(params, text);
    }
    let first = params.sizes.first().copied().unwrap_or(0);
    let header = params.am_header;
    if params.layout == ZCOPY && command == Command::Am && count > 1 && header > first {
        params.complain(&format!(
            "AM header size ({header}) larger than the first IOV message size ({first})"
        ));
        return Err(Error::InvalidParam);
    }
    Ok(())
}
