//! The connection by which the two sides agree, beside what is measured.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::options::Options;
use super::params::Params;
use super::wire::WIRE_LEN;
use crate::tools::client::log::error;
use crate::tools::client::ucs::Stream as Output;
use crate::tools::out;
use crate::ucs::status::Error;

const BARRIER: u32 = 0xdead_beef;
/// Longest message of the other side.
const MAX_MESSAGE: u64 = 64 << 20;

/// Bytes to and from the other side.
trait Stream: Read + Write + Send {}
impl Stream for TcpStream {}
impl Stream for UnixStream {}

struct Ends {
    send: Box<dyn Stream>,
    recv: Box<dyn Stream>,
}

/// See the module. Errors that end a test in the middle end the program: the other side is gone.
pub struct Rte {
    ends: Mutex<Ends>,
    /// 0: the server, which is also the only one of a loopback.
    pub index: usize,
    /// 1 with loopback, else 2.
    pub size: usize,
    /// The connection once more, to notice its end.
    line: Option<TcpStream>,
}

/// How often it is looked whether the other side is still there.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long a test may take to end by itself, with a better message, when the other side has gone.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// As long as this lives, the end of the other side ends the program: who only receives isn't told
/// by the libraries, and would wait for ever.
pub struct Watch(Arc<AtomicBool>);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn has_ended(line: &TcpStream) -> bool {
    match line.peek(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => !matches!(
            error.kind(),
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
        ),
    }
}

impl Rte {
    /// Both ends are here.
    ///
    /// # Errors
    /// `IoError`, after a message.
    pub fn loopback() -> Result<Rte, Error> {
        let (send, recv) = UnixStream::pair().map_err(|error| failed("socketpair()", &error))?;
        let ends = Ends {
            send: Box::new(send),
            recv: Box::new(recv),
        };
        Ok(Rte {
            ends: Mutex::new(ends),
            index: 0,
            size: 1,
            line: None,
        })
    }

    /// Waits for a client, or connects to the server; the client's parameters go to the server.
    ///
    /// # Errors
    /// `IoError` or `InvalidParam`, after a message.
    pub fn connect(options: &mut Options) -> Result<Rte, Error> {
        let server = options.server.clone();
        let mut stream = match &server {
            Some(host) => connect(host, options)?,
            None => accept(options)?,
        };
        let _ = stream.set_nodelay(true);
        match server {
            Some(_) => send_params(&mut stream, &options.params)?,
            None => options.params.merge(receive_params(&mut stream)?),
        }
        // Waits are short, so that the libraries are progressed meanwhile.
        let short = Some(Duration::from_millis(1));
        let prepared = stream
            .set_read_timeout(short)
            .and_then(|()| stream.try_clone());
        let recv = prepared.map_err(|error| failed("socket options", &error))?;
        let line = recv.try_clone().ok();
        let ends = Ends {
            send: Box::new(stream),
            recv: Box::new(recv),
        };
        Ok(Rte {
            ends: Mutex::new(ends),
            index: usize::from(server.is_some()),
            size: 2,
            line,
        })
    }

    pub fn is_server(&self) -> bool {
        self.index == 0
    }

    /// For the time in which neither side may go.
    pub fn watch(&self) -> Watch {
        let over = Arc::new(AtomicBool::new(false));
        let line = self.line.as_ref().and_then(|line| line.try_clone().ok());
        if let Some(line) = line {
            let over = over.clone();
            std::thread::spawn(move || {
                while !over.load(Ordering::Acquire) {
                    std::thread::sleep(LOOK_EVERY);
                    if !has_ended(&line) {
                        continue;
                    }
                    std::thread::sleep(LAST_WORDS);
                    if !over.load(Ordering::Acquire) {
                        error!("the other side of the test is gone");
                        Output::stdout().flush();
                        quit();
                    }
                }
            });
        }
        Watch(over)
    }

    /// Sends a message to the other side.
    pub fn post(&self, parts: &[&[u8]]) {
        let length: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let mut message = length.to_ne_bytes().to_vec();
        message.extend(parts.iter().flat_map(|part| part.iter()));
        let mut ends = self.lock();
        or_end(ends.send.write_all(&message), "send");
    }

