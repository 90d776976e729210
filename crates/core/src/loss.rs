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
        confirmed: Confirmed,
        silence: Option<Silence>,
        late: Option<Late>,
    },
    /// The session has ended; how late zklock itself was, if that explains it.
    Session(RequestError, Option<Late>),
    /// Another client deleted zklock's node.
    NodeDeleted,
    /// Another client revoked the lock; its description, if known.
    Revoked(Option<String>),
    /// The queue can't be trusted any more.
    Queue(ContentionError),
    MonitorDied,
}

/// What the ensemble confirmed before the end of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    NothingFor(Duration),
    /// Something, shortly before the end. It didn't make up for the silence before it. The time is that since which the
    /// lease counts.
    TooSeldomFor(Duration),
}

/// How late zklock was with what it had to do: a host that stops it or starves it of processor time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Late {
    /// The longest delay.
    pub longest: Duration,
    /// All delays together.
    pub total: Duration,
}

/// Why there were no confirmations, apart from zklock itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
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
            Self::LeaseOver { silence: None, late: Some(late), .. } => {
                ("lease", lost(&format!("{late}, and the session may end")))
            }
            Self::LeaseOver { confirmed, silence, late } => {
                let late = late.map(|late| format!("; {}", late.told())).unwrap_or_default();
                let why = silence.map(|silence| format!(" ({silence}{late})")).unwrap_or_default();
                let confirmed = match confirmed {
                    Confirmed::NothingFor(time) => format!("nothing for {}", text::time(*time)),
                    Confirmed::TooSeldomFor(time) => format!("too seldom for {}", text::time(*time)),
                };
                ("lease", lost(&format!("the ensemble confirmed {confirmed}{why}, and the session may end")))
            }
            Self::Session(failure, Some(late)) => ("session", lost(&format!("{late}, and {failure}"))),
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

    /// How late zklock was, if that is a reason.
    pub fn late(&self) -> Option<Late> {
        match self {
            Self::LeaseOver { late, .. } | Self::Session(_, late) => *late,
            _ => None,
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

/// Why a process does nothing for a while.
pub const STARVED: &str = "(stopped, or starved of processor time)";

/// No host sleeps for longer.
const LONGEST_PAUSE: Duration = Duration::from_hours(24 * 365);

impl Late {
    /// In words, without why.
    fn told(self) -> String {
        let Self { longest, total } = self;
        let is_one = longest * 2 >= total;
        match (text::time(longest), text::time(total)) {
            (longest, _) if is_one => format!("zklock hung for {longest}"),
            (longest, total) => format!("zklock was up to {longest} late, {total} in all"),
        }
    }
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.longest > LONGEST_PAUSE {
            return f.write_str(
                "zklock's clocks jumped, as under faketime, which must not be in zklock's process",
            );
        }
        write!(f, "{} {STARVED}", self.told())
    }
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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
