//! Status codes.
//!
//! In C every call returns `ucs_status_t`, a one-byte integer in which progress, success and
//! failure share one number line. Inside this crate a failure is an [`Error`], and the two codes
//! that are no failures (`UCS_INPROGRESS`, "pending", and `UCS_ERR_NO_RESOURCE`, "post it again
//! later") are variants of the value that a call returns.

use core::ffi::CStr;
use core::fmt;
use std::ffi::CString;
use std::sync::OnceLock;

/// `ucs_status_t` as it crosses the C boundary: any byte, since C code can put anything in it.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status(pub i8);

impl Status {
    pub const OK: Status = Status(0);
    pub const INPROGRESS: Status = Status(1);

    /// True for every negative code.
    pub const fn is_err(self) -> bool {
        self.0 < 0
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        Status(error as i8)
    }
}

impl From<Result<()>> for Status {
    fn from(result: Result<()>) -> Self {
        match result {
            Ok(()) => Status::OK,
            Err(error) => error.into(),
        }
    }
}

/// What most calls return.
pub type Result<T> = core::result::Result<T, Error>;

macro_rules! errors {
    ($($name:ident = $code:literal, $text:literal;)*) => {
        /// A failure, with the value of its `UCS_ERR_*` code.
        #[repr(i8)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        pub enum Error { $($name = $code,)* }

        impl Error {
            /// The error with this code, if there is one.
            pub const fn from_code(code: i8) -> Option<Error> {
                match code { $($code => Some(Error::$name),)* _ => None }
            }

            /// The text that `ucs_status_string` gives for it.
            pub const fn text(self) -> &'static str {
                match self { $(Error::$name => $text,)* }
            }

            /// The same for C.
            pub const fn c_text(self) -> &'static CStr {
                match self {
                    $(Error::$name => {
                        match CStr::from_bytes_with_nul(concat!($text, "\0").as_bytes()) {
                            Ok(text) => text,
                            // No text above has a NUL inside.
                            Err(_) => c"",
                        }
                    })*
                }
            }
        }
    };
}

errors! {
    NoMessage = -1, "No pending message";
    NoResource = -2, "No resources are available to initiate the operation";
    IoError = -3, "Input/output error";
    NoMemory = -4, "Out of memory";
    InvalidParam = -5, "Invalid parameter";
    Unreachable = -6, "Destination is unreachable";
    InvalidAddr = -7, "Address not valid";
    NotImplemented = -8, "Function not implemented";
    MessageTruncated = -9, "Message truncated";
    NoProgress = -10, "No progress";
    BufferTooSmall = -11, "Provided buffer is too small";
    NoElem = -12, "No such element";
    SomeConnectsFailed = -13, "Failed to connect some of the requested endpoints";
    NoDevice = -14, "No such device";
    Busy = -15, "Device is busy";
    Canceled = -16, "Request canceled";
    ShmemSegment = -17, "Shared memory error";
    AlreadyExists = -18, "Element already exists";
    OutOfRange = -19, "Index out of range";
    TimedOut = -20, "Operation timed out";
    ExceedsLimit = -21, "User-defined limit was reached";
    Unsupported = -22, "Unsupported operation";
    Rejected = -23, "Operation rejected by remote peer";
    NotConnected = -24, "Endpoint is not connected";
    ConnectionReset = -25, "Connection reset by remote peer";
    FirstLinkFailure = -40, "Unknown error -40";
    LastLinkFailure = -59, "Unknown error -59";
    FirstEndpointFailure = -60, "Unknown error -60";
    EndpointTimeout = -80, "Endpoint timeout";
    LastEndpointFailure = -89, "Unknown error -89";
}

/// The text of a status, whatever its value.
pub fn status_text(status: Status) -> &'static CStr {
    match status {
        Status::OK => return c"Success",
        Status::INPROGRESS => return c"Operation in progress",
        _ => {}
    }
    if let Some(error) = Error::from_code(status.0) {
        return error.c_text();
    }
    static UNKNOWN: OnceLock<Vec<CString>> = OnceLock::new();
    let texts = UNKNOWN.get_or_init(|| {
        (i8::MIN..=i8::MAX)
            .map(|code| CString::new(format!("Unknown error {code}")).unwrap_or_default())
            .collect()
    });
    texts
        .get((i16::from(status.0) + 128) as usize)
        .map_or(c"", CString::as_c_str)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_text() {
        for code in i8::MIN..=i8::MAX {
            let text = status_text(Status(code)).to_str().expect("ASCII");
            assert!(!text.is_empty());
            match Error::from_code(code) {
                Some(error) => assert_eq!(text, error.text()),
                None if code != 0 && code != 1 => assert_eq!(text, format!("Unknown error {code}")),
                None => {}
            }
        }
    }
}