    /// Receives the other side's message.
    pub fn receive(&self) -> Vec<u8> {
        let mut ends = self.lock();
        let mut length = [0; 8];
        read(&mut *ends.recv, &mut length, &mut || {});
        let length = u64::from_ne_bytes(length);
        if length > MAX_MESSAGE {
            error!("sock: the peer sends a message of {length} bytes");
            std::process::exit(1);
        }
        let mut message = vec![0; length as usize];
        read(&mut *ends.recv, &mut message, &mut || {});
        message
    }

    /// Waits for the other side, and progresses meanwhile.
    pub fn barrier(&self, progress: &mut dyn FnMut()) {
        if self.size < 2 {
            return;
        }
        let mut ends = self.lock();
        or_end(ends.send.write_all(&BARRIER.to_ne_bytes()), "send");
        let mut answer = [0; 4];
        read(&mut *ends.recv, &mut answer, progress);
        if u32::from_ne_bytes(answer) != BARRIER {
            error!("sock: the peer is at another place of the test");
            std::process::exit(1);
        }
    }

    /// The other side's status, or ours if that says that both are done.
    pub fn agree(&self, ours: i8) -> i8 {
        self.post(&[&ours.to_ne_bytes()]);
        let theirs = self.receive().first().map_or(-3, |byte| *byte as i8);
        if theirs != 0 { theirs } else { ours }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Ends> {
        self.ends
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }
}

/// Fills `buffer`, and calls `progress` whenever nothing came for a while.
fn read(from: &mut dyn Stream, buffer: &mut [u8], progress: &mut dyn FnMut()) {
    let mut filled = 0;
    while filled < buffer.len() {
        progress();
        match from.read(&mut buffer[filled..]) {
            Ok(0) => {
                error!("recv() remote closed connection");
                std::process::exit(1);
            }
            Ok(count) => filled += count,
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                _ => or_end(Err(error), "recv"),
            },
        }
    }
}

/// The other side is gone: nothing can be measured.
fn or_end(result: std::io::Result<()>, call: &str) {
    if let Err(error) = result {
        error!("{call}() failed: {error}");
        std::process::exit(1);
    }
}

/// Ends the program from beside its main thread, which is in the middle of a call to the libraries.
#[allow(unsafe_code)]
fn quit() -> ! {
    // SAFETY: it doesn't return, and runs nothing of ours.
    unsafe { libc::_exit(1) }
}

fn failed(what: &str, error: &std::io::Error) -> Error {
    error!("{what} failed: {error}");
    Error::IoError
}

fn connect(host: &str, options: &Options) -> Result<TcpStream, Error> {
    let found = (host, options.port).to_socket_addrs();
    let found = found.map_err(|error| failed(&format!("looking up {host}"), &error))?;
    let mut last = None;
    for address in found.filter(|address| address.is_ipv6() == options.ipv6) {
        match TcpStream::connect(address) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    match last {
        Some(error) => error!("client failed. connect() failed: {error}"),
        None => error!("client failed. {host} has no address of the family that is wanted"),
    }
    Err(Error::IoError)
}

fn accept(options: &Options) -> Result<TcpStream, Error> {
    let any = if options.ipv6 { "::" } else { "0.0.0.0" };
    let listener = TcpListener::bind((any, options.port))
        .map_err(|error| failed("server failed. bind()", &error))?;
    out!("Waiting for connection...\n");
    Output::stdout().flush();
    let (stream, from) = listener
        .accept()
        .map_err(|error| failed("accept()", &error))?;
    out!("Accepted connection from {from}\n");
    Output::stdout().flush();
    Ok(stream)
}

fn send_params(stream: &mut TcpStream, params: &Params) -> Result<(), Error> {
    let mut bytes = params.encode();
    for size in &params.sizes {
        bytes.extend((*size as u64).to_ne_bytes());
    }
    stream
        .write_all(&bytes)
        .map_err(|error| failed("send()", &error))
}

fn receive_params(stream: &mut TcpStream) -> Result<Params, Error> {
    let lost = |error| failed("recv()", &error);
    let mut bytes = vec![0; WIRE_LEN];
    stream.read_exact(&mut bytes).map_err(lost)?;
    let (mut params, pieces) = Params::decode(&bytes)?;
    let mut sizes = vec![0; pieces * 8];
    stream.read_exact(&mut sizes).map_err(lost)?;
    let size = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes) as usize;
    params.sizes = sizes.chunks_exact(8).map(size).collect();
    Ok(params)
}
