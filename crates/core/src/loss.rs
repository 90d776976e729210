//! Why a lock was lost, in words that name the cause as far as it can be known.

use std::fmt;
use std::time::Duration;

use super::protocol::{ConnectFailure, RequestError};
use super::text;
use crate::queue::contender::ContentionError;

/// Why the lock can't be trusted any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    LeaseOver {
        silent_for: Duration,
        silence: Option<Silence>,
    },
    /// The session has ended; how long zklock itself hung before it learned that, if it did.
    Session(RequestError, Option<Duration>),
    /// Another client deleted zklock's node.
    NodeDeleted,
    /// Another client revoked the lock; its description, if known.
    Revoked(Option<String>),
    /// The queue can't be trusted any more.
    Queue(ContentionError),
    MonitorDied,
}

/// Why there were no confirmations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    Frozen(Duration),
    /// There is no connection; how the servers reacted to the attempts to connect.
    Connection(Duration, Option<ConnectFailure>),
    /// There was no connection, and it came back too late.
    ConnectionWasAway(Duration),
    /// zklock is connected, and a request has been unanswered for this long.
    Server(Duration),
    /// Answers arrive, and take this long.
    SlowConnection(Duration),
    /// The ACL of zklock's node was changed, and confirmations are refused.
    Forbidden,
}

impl Loss {
    /// The reason in one word, for programs, and the message, with `verb` for the tense: "is" or "was".
    pub fn told(&self, verb: &str) -> (&'static str, String) {
        let lost = |why: &dyn fmt::Display| format!("the lock {verb} lost: {why}");
        match self {
            Self::LeaseOver { silence: Some(Silence::Frozen(span)), .. } => {
                ("lease", lost(&format!("{}, and the session may end", hung(*span))))
            }
            Self::LeaseOver { silent_for, silence } => {
                let why = silence.map(|silence| format!(" ({silence})")).unwrap_or_default();
                let silent_for = text::time(*silent_for);
                let why =
                    format!("the ensemble confirmed nothing for {silent_for}{why}, and the session may end");
                ("lease", lost(&why))
            }
            Self::Session(failure, Some(span)) => {
                ("session", lost(&format!("{}, and {failure}", hung(*span))))
            }
            Self::Session(failure, None) => ("session", lost(failure)),
            Self::NodeDeleted => ("deleted", lost(&"its node was deleted by another client")),
            Self::Revoked(by) => {
                let by = by.as_deref().unwrap_or("another client");
                ("revoked", format!("the lock {verb} revoked by {by}"))
            }
            Self::Queue(error) => ("queue", lost(error)),
            Self::MonitorDied => ("monitor", format!("the monitor process {verb} killed")),
        }
    }

    /// Whether zklock may still hold the lock. After any other loss another contender may hold it already.
    pub fn may_still_be_held(&self) -> bool {
        matches!(self, Self::LeaseOver { .. } | Self::Revoked(_) | Self::MonitorDied)
    }

    /// What has happened, without the reason.
    pub fn in_short(&self) -> &'static str {
        match self {
            Self::Revoked(_) => "the lock was revoked",
            Self::MonitorDied => "the monitor process was killed",
            _ => "the lock was lost",
        }
    }

    /// Who revoked the lock, if it was revoked and that is known.
    pub fn revoked_by(&self) -> Option<String> {
        match self {
            Self::Revoked(by) => by.clone(),
            _ => None,
        }
    }
}

/// No host sleeps for longer.
const LONGEST_PAUSE: Duration = Duration::from_hours(24 * 365);

fn hung(span: Duration) -> String {
    if span > LONGEST_PAUSE {
        return "zklock's clocks jumped, as under faketime, which must not be in zklock's process".to_owned();
    }
    format!("zklock hung for {} (stopped, or starved of processor time)", text::time(span))
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frozen(span) => f.write_str(&hung(*span)),
            Self::Connection(span, away) => {
                write!(f, "no connection for {}", text::time(*span))?;
                match away {
                    Some(ConnectFailure::Refused) => f.write_str(": the servers refuse one"),
                    Some(ConnectFailure::Silent) => f.write_str(": no server answers"),
                    None => Ok(()),
                }
            }
            Self::ConnectionWasAway(span) => {
                write!(f, "there was no connection for {}, and it came back too late", text::time(*span))
            }
            Self::Server(span) => {
                write!(f, "the server that it is connected to has been silent for {}", text::time(*span))
            }
            Self::Forbidden => {
                f.write_str("the ACL of its node was changed and doesn't let zklock read it any more")
            }
            Self::SlowConnection(trip) => {
                write!(f, "the connection is slow: an answer took {}", text::time(*trip))
            }
        }
    }
}
