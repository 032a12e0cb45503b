//! The command line, and the lines of batch files.

use core::ffi::CStr;

use super::params::{Flags, LAYOUTS, MAX_PIECES, Params};
use super::tests::{Api, TESTS};
use crate::abi::prelude::*;
use crate::tools::client::log::{error, warning};
use crate::tools::client::ucs::{MEMORY_TYPES, status_text};
use crate::tools::options::{self, Given};
use crate::tools::out;

/// Options of a test, which may also stand in batch files.
const TEST_OPTIONS: &str = "t:n:s:W:O:w:D:i:H:oCIqM:r:E:T:d:x:A:BUem:a:R:lyzL:F:Y:";
const LONG: [options::Long; 3] = [
    (c"daemon-local", true, 'g'),
    (c"daemon-remote", true, 'G'),
    (c"help", false, 'h'),
];
/// More files are ignored, as UCX does.
const MAX_BATCH_FILES: usize = 32;
const MAX_CPUS: usize = 1024;

/// See the module.
pub struct Options {
    pub params: Params,
    pub server: Option<String>,
    pub port: u16,
    pub ipv6: bool,
    pub batches: Vec<String>,
    pub grouped: bool,
    pub only_final: bool,
    pub csv: bool,
    pub extra: bool,
    cpus: Option<Vec<usize>>,
}

/// Exit status of a wrong command line.
const WRONG: i32 = -127;

impl Options {
    /// # Errors
    /// The exit status of a program that goes no further.
    pub fn read(arguments: &[String]) -> Result<Options, i32> {
        let mut options = Options {
            params: Params::default(),
            server: None,
            port: 13337,
            ipv6: false,
            batches: Vec::new(),
            grouped: false,
            only_final: false,
            csv: false,
            extra: false,
            cpus: None,
        };
        let short = format!("p:b:6NfvXc:P:hK:g:G:{TEST_OPTIONS}\0");
        let short = CStr::from_bytes_with_nul(short.as_bytes()).unwrap_or(c"");
        let (given, operands) = options::parse(arguments, short, &LONG);
        let name = arguments.first().map_or("ucx_perftest", |path| {
            path.rsplit_once('/')
                .map_or(path.as_str(), |(_, name)| name)
        });
        for given in &given {
            options.take(given, name)?;
        }
        options.server = operands.into_iter().next();
        if options.server.is_some() && options.params.flags.contains(Flags::LOOPBACK) {
            error!(
                "conflicting arguments: server hostname argument is not allowed in loopback (-l) mode"
            );
            return Err(WRONG);
        }
        Ok(options)
    }

    fn take(&mut self, given: &Given, name: &str) -> Result<(), i32> {
        let value = given.value.as_str();
        match given.letter {
            'p' => {
                self.port = value.parse().map_err(|_| {
                    error!("invalid port '{value}'");
                    WRONG
                })?;
            }
            '6' => self.ipv6 = true,
            'b' if self.batches.len() < MAX_BATCH_FILES => self.batches.push(value.to_owned()),
            'b' => {}
            'N' => self.grouped = true,
            'f' => self.only_final = true,
            'v' => self.csv = true,
            'X' => self.extra = true,
            'c' => self.cpus = Some(cpus(value).map_err(|_| WRONG)?),
            // Whether launched by MPI: never.
            'P' => {}
            'K' | 'g' | 'G' => {
                error!("-{} is not supported", given.letter);
                return Err(WRONG);
            }
            'h' => {
                usage(name);
                return Err(0);
            }
            _ => {
                if take(&mut self.params, given).is_err() {
                    usage(name);
                    return Err(WRONG);
                }
            }
        }
        Ok(())
    }

    /// Binds the process to the processors that `-c` names, or warns of being bound to none.
    ///
    /// # Errors
    /// `InvalidParam`, after a message.
    pub fn set_affinity(&self) -> Result<(), Error> {
        use crate::sys::cpu;
        let Some(cpus) = &self.cpus else {
            let bound = cpu::affinity().len();
            if bound > 2 {
                warning!(
                    "CPU affinity is not set (bound to {bound} cpus). Performance may be impacted."
                );
            }
            return Ok(());
        };
        let count = crate::sys::process::num_cpus() as usize;
        if let Some(cpu) = cpus.iter().find(|cpu| **cpu >= count) {
            error!("cpu ({cpu}) out of range [0..{}]", count.saturating_sub(1));
            return Err(Error::InvalidParam);
        }
        cpu::set_affinity(cpus).map_err(|reason| {
            warning!("sched_setaffinity() failed: {reason}");
            Error::InvalidParam
        })
    }
}

fn cpus(list: &str) -> Result<Vec<usize>, Error> {
    let parse = |cpu: &str| {
        cpu.trim().parse().map_err(|_| {
            error!("invalid cpu number detected: ({cpu})");
            Error::InvalidParam
        })
    };
    let cpus: Vec<usize> = list.split(',').map(parse).collect::<Result<_, _>>()?;
    if cpus.len() > MAX_CPUS {
        error!("number of listed cpus exceeds the maximum supported value ({MAX_CPUS})");
        return Err(Error::InvalidParam);
    }
    Ok(cpus)
}

