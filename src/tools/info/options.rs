//! What the command line asks for.

use bitflags::bitflags;

use crate::abi::prelude::*;
use crate::tools::client::ucp::{Context, Purpose};
use crate::tools::options::{self, Given};
use crate::tools::out;

bitflags! {
    /// Parts of the output.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Print: u32 {
        const VERSION = 1 << 0;
        const SYSTEM = 1 << 1;
        const BUILD = 1 << 2;
        const TYPES = 1 << 3;
        const DEVICES = 1 << 4;
        const CONTEXT = 1 << 5;
        const WORKER = 1 << 6;
        const ENDPOINT = 1 << 7;
        const MEMORY = 1 << 8;
        const TOPOLOGY = 1 << 9;
        const COPIES = 1 << 10;
        const WHY = 1 << 11;
        /// What needs a context.
        const PROTOCOLS = Self::CONTEXT.bits() | Self::WORKER.bits() | Self::ENDPOINT.bits()
            | Self::MEMORY.bits();
    }
}

/// Where the peer of an endpoint is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    SameProcess,
    SameHost,
    OtherHost,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Options {
    pub print: Print,
    pub config: ucs_config_print_flags_t,
    pub filter: Option<String>,
    pub tl: Option<String>,
    pub features: u64,
    pub error_handling: bool,
    pub eps: usize,
    pub ppn: usize,
    pub memory: Option<String>,
    /// Names of the lists of devices that are emptied.
    pub without: &'static [&'static str],
    /// `None`: not said.
    pub placement: Option<Placement>,
    pub address: Option<String>,
    pub ipv6: bool,
    pub json: bool,
}

const SHORT: &core::ffi::CStr = c"fahvc6ydbswpeCF:t:n:u:D:P:m:N:A:TM";
const LONG: [options::Long; 3] = [
    (c"why", false, 'W'),
    (c"json", false, 'J'),
    (c"help", false, 'h'),
];

impl Options {
    /// # Errors
    /// The exit status of a program that only says how it is used.
    pub fn read(arguments: &[String]) -> Result<Options, i32> {
        let mut options = Options {
            print: Print::empty(),
            config: 0,
            filter: None,
            tl: None,
            features: 0,
            error_handling: false,
            eps: 1,
            ppn: 1,
            memory: None,
            without: &[],
            placement: None,
            address: None,
            ipv6: false,
            json: false,
        };
        for given in options::parse(arguments, SHORT, &LONG).0 {
            options.take(&given)?;
        }
        if options.print.is_empty() && options.config == 0 {
            return Err(-2);
        }
        Ok(options)
    }

    fn take(&mut self, given: &Given) -> Result<(), i32> {
        let text = || Some(given.value.clone());
        match given.letter {
            'f' => {
                self.config |= UCS_CONFIG_PRINT_CONFIG;
                self.config |= UCS_CONFIG_PRINT_HEADER | UCS_CONFIG_PRINT_DOC;
            }
            'a' => self.config |= UCS_CONFIG_PRINT_HIDDEN,
            'c' => self.config |= UCS_CONFIG_PRINT_CONFIG,
            'C' => self.config |= UCS_CONFIG_PRINT_COMMENT_DEFAULT,
            'F' => self.filter = text(),
            'v' => self.print |= Print::VERSION,
            'd' => self.print |= Print::DEVICES,
            'b' => self.print |= Print::BUILD,
            'y' => self.print |= Print::TYPES,
            's' => self.print |= Print::SYSTEM,
            'p' => self.print |= Print::CONTEXT,
            'w' => self.print |= Print::WORKER,
            'e' => self.print |= Print::ENDPOINT,
            'T' => self.print |= Print::TOPOLOGY,
            'M' => self.print |= Print::COPIES,
            'W' => self.print |= Print::WHY,
            'J' => self.json = true,
            'm' => {
                self.print |= Print::MEMORY;
                self.memory = text();
            }
            't' => self.tl = text(),
            'n' => self.eps = number(&given.value),
            'N' => self.ppn = number(&given.value),
            'u' => self.take_features(&given.value)?,
            'D' => self.without = without(&given.value)?,
            'P' => self.placement = Some(placement(&given.value)?),
            'A' => self.address = text(),
            '6' => self.ipv6 = true,
            'h' => return Err(0),
            _ => return Err(-1),
        }
        Ok(())
    }

    fn take_features(&mut self, letters: &str) -> Result<(), i32> {
        for letter in letters.chars() {
            self.features |= match letter {
                'a' => UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64,
                'r' => UCP_FEATURE_RMA,
                't' => UCP_FEATURE_TAG,
                's' => UCP_FEATURE_STREAM,
                'm' => UCP_FEATURE_AM,
                'x' => UCP_FEATURE_EXPORTED_MEMH,
                'd' => UCP_FEATURE_DEVICE,
                'w' => UCP_FEATURE_WAKEUP,
                'e' => {
                    self.error_handling = true;
                    0
                }
                _ => return Err(-1),
            };
        }
        Ok(())
    }

    pub fn prints_configuration(&self) -> bool {
        self.config & UCS_CONFIG_PRINT_CONFIG != 0
    }

    /// A context needs one of these.
    pub fn has_features(&self) -> bool {
        let enough = UCP_FEATURE_AMO32
            | UCP_FEATURE_AMO64
            | UCP_FEATURE_RMA
            | UCP_FEATURE_TAG
            | UCP_FEATURE_AM;
        self.features & enough != 0
    }
}

/// As C's `atol`: the digits at the beginning.
fn number(text: &str) -> usize {
    let digits: String = text
        .trim_start()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap_or(0)
}

/// The lists of devices that `-D` empties.
fn without(kind: &str) -> Result<&'static [&'static str], i32> {
    match kind.to_lowercase().as_str() {
        "net" => Ok(&["SELF_DEVICES", "SHM_DEVICES"]),
        "shm" => Ok(&["SELF_DEVICES", "NET_DEVICES"]),
        "self" => Ok(&["SHM_DEVICES", "NET_DEVICES"]),
        "all" => Ok(&[]),
        _ => Err(-1),
    }
}

fn placement(name: &str) -> Result<Placement, i32> {
    match name.to_lowercase().as_str() {
        "self" => Ok(Placement::SameProcess),
        "intra" => Ok(Placement::SameHost),
        "inter" => Ok(Placement::OtherHost),
        _ => Err(-1),
    }
}

/// The memory types of this machine that the libraries can use, by their names.
fn memory_types() -> String {
    let purpose = Purpose {
        features: UCP_FEATURE_AM,
        counts: None,
        name: "ucx_info",
        shared: false,
    };
    let types = Context::new(&purpose, None).and_then(|context| context.memory_types());
    let types = types.unwrap_or(1);
    let names = crate::tools::client::ucs::MEMORY_TYPES.iter().enumerate();
    let used = names.filter(|(index, _)| types & 1 << index != 0);
    used.map(|(_, (name, _))| *name)
        .collect::<Vec<_>>()
        .join(",")
}

/// Whether `--json`, which may be abbreviated, is among the arguments: known before the libraries
/// are there.
pub fn asks_for_json(arguments: &[String]) -> bool {
    let is_it = |text: &String| text.len() > 2 && "--json".starts_with(text.as_str());
    arguments.iter().any(is_it)
}

/// Says how the program is used.
pub fn usage() {
    out!(
        "{}",
        include_str!("usage.txt").replace("{memory types}", &memory_types())
    );
}
