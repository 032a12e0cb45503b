//! A connection to one peer interface: what an endpoint sends through, and what messages come
//! from. It outlives its socket (until connected, and while waiting to connect again) and its
//! endpoint (until the peer has closed its own).

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::time::Instant;

use socket2::Socket;

use crate::ucs::status::Error;
use crate::uct::Stall;

use super::rx::Mode;
use super::tx::TxQueue;
use super::wire::{FRAME_LEN, HELLO_LEN, IfaceId};

/// How far a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// `connect` is under way.
    Connecting,
    /// Our greeting was sent, the answer is awaited.
    Greeting,
    /// Both sides connected at once and the peer's connection is to be used: it is awaited.
    WaitPeer,
    /// Trying again after a pause.
    Backoff,
    Up,
    /// The peer has closed in good order. Sending connects again.
    Idle,
    Failed(Error),
    Closed,
}

/// A greeting that comes in.
#[derive(Debug)]
pub struct Incoming {
    pub bytes: [u8; HELLO_LEN],
    pub len: usize,
}

impl Default for Incoming {
    fn default() -> Self {
        Incoming {
            bytes: [0; HELLO_LEN],
            len: 0,
        }
    }
}

/// What only a connection that is being made has.
#[derive(Debug, Default)]
pub struct Setup {
    pub answer: Incoming,
    pub retries: u32,
    /// When to act in `Backoff`, `WaitPeer` and, in a hurry, `Connecting`.
    pub deadline: Option<Instant>,
}

/// What is there while a connection is being made, and when it doesn't move.
#[derive(Default)]
struct Seldom {
    setup: Setup,
    /// Only where [`Shared::check_host`] found something that doesn't move.
    ///
    /// [`Shared::check_host`]: super::iface::Shared::check_host
    stall: Option<Stall>,
}

/// Small, since there are thousands: what is seldom there lies in boxes.
pub struct Conn {
    pub peer: IfaceId,
    pub sequence: u64,
    /// Found by peer and sequence; not so the other end of a connection to ourselves.
    pub listed: Cell<bool>,
    /// Of the endpoint, while there is one; else [`NO_TOKEN`].
    token: Cell<u64>,
    pub state: Cell<State>,
    /// Up, and nothing queued: send at once.
    pub ready: Cell<bool>,
    /// The socket's descriptor, or -1.
    pub fd: Cell<RawFd>,
    pub socket: Cell<Option<Socket>>,
    /// The key of its events.
    pub key: Cell<u64>,
    /// Room to send is waited for.
    pub want_write: Cell<bool>,
    /// Our close frame is queued or sent.
    pub close_queued: Cell<bool>,
    /// The peer's close frame has come.
    pub peer_closed: Cell<bool>,
    /// Sending has failed; what can still be read comes first.
    pub send_error: Cell<Option<Error>>,
    /// It ends when its link goes down.
    pub watched: Cell<bool>,
    /// The kernel asks the peer's host now and then whether it is there.
    pub kept_alive: Cell<bool>,
    /// The last message was a large one.
    pub after_large: Cell<bool>,
    seldom: Cell<Option<Box<Seldom>>>,
    /// Longest message that the peer may send.
    pub max_message: Cell<u32>,
    tx: Cell<TxQueue>,
    /// `None` between two frames.
    pub rx: Cell<Option<Box<Mode>>>,
    puts: OnceCell<Box<Puts>>,
}

/// No endpoint's.
const NO_TOKEN: u64 = u64::MAX;

/// Puts of both sides, numbered from the start of the connection.
#[derive(Debug, Default)]
pub struct Puts {
    /// Posted here, and known to be written there.
    pub posted: Cell<u32>,
    pub written: Cell<u32>,
    /// Written here, and how many of these the peer was told of.
    pub received: Cell<u32>,
    pub told: Cell<u32>,
    /// Flushes, with the number of puts that they wait for.
    pub flushes: RefCell<VecDeque<(u32, u64)>>,
}