fn wrong(option: char) -> Error {
    error!("Invalid option argument for -{option}");
    Error::InvalidParam
}

/// As C's `atol`: digits at the beginning, else 0.
fn number(text: &str) -> u64 {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().unwrap_or(0)
}

fn positive(text: &str, what: &str) -> Result<u32, Error> {
    let Ok(value) = text.parse::<i64>() else {
        error!("failed to parse {what}: {text}");
        return Err(Error::InvalidParam);
    };
    let value = u32::try_from(value)
        .ok()
        .filter(|value| (1..=i32::MAX as u32).contains(value));
    value.ok_or_else(|| {
        error!(
            "value for {what} ({text}) is out of range: [1, {}]",
            i32::MAX
        );
        Error::InvalidParam
    })
}

/// One option of a test.
fn take(params: &mut Params, given: &Given) -> Result<(), Error> {
    let (letter, value) = (given.letter, given.value.as_str());
    let choice = |names: &[&str]| names.iter().position(|name| *name == value);
    match letter {
        't' => {
            let test = TESTS.iter().position(|test| test.name == value);
            params.test = Some(test.ok_or_else(|| wrong(letter))?);
        }
        'd' => params.device_name = value.to_owned(),
        'x' => params.tl_name = value.to_owned(),
        'D' => take_layout(params, value)?,
        'E' => {
            let mode = choice(&["poll", "sleep"]).ok_or_else(|| wrong(letter))?;
            params.wait_mode = mode as u32;
        }
        'M' => {
            let mode = choice(&["single", "serialized", "multi"]);
            params.thread_mode = mode.ok_or_else(|| wrong(letter))? as u32;
        }
        'A' => {
            let mode = choice(&["signal", "thread_spinlock", "thread_mutex", "thread"]);
            let mode = mode.ok_or_else(|| wrong(letter))? as u32;
            params.async_mode = if mode == 3 {
                UCS_ASYNC_MODE_THREAD_SPINLOCK
            } else {
                mode
            };
        }
        'r' => {
            let mode = choice(&["recv", "recv_data"]).ok_or(Error::InvalidParam)?;
            params.flags.set(Flags::STREAM_RECV_DATA, mode == 1);
        }
        'i' => params.iov_stride = number(value) as usize,
        'n' => params.max_iter = number(value),
        'w' => params.warmup_iter = number(value),
        's' => params.sizes = sizes(value)?,
        'H' => {
            params.am_header = number(value) as usize;
            params.ucp_am_header = params.am_header;
        }
        'W' => params.fc_window = number(value) as u32,
        'O' => params.max_outstanding = number(value) as u32,
        'T' => {
            let (threads, blocks) = value.split_once(':').unwrap_or((value, "1"));
            params.threads = positive(threads, "thread count")?;
            params.blocks = positive(blocks, "block count")?;
        }
        'R' => {
            let rank = value.trim().parse().unwrap_or(0.0);
            if !(0.0..=100.0).contains(&rank) {
                return Err(wrong(letter));
            }
            params.percentile = rank;
        }
        'm' => {
            let (send, recv) = value.split_once(',').unwrap_or((value, value));
            params.send_mem_type = memory_type(send)?;
            params.recv_mem_type = memory_type(recv)?;
        }
        'a' => {
            let (send, recv) = value.split_once(',').unwrap_or((value, value));
            params.send_device = device(send)?;
            params.recv_device = device(recv)?;
        }
        'L' => {
            let level = choice(&["thread", "warp", "block", "grid"]);
            params.device_level = level.ok_or_else(|| wrong(letter))? as u32;
        }
        'F' => params.device_window = positive(value, "device flow control window size")?,
        'Y' => {
            let known = value == "single" || value == "per-thread" || value.starts_with("random");
            if !known {
                return Err(Error::InvalidParam);
            }
        }
        'q' => params.flags -= Flags::VERBOSE,
        _ => params.flags |= flag(letter).ok_or(Error::InvalidParam)?,
    }
    Ok(())
}

fn flag(letter: char) -> Option<Flags> {
    Some(match letter {
        'l' => Flags::LOOPBACK,
        'o' => Flags::ONE_SIDED,
        'B' => Flags::MAP_NONBLOCK,
        'C' => Flags::TAG_WILDCARD,
        'U' => Flags::TAG_PROBE,
        'I' => Flags::WAKEUP,
        'e' => Flags::ERROR_HANDLING,
        'y' => Flags::AM_COPY,
        'z' => Flags::REGISTERED,
        _ => return None,
    })
}

/// `short` and so on for UCT, `contig` or `iov` of each side for UCP.
fn take_layout(params: &mut Params, value: &str) -> Result<(), Error> {
    if let Some(layout) = LAYOUTS.iter().position(|(name, _)| *name == value) {
        params.layout = layout as u32;
        return Ok(());
    }
    let is_iov = |kind: &str| match kind {
        _ if kind.starts_with("iov") => Some(true),
        _ if kind.starts_with("contig") => Some(false),
        _ => None,
    };
    params.send_iov = is_iov(value).ok_or_else(|| wrong('D'))?;
    if let Some((_, recv)) = value.split_once(',') {
        params.recv_iov = is_iov(recv).ok_or(Error::InvalidParam)?;
    }
    Ok(())
}

