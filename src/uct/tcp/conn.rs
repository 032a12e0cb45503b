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
    /// Only where [`Shared::check_host`] found something that doesn't move.
    ///
    /// [`Shared::check_host`]: super::iface::Shared::check_host
    pub stall: Cell<Option<Box<Stall>>>,
    /// Until it is up.
    setup: Cell<Option<Box<Setup>>>,
    /// Longest message that the peer may send.
    pub max_message: Cell<u32>,
    pub tx: RefCell<TxQueue>,
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
            stall: Cell::new(None),
            setup: Cell::new(None),
            max_message: Cell::new(0),
            tx: RefCell::default(),
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
        let mut setup = self.setup.take().unwrap_or_default();
        let value = f(&mut setup);
        self.setup.set(Some(setup));
        value
    }

    /// It is up, or of no use any more.
    pub fn end_setup(&self) {
        self.setup.take();
    }

    /// When to act.
    pub fn deadline(&self) -> Option<Instant> {
        let setup = self.setup.take()?;
        let at = setup.deadline;
        self.setup.set(Some(setup));
        at
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
        let tx = self.tx.borrow();
        tx.is_empty() || (self.close_queued.get() && tx.is_short(FRAME_LEN))
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
const _: () = assert!(size_of::<Conn>() <= 120, "ten thousand connections");

impl std::fmt::Display for Conn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "connection {} to {}:{}",
            self.sequence, self.peer.ip, self.peer.port
        )
    }
}
