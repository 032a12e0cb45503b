//! The one predicate: what a failed lane operation means for the operation that used it.
#![forbid(unsafe_code)]

use crate::ucs::status::Error;

/// What an endpoint promises about failures: `ucp_err_handling_mode_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ErrorMode {
    /// Failures are not expected; whatever happens, nothing hangs silently.
    #[default]
    None,
    /// Every request completes, with an error if need be, and the handler is called.
    Peer,
    /// As `Peer`, but the loss of a lane is survived.
    Failover,
}

/// What to do with the operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Begin the next attempt on the surviving lanes.
    Restart,
    /// Complete with this error.
    Complete(Error),
}

/// Facts about the endpoint that the predicate needs.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    pub mode: ErrorMode,
    /// The endpoint itself has failed.
    pub failed: Option<Error>,
    /// Lanes that still work, besides the one that failed.
    pub survivors: usize,
    /// Restarts left for this operation.
    pub budget: u32,
}

/// The lane's fault, as opposed to the operation's: truncation, cancellation, lack of memory, a
/// bad key or a refusal by the peer would fail on any lane.
pub const fn is_lane_class(error: Error) -> bool {
    matches!(
        error,
        Error::ConnectionReset
            | Error::EndpointTimeout
            | Error::TimedOut
            | Error::Unreachable
            | Error::IoError
            | Error::NotConnected
    )
}

/// Decides. Nobody else asks this question.
pub const fn verdict(error: Error, standing: Standing) -> Verdict {
    if let Some(reason) = standing.failed {
        return Verdict::Complete(reason);
    }
    let failover = matches!(standing.mode, ErrorMode::Failover);
    if failover && is_lane_class(error) && standing.survivors > 0 && standing.budget > 0 {
        return Verdict::Restart;
    }
    Verdict::Complete(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Standing = Standing {
        mode: ErrorMode::Failover,
        failed: None,
        survivors: 1,
        budget: 3,
    };

    #[test]
    fn restarts_only_for_the_lane_s_fault() {
        assert_eq!(verdict(Error::ConnectionReset, GOOD), Verdict::Restart);
        for error in [
            Error::MessageTruncated,
            Error::Canceled,
            Error::NoMemory,
            Error::Rejected,
        ] {
            assert_eq!(verdict(error, GOOD), Verdict::Complete(error));
        }
    }

    #[test]
    fn restarts_only_while_it_can_help() {
        let e = Error::ConnectionReset;
        for standing in [
            Standing {
                mode: ErrorMode::Peer,
                ..GOOD
            },
            Standing {
                mode: ErrorMode::None,
                ..GOOD
            },
            Standing {
                survivors: 0,
                ..GOOD
            },
            Standing { budget: 0, ..GOOD },
        ] {
            assert_eq!(verdict(e, standing), Verdict::Complete(e));
        }
        let failed = Standing {
            failed: Some(Error::EndpointTimeout),
            ..GOOD
        };
        assert_eq!(
            verdict(e, failed),
            Verdict::Complete(Error::EndpointTimeout)
        );
    }
}