/// `8`, `16,48,8192`, or `1024:16` for sixteen times 1024.
fn sizes(text: &str) -> Result<Vec<usize>, Error> {
    if let Some((size, count)) = text.split_once(':') {
        let (size, count) = (
            positive(size, "message size")?,
            positive(count, "elements")?,
        );
        if count as usize > MAX_PIECES {
            error!("more than {MAX_PIECES} elements");
            return Err(Error::InvalidParam);
        }
        return Ok(vec![size as usize; count as usize]);
    }
    let parse = |(index, size): (usize, &str)| {
        size.trim().parse().map_err(|_| {
            error!("Invalid option substring argument at position {index}");
            Error::InvalidParam
        })
    };
    text.split(',').enumerate().map(parse).collect()
}

fn memory_type(name: &str) -> Result<u32, Error> {
    let found = MEMORY_TYPES.iter().position(|(known, _)| *known == name);
    found.map(|index| index as u32).ok_or_else(|| {
        error!("unsupported memory type: \"{name}\"");
        Error::InvalidParam
    })
}

/// A memory type and perhaps a number after a colon.
fn device(text: &str) -> Result<(u32, i32), Error> {
    let (kind, id) = match text.split_once(':') {
        Some((kind, id)) => (kind, Some(id)),
        None => (text, None),
    };
    let id = match id.map(str::parse) {
        None => -1,
        Some(Ok(id)) => id,
        Some(Err(_)) => {
            error!("failed to parse device id: {text}");
            return Err(Error::InvalidParam);
        }
    };
    Ok((memory_type(kind)?, id))
}

/// A batch file: a test on each line, its name first.
pub struct Batch;

/// Name and parameters of a line, if it is right.
pub type Line = Result<(String, Params), Error>;

impl Batch {
    /// The tests of a file: names, and `parent` with the options of the line.
    ///
    /// # Errors
    /// `IoError`, after a message, when there is no such file.
    pub fn read(path: &str, parent: &Params) -> Result<Vec<Line>, Error> {
        let bytes = std::fs::read(path).map_err(|error| {
            error!("Failed to open batch file '{path}': {error}");
            Error::IoError
        })?;
        // Comments may be in any encoding.
        let text = String::from_utf8_lossy(&bytes);
        let short = format!("{TEST_OPTIONS}\0");
        let short = CStr::from_bytes_with_nul(short.as_bytes()).unwrap_or(c"");
        let mut tests = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let Some(name) = words.first().filter(|word| !word.starts_with('#')) else {
                continue;
            };
            let prefix = format!("in batch file '{path}' line {}: ", index + 1);
            let mut params = parent.clone();
            let read = options::parse(&words, short, &LONG)
                .0
                .iter()
                .try_for_each(|given| {
                    take(&mut params, given).inspect_err(|error| {
                        let reason = status_text((*error).into());
                        error!("{prefix}-{} {}: {reason}", given.letter, given.value);
                    })
                });
            let test = read.and_then(|()| params.complete(&prefix));
            let failed = test.is_err();
            tests.push(test.map(|()| (name.clone(), params)));
            if failed {
                break;
            }
        }
        Ok(tests)
    }
}

fn usage(name: &str) {
    let api = |api| match api {
        Api::Uct => "UCT",
        Api::Ucp => "UCP",
    };
    let tests: String = TESTS
        .iter()
        .map(|test| {
            format!(
                "    {:>13} - {} {}\n",
                test.name,
                api(test.api),
                test.description
            )
        })
        .collect();
    let memory: String = MEMORY_TYPES
        .iter()
        .map(|(name, what)| format!("                        {name} - {what}\n"))
        .collect();
    let text = include_str!("usage.txt");
    out!(
        "{}",
        text.replace("{program}", name)
            .replace("{tests}\n", &tests)
            .replace("{memory types}\n", &memory)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(options: &[(char, &str)]) -> Result<Params, Error> {
        let mut params = Params::default();
        for (letter, value) in options {
            let given = Given {
                letter: *letter,
                value: (*value).to_owned(),
            };
            take(&mut params, &given)?;
        }
        Ok(params)
    }

    #[test]
    fn options_of_tests() {
        let params = taken(&[
            ('t', "tag_bw"),
            ('s', "1,2,3"),
            ('n', "10x"),
            ('D', "iov,contig"),
        ]);
        let params = params.expect("right");
        assert_eq!(TESTS[params.test.expect("a test")].name, "tag_bw");
        assert_eq!((params.size(), params.max_iter), (6, 10));
        assert!(params.send_iov && !params.recv_iov);
        assert_eq!(taken(&[('s', "16:4")]).expect("right").sizes, [16; 4]);
        assert_eq!(
            taken(&[('T', "4:2")]).map(|p| (p.threads, p.blocks)),
            Ok((4, 2))
        );
    }

    #[test]
    fn numbers_of_cpus() {
        assert_eq!(cpus("0,3"), Ok(vec![0, 3]));
    }
}
