//! The tests, in the order by which the two sides number them.

/// The layer that is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Api {
    Uct = 0,
    Ucp = 1,
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Command {
    Am = 0,
    Put = 1,
    Get = 2,
    Add = 3,
    Fadd = 4,
    Swap = 5,
    Cswap = 6,
    Tag = 7,
    TagSync = 8,
    Stream = 9,
}

impl Command {
    pub const fn is_atomic(self) -> bool {
        matches!(
            self,
            Command::Add | Command::Fadd | Command::Swap | Command::Cswap
        )
    }

    /// Only one side knows when it happens: the other watches its memory.
    pub const fn is_one_sided(self) -> bool {
        self.is_atomic() || matches!(self, Command::Put | Command::Get)
    }
}

/// Who sends when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Pattern {
    /// Back and forth.
    PingPong = 0,
    /// One side all the time.
    Stream = 2,
}

/// A test.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    pub name: &'static str,
    pub api: Api,
    pub command: Command,
    pub pattern: Pattern,
    pub description: &'static str,
    /// What the column of times is called.
    pub column: &'static str,
    /// Operations in flight, unless the user says otherwise.
    pub window: u32,
}

const fn test(
    name: &'static str,
    (api, command): (Api, Command),
    (pattern, column, window): (Pattern, &'static str, u32),
    description: &'static str,
) -> Test {
    Test {
        name,
        api,
        command,
        pattern,
        description,
        column,
        window,
    }
}

use Api::{Ucp, Uct};
use Command::{Add, Am, Cswap, Fadd, Get, Put, Stream, Swap, Tag, TagSync};

const PING: (Pattern, &str, u32) = (Pattern::PingPong, "latency", 1);
/// One after the other, in one direction.
const SINGLE: (Pattern, &str, u32) = (Pattern::Stream, "latency", 1);
const FLOW: (Pattern, &str, u32) = (Pattern::Stream, "overhead", 1);
const WINDOW: (Pattern, &str, u32) = (Pattern::Stream, "overhead", 32);

/// All tests.
pub const TESTS: [Test; 26] = [
    test("am_lat", (Uct, Am), PING, "active message latency"),
    test("put_lat", (Uct, Put), PING, "put latency"),
    test("add_lat", (Uct, Add), PING, "atomic add latency"),
    test(
        "get",
        (Uct, Get),
        SINGLE,
        "get latency / bandwidth / message rate",
    ),
    test(
        "fadd",
        (Uct, Fadd),
        SINGLE,
        "atomic fetch-and-add latency / rate",
    ),
    test("swap", (Uct, Swap), SINGLE, "atomic swap latency / rate"),
    test(
        "cswap",
        (Uct, Cswap),
        SINGLE,
        "atomic compare-and-swap latency / rate",
    ),
    test(
        "am_bw",
        (Uct, Am),
        FLOW,
        "active message bandwidth / message rate",
    ),
    test("put_bw", (Uct, Put), WINDOW, "put bandwidth / message rate"),
    test("get_bw", (Uct, Get), WINDOW, "get bandwidth / message rate"),
    test("add_mr", (Uct, Add), FLOW, "atomic add message rate"),
    test("tag_lat", (Ucp, Tag), PING, "tag match latency"),
    test("tag_bw", (Ucp, Tag), WINDOW, "tag match bandwidth"),
    test(
        "tag_sync_lat",
        (Ucp, TagSync),
        PING,
        "tag sync match latency",
    ),
    test(
        "tag_sync_bw",
        (Ucp, TagSync),
        WINDOW,
        "tag sync match bandwidth",
    ),
    test("ucp_put_lat", (Ucp, Put), PING, "put latency"),
    test("ucp_put_bw", (Ucp, Put), WINDOW, "put bandwidth"),
    test(
        "ucp_get",
        (Ucp, Get),
        SINGLE,
        "get latency / bandwidth / message rate",
    ),
    test(
        "ucp_add",
        (Ucp, Add),
        FLOW,
        "atomic add bandwidth / message rate",
    ),
    test(
        "ucp_fadd",
        (Ucp, Fadd),
        SINGLE,
        "atomic fetch-and-add latency / bandwidth / rate",
    ),
    test(
        "ucp_swap",
        (Ucp, Swap),
        SINGLE,
        "atomic swap latency / bandwidth / rate",
    ),
    test(
        "ucp_cswap",
        (Ucp, Cswap),
        SINGLE,
        "atomic compare-and-swap latency / bandwidth / rate",
    ),
    test("stream_bw", (Ucp, Stream), FLOW, "stream bandwidth"),
    test("stream_lat", (Ucp, Stream), PING, "stream latency"),
    test("ucp_am_lat", (Ucp, Am), PING, "am latency"),
    test(
        "ucp_am_bw",
        (Ucp, Am),
        WINDOW,
        "am bandwidth / message rate",
    ),
];
