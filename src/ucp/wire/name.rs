//! What messages are called, for people.

use super::am;
use super::numbered::Numbered;

/// The name of the message with this id and these first bytes; of a numbered one, that of what it
/// carries.
pub fn of(id: u8, head: &[u8]) -> &'static str {
    match id {
        am::NUMBERED => Numbered::decode(head).map_or("numbered", |(head, _)| plain(head.id)),
        id => plain(id),
    }
}

/// Whether some message is called so.
pub fn is_known(name: &str) -> bool {
    !name.is_empty() && (0..=u8::MAX).any(|id| plain(id) == name)
}

fn plain(id: u8) -> &'static str {
    match id {
        am::WIREUP => "wireup",
        am::EAGER_ONLY => "eager_only",
        am::EAGER_FIRST => "eager_first",
        am::EAGER_MIDDLE => "eager_middle",
        am::SYNC_ONLY => "sync_only",
        am::SYNC_FIRST => "sync_first",
        am::SYNC_ACK => "sync_ack",
        am::RTS => "rts",
        am::RTR => "rtr",
        am::ATS => "ats",
        am::ATP => "atp",
        am::RNDV_DATA => "rndv_data",
        am::RNDV_PUT => "rndv_put",
        am::RNDV_ABORT => "rndv_abort",
        am::AM_ONLY => "am_only",
        am::AM_FIRST => "am_first",
        am::AM_MIDDLE => "am_middle",
        am::AM_RTS => "am_rts",
        am::STREAM => "stream",
        am::PUT => "put",
        am::GET => "get",
        am::ATOMIC => "atomic",
        am::ATOMIC_REPLY => "atomic_reply",
        am::FLUSH => "flush",
        am::ONE_SIDED_ANSWER => "answer",
        am::LINK => "link",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ() {
        let mut names: Vec<&str> = (0..=u8::MAX).map(plain).filter(|n| !n.is_empty()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        assert_eq!(of(am::NUMBERED, &[]), "numbered");
    }
}
