//! What a test is given, and the form in which the client tells the server.

use bitflags::bitflags;

use super::ignored;
use super::tests::{Api, Command, TESTS, Test};
use super::wire::{Device, Wire};
use crate::abi::prelude::*;
use crate::tools::client::log::error;
use crate::tools::client::ucs::MEMORY_TYPES;

bitflags! {
    /// Ways to run a test, by their bits on the wire.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Flags: u32 {
        /// The side that is written to doesn't progress.
        const ONE_SIDED = 1 << 2;
        const MAP_NONBLOCK = 1 << 3;
        const TAG_WILDCARD = 1 << 4;
        const TAG_PROBE = 1 << 5;
        const VERBOSE = 1 << 7;
        const STREAM_RECV_DATA = 1 << 8;
        const FLUSH_EP = 1 << 9;
        const WAKEUP = 1 << 10;
        const ERROR_HANDLING = 1 << 11;
        const LOOPBACK = 1 << 12;
        const REGISTERED = 1 << 13;
        const AM_COPY = 1 << 14;
        const _ = !0;
    }
}

/// Data layouts of UCT tests.
pub const LAYOUTS: [(&str, &str); 4] = [
    ("short", "short"),
    ("shortiov", "short iov"),
    ("bcopy", "bcopy"),
    ("zcopy", "zcopy"),
];
pub const SHORT: u32 = 0;
pub const SHORT_IOV: u32 = 1;
pub const BCOPY: u32 = 2;
pub const ZCOPY: u32 = 3;

/// Longest flow control window of UCT's active messages.
pub const MAX_WINDOW: u32 = 127;
/// `-E sleep`.
pub const SLEEP: u32 = 1;
const WAIT_UNSET: u32 = 3;
const NO_NAME: &str = "<none>";
/// More pieces of a message are a mistake.
pub const MAX_PIECES: usize = 1 << 20;
const NO_DEVICE: i32 = -1;

/// See the module. Numbers are those of the C enumerations.
#[derive(Clone, Debug)]
pub struct Params {
    /// Index into [`TESTS`].
    pub test: Option<usize>,
    pub thread_mode: u32,
    pub threads: u32,
    pub async_mode: u32,
    pub wait_mode: u32,
    pub send_mem_type: u32,
    pub recv_mem_type: u32,
    pub send_device: (u32, i32),
    pub recv_device: (u32, i32),
    pub device_level: u32,
    pub flags: Flags,
    pub sizes: Vec<usize>,
    pub iov_stride: usize,
    pub max_outstanding: u32,
    pub warmup_iter: u64,
    /// Seconds.
    pub warmup_time: f64,
    pub max_iter: u64,
    pub max_time: f64,
    pub report_interval: f64,
    pub percentile: f64,
    pub blocks: u32,
    pub device_window: u32,
    pub device_name: String,
    pub tl_name: String,
    pub layout: u32,
    pub fc_window: u32,
    pub am_header: usize,
    pub ucp_am_header: usize,
    /// Vectors in place of plain buffers.
    pub send_iov: bool,
    pub recv_iov: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            test: None,
            thread_mode: UCS_THREAD_MODE_SERIALIZED,
            threads: 1,
            async_mode: UCS_ASYNC_MODE_THREAD_SPINLOCK,
            wait_mode: WAIT_UNSET,
            send_mem_type: UCS_MEMORY_TYPE_HOST,
            recv_mem_type: UCS_MEMORY_TYPE_HOST,
            send_device: (UCS_MEMORY_TYPE_LAST, NO_DEVICE),
            recv_device: (UCS_MEMORY_TYPE_LAST, NO_DEVICE),
            device_level: 0,
            flags: Flags::VERBOSE,
            sizes: vec![8],
            iov_stride: 0,
            max_outstanding: 0,
            warmup_iter: 10000,
            warmup_time: 0.1,
            max_iter: 1_000_000,
            max_time: 0.0,
            report_interval: 1.0,
            percentile: 50.0,
            blocks: 1,
            device_window: 4,
            device_name: NO_NAME.to_owned(),
            tl_name: NO_NAME.to_owned(),
            layout: SHORT,
            fc_window: MAX_WINDOW,
            am_header: 8,
            ucp_am_header: 0,
            send_iov: false,
            recv_iov: false,
        }
    }
}

fn memory(kind: u32) -> &'static str {
    MEMORY_TYPES
        .get(kind as usize)
        .map_or("<unknown>", |(name, _)| name)
}

impl Params {
    /// Bytes of a message.
    pub fn size(&self) -> usize {
        self.sizes
            .iter()
            .fold(0, |sum, size| sum.saturating_add(*size))
    }

