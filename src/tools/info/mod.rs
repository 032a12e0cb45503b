//! `ucx_info`: what the libraries and the machine offer.
//!
//! | file | options |
//! |---|---|
//! | `version` | `-v`, `-b` |
//! | `types` | `-y` |
//! | `devices` | `-d`, `-t` |
//! | `system` | `-s`, `-T`, `-M` |
//! | `protocols` | `-p`, `-w`, `-e`, `-m`, `-u` and what goes with them |
//! | `why` | `--why` |
//! | `json` | `--json` |

mod devices;
mod json;
mod options;
mod protocols;
mod system;
mod types;
mod version;
mod why;

use super::client::ucs;
use super::library;
use options::{Options, Print};

/// The program. Returns its exit status.
pub fn main() -> i32 {
    let arguments = super::options::arguments();
    if options::asks_for_json(&arguments) {
        library::log_to_stderr();
    }
    if let Err(reason) = library::open() {
        eprintln!("ucx_info: {reason}");
        return 127;
    }
    let options = match Options::read(&arguments) {
        Ok(options) => options,
        Err(status) => {
            options::usage();
            return status;
        }
    };
    if options.json {
        return json::print(&options);
    }
    print(&options)
}

fn print(options: &Options) -> i32 {
    let wanted = |print| options.print.contains(print);
    if wanted(Print::VERSION) {
        version::print_version();
    }
    if wanted(Print::BUILD) {
        version::print_build();
    }
    if wanted(Print::TYPES) {
        types::print(options.tl.as_deref());
    }
    if wanted(Print::DEVICES) {
        devices::print(options.tl.as_deref());
    }
    if options
        .print
        .intersects(Print::SYSTEM | Print::TOPOLOGY | Print::COPIES)
    {
        system::print(options.print);
    }
    if options.prints_configuration() {
        ucs::print_configuration(
            ucs::Stream::stdout(),
            options.config,
            options.filter.as_deref(),
        );
    }
    if options.print.intersects(Print::PROTOCOLS) {
        if !options.has_features() {
            super::out!(
                "Please select at least one of 'a','r','t','m' UCP features using -u switch.\n"
            );
            options::usage();
            return -1;
        }
        let status = protocols::print(ucs::Stream::stdout(), options);
        if status != 0 {
            return status;
        }
    }
    if wanted(Print::WHY) {
        return why::print(options);
    }
    0
}