impl Conn {
    pub fn new(peer: IfaceId, sequence: u64, token: Option<u64>) -> Conn {
        Conn {
            peer,
            sequence,
            listed: Cell::new(false),
            token: Cell::new(token.unwrap_or(NO_TOKEN)),
            state: Cell::new(State::Backoff),
            ready: Cell::new(false),
            fd: Cell::new(-1),
            socket: Cell::new(None),
            key: Cell::new(u64::MAX),
            want_write: Cell::new(false),
            close_queued: Cell::new(false),
            peer_closed: Cell::new(false),
            send_error: Cell::new(None),
            watched: Cell::new(false),
            kept_alive: Cell::new(false),
            after_large: Cell::new(false),
            seldom: Cell::new(None),
            max_message: Cell::new(0),
            tx: Cell::default(),
            rx: Cell::new(None),
            puts: OnceCell::new(),
        }
    }

    /// Of the endpoint, while there is one.
    pub fn token(&self) -> Option<u64> {
        Some(self.token.get()).filter(|token| *token != NO_TOKEN)
    }

    pub fn set_token(&self, token: Option<u64>) {
        self.token.set(token.unwrap_or(NO_TOKEN));
    }

    /// Runs `f` on the socket, if there is one.
    pub fn with_socket<T>(&self, f: impl FnOnce(&Socket) -> T) -> Option<T> {
        let socket = self.socket.take()?;
        let value = f(&socket);
        self.socket.set(Some(socket));
        Some(value)
    }

    /// Runs `f` on what it needs while it is being made.
    pub fn with_setup<T>(&self, f: impl FnOnce(&mut Setup) -> T) -> T {
        let mut seldom = self.seldom.take().unwrap_or_default();
        let value = f(&mut seldom.setup);
        self.seldom.set(Some(seldom));
        value
    }

    /// It is up, or of no use any more. Nothing can have stopped moving yet, or it doesn't matter.
    pub fn end_setup(&self) {
        self.seldom.take();
    }

    /// When to act.
    pub fn deadline(&self) -> Option<Instant> {
        let seldom = self.seldom.take()?;
        let at = seldom.setup.deadline;
        self.seldom.set(Some(seldom));
        at
    }

    /// What [`Conn::set_stall`] has left.
    pub fn take_stall(&self) -> Option<Stall> {
        let mut seldom = self.seldom.take()?;
        let stall = seldom.stall.take();
        self.seldom.set(Some(seldom));
        stall
    }

    pub fn set_stall(&self, stall: Stall) {
        let mut seldom = self.seldom.take().unwrap_or_default();
        seldom.stall = Some(stall);
        self.seldom.set(Some(seldom));
    }

    /// Runs `f`, which must not come back here, on what waits to be sent.
    pub fn with_tx<T>(&self, f: impl FnOnce(&mut TxQueue) -> T) -> T {
        let mut tx = self.tx.take();
        let value = f(&mut tx);
        self.tx.set(tx);
        value
    }

    pub fn tx_is_empty(&self) -> bool {
        self.with_tx(|tx| tx.is_empty())
    }

    pub fn puts(&self) -> &Puts {
        self.puts.get_or_init(Box::default)
    }

    /// The same, if there have been any.
    pub fn puts_so_far(&self) -> Option<&Puts> {
        self.puts.get().map(|puts| &**puts)
    }

    /// Nothing but our close frame waits to be sent.
    pub fn close_only(&self) -> bool {
        let closing = self.close_queued.get();
        self.with_tx(|tx| tx.is_empty() || (closing && tx.is_short(FRAME_LEN)))
    }

    /// No connection attempt of ours can be under way at the peer.
    pub fn adoptable(&self) -> bool {
        matches!(
            self.state.get(),
            State::WaitPeer | State::Backoff | State::Idle
        )
    }
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Conn>() <= 104, "ten thousand connections");

impl std::fmt::Display for Conn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "connection {} to {}:{}",
            self.sequence, self.peer.ip, self.peer.port
        )
    }
}