    /// Bytes of the buffer that holds a message.
    pub fn extent(&self, strided: bool) -> usize {
        match self.iov_stride {
            0 => self.size(),
            stride if strided => stride.saturating_mul(self.sizes.len()),
            _ => self.size(),
        }
    }

    pub fn send_memory(&self) -> &'static str {
        memory(self.send_mem_type)
    }

    pub fn recv_memory(&self) -> &'static str {
        memory(self.recv_mem_type)
    }

    /// Accelerators are to start the operations.
    pub fn has_device(&self) -> bool {
        [self.send_device, self.recv_device]
            .iter()
            .any(|(kind, _)| *kind != UCS_MEMORY_TYPE_LAST)
    }

    /// # Errors
    /// `InvalidParam` if there is none.
    pub fn test(&self) -> Result<&'static Test, Error> {
        let test = self.test.and_then(|index| TESTS.get(index));
        test.ok_or_else(|| {
            error!("Test is not selected");
            Error::InvalidParam
        })
    }

    /// Fills in what depends on the test.
    ///
    /// # Errors
    /// `InvalidParam` without one, after a message that begins with `prefix`.
    pub fn complete(&mut self, prefix: &str) -> Result<(), Error> {
        let Some(test) = self.test.and_then(|index| TESTS.get(index)) else {
            error!("{prefix}missing test name");
            return Err(Error::InvalidParam);
        };
        if self.max_outstanding == 0 {
            self.max_outstanding = test.window;
        }
        Ok(())
    }

    /// # Errors
    /// `InvalidParam` for a test that can't be run, after a message.
    pub fn check(&self) -> Result<(), Error> {
        let named = |name: &str| name != NO_NAME;
        match self.test()?.api {
            Api::Uct if !named(&self.device_name) => {
                error!("A device must be specified with -d flag for UCT test");
                Err(Error::InvalidParam)
            }
            Api::Uct if !named(&self.tl_name) => {
                error!("A transport must be specified with -x flag for UCT test");
                Err(Error::InvalidParam)
            }
            Api::Uct => Ok(()),
            Api::Ucp => {
                for (option, name) in [('d', &self.device_name), ('x', &self.tl_name)] {
                    if named(name) {
                        ignored(option, name);
                    }
                }
                Ok(())
            }
        }
    }

    /// What no test can do without.
    ///
    /// # Errors
    /// `InvalidParam`, after a message unless `-q` was given.
    pub fn check_sizes(&self) -> Result<(), Error> {
        let test = self.test()?;
        let may_be_empty = test.api == Api::Ucp && !test.command.is_one_sided();
        let wrong = if !may_be_empty && self.size() < 1 {
            Some("Message size too small, need to be at least 1".to_owned())
        } else if self.max_outstanding < 1 {
            Some("max_outstanding, need to be at least 1".to_owned())
        } else {
            let stride = self.iov_stride;
            let long = self.sizes.iter().find(|size| stride > 0 && **size > stride);
            long.map(|size| format!("Buffer size {size} bigger than stride {stride}"))
        };
        match wrong {
            None => Ok(()),
            Some(text) => {
                self.complain(&text);
                Err(Error::InvalidParam)
            }
        }
    }

    /// An error for the user, unless `-q` was given.
    pub fn complain(&self, text: &str) {
        if self.flags.contains(Flags::VERBOSE) {
            error!("{text}");
        }
    }

    /// The server runs what the client says, on its own device, and with error handling if it was
    /// told so itself.
    pub fn merge(&mut self, client: Params) {
        let (device, handling) = (self.device_name.clone(), self.flags & Flags::ERROR_HANDLING);
        *self = client;
        self.device_name = device;
        self.flags |= handling;
    }

    fn command(&self) -> (u32, u32, u32) {
        match self.test.and_then(|index| TESTS.get(index)) {
            Some(test) => (test.api as u32, test.command as u32, test.pattern as u32),
            // The values after the last ones.
            None => (2, Command::Stream as u32 + 1, 4),
        }
    }
}

impl Params {
    /// The bytes that the client sends, without the list of sizes.
    pub fn encode(&self) -> Vec<u8> {
        let (api, command, pattern) = self.command();
        let mut wire = Wire::zeroed();
        (wire.api, wire.command, wire.pattern) = (api, command, pattern);
        wire.thread_mode = self.thread_mode;
        wire.threads = self.threads;
        wire.async_mode = self.async_mode;
        wire.wait_mode = self.wait_mode;
        wire.send_mem_type = self.send_mem_type;
        wire.recv_mem_type = self.recv_mem_type;
        wire.send_device = Device::of(self.send_device);
        wire.recv_device = Device::of(self.recv_device);
        wire.device_level = self.device_level;
        wire.flags = self.flags.bits();
        wire.pieces = self.sizes.len() as u64;
        wire.iov_stride = self.iov_stride as u64;
        wire.alignment = 4096;
        wire.max_outstanding = self.max_outstanding;
        wire.warmup_iter = self.warmup_iter;
        wire.warmup_time = self.warmup_time;
        wire.max_iter = self.max_iter;
        wire.max_time = self.max_time;
        wire.report_interval = self.report_interval;
        wire.percentile = self.percentile;
        wire.device_threads = 1;
        wire.blocks = self.blocks;
        wire.device_window = self.device_window;
        put_text(&mut wire.device_name, &self.device_name);
        put_text(&mut wire.tl_name, &self.tl_name);
        wire.layout = self.layout;
        wire.fc_window = self.fc_window;
        wire.am_header = self.am_header as u64;
        wire.send_iov = u32::from(self.send_iov);
        wire.recv_iov = u32::from(self.recv_iov);
        wire.ucp_am_header = self.ucp_am_header as u64;
        wire.test = self.test.map_or(-1, |index| index as i32);
        wire.bytes().to_vec()
    }

    /// What a client sent, without the list of sizes, and how many those are.
    ///
    /// # Errors
    /// `InvalidParam` for what no client of this version sends, after a message.
    pub fn decode(bytes: &[u8]) -> Result<(Params, usize), Error> {
        let Some(wire) = Wire::from_bytes(bytes) else {
            return Err(Error::InvalidParam);
        };
        let test = usize::try_from(wire.test).ok();
        let params = Params {
            test: test.filter(|index| *index < TESTS.len()),
            thread_mode: wire.thread_mode,
            threads: wire.threads,
            async_mode: wire.async_mode,
            wait_mode: wire.wait_mode,
            send_mem_type: wire.send_mem_type,
            recv_mem_type: wire.recv_mem_type,
            send_device: (wire.send_device.kind, wire.send_device.id),
            recv_device: (wire.recv_device.kind, wire.recv_device.id),
            device_level: wire.device_level,
            flags: Flags::from_bits_retain(wire.flags),
            sizes: Vec::new(),
            iov_stride: wire.iov_stride as usize,
            max_outstanding: wire.max_outstanding,
            warmup_iter: wire.warmup_iter,
            warmup_time: wire.warmup_time,
            max_iter: wire.max_iter,
            max_time: wire.max_time,
            report_interval: wire.report_interval,
            percentile: wire.percentile,
            blocks: wire.blocks,
            device_window: wire.device_window,
            device_name: text(&wire.device_name),
            tl_name: text(&wire.tl_name),
            layout: wire.layout,
            fc_window: wire.fc_window,
            am_header: wire.am_header as usize,
            ucp_am_header: wire.ucp_am_header as usize,
            send_iov: wire.send_iov != 0,
            recv_iov: wire.recv_iov != 0,
        };
        let (pieces, header) = (wire.pieces as usize, params.ucp_am_header);
        if pieces > MAX_PIECES || header > 1 << 30 || !(1..=4096).contains(&params.threads) {
            error!("the client is no ucx_perftest of version 1.22");
            return Err(Error::InvalidParam);
        }
        if wire.daemon != 0 {
            error!("the client wants a daemon, which is not supported");
            return Err(Error::Unsupported);
        }
        Ok((params, pieces))
    }
}

fn put_text(array: &mut [u8], text: &str) {
    let room = array.len() - 1;
    for (to, from) in array[..room].iter_mut().zip(text.bytes()) {
        *to = from;
    }
}

fn text(array: &[u8]) -> String {
    let end = array.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&array[..end.unwrap_or(array.len())]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::wire::WIRE_LEN;
    use super::*;

    #[test]
    fn what_is_sent_arrives() {
        let sent = Params {
            test: Some(11),
            sizes: vec![1, 2, 3],
            warmup_iter: 7,
            percentile: 99.0,
            device_name: "eth0".to_owned(),
            tl_name: "a name that is too long".to_owned(),
            recv_iov: true,
            ucp_am_header: 12,
            ..Params::default()
        };
        let bytes = sent.encode();
        assert_eq!(bytes.len(), WIRE_LEN);
        let (got, pieces) = Params::decode(&bytes).expect("well formed");
        assert_eq!(pieces, 3);
        assert_eq!(got.tl_name, "a name th");
        let same = |params: &Params| {
            let params = Params {
                sizes: Vec::new(),
                tl_name: String::new(),
                ..params.clone()
            };
            format!("{params:?}")
        };
        assert_eq!(same(&got), same(&sent));
    }

    #[test]
    fn strangers_are_refused() {
        assert!(Params::decode(&[]).is_err());
        assert!(Params::decode(&[0xff; WIRE_LEN]).is_err());
        assert!(Params::decode(&[0; WIRE_LEN]).is_err());
    }
}
