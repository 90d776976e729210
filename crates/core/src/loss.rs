//! Why a lock was lost.

use std::time::Duration;

use super::protocol::RequestError;
use super::text;
use crate::queue::contender::ContentionError;

/// Why the lock can't be trusted any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// The lease is nearly over.
    LeaseOver {
        silence: Silence,
        /// How late zklock noticed that: a host that stops it, or that gives it no processor time.
        late: Duration,
    },
    /// The session has ended.
    Session(RequestError),
    /// zklock's node was deleted. Its watch doesn't tell by whom: when the session ends on the servers, this may be known
    /// before that. The command is stopped without asking.
    NodeDeleted,
    /// Another client revoked the lock; its description, if known.
    Revoked(Option<String>),
    /// The queue can't be trusted any more.
    Queue(ContentionError),
    MonitorDied,
}

/// Why the lease wasn't renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// There has been no connection for this long.
    NoConnection(Duration),
    /// No confirmation that was sent in this time has renewed the lease.
    NoAnswer(Duration),
}

impl Loss {
    /// The reason in one word, for programs, and the message, with `verb` for the tense: "is" or "was".
    pub fn told(&self, verb: &str) -> (&'static str, String) {
        match self {
            Self::LeaseOver { silence, late } => {
                let (what, span) = match silence {
                    Silence::NoConnection(span) => ("connection", *span),
                    Silence::NoAnswer(span) => ("answer", *span),
                };
                // Less than that can't have cost the lease.
                let late = Some(*late).filter(|late| *late * 4 >= span);
                let late = late.map(|late| format!(", and zklock woke up {} late", text::time(late)));
                let span = text::time(span);
                ("lease", format!("the lock {verb} lost: no {what} for {span}{}", late.unwrap_or_default()))
            }
            Self::Session(failure) => ("session", format!("the lock {verb} lost: {failure}")),
            Self::NodeDeleted => (
                "deleted",
                format!("the lock {verb} lost: its node was deleted by another client or with its session"),
            ),
            Self::Revoked(by) => {
                let by = by.as_deref().unwrap_or("another client");
                ("revoked", format!("the lock {verb} revoked by {by}"))
            }
            Self::Queue(error) => ("queue", format!("the lock {verb} lost: {error}")),
            Self::MonitorDied => ("monitor", format!("zklock {verb} killed")),
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
            Self::MonitorDied => "zklock was killed",
            _ => "the lock was lost",
        }
    }

    /// How late zklock noticed that the lease was nearly over.
    pub fn late(&self) -> Option<Duration> {
        match self {
            Self::LeaseOver { late, .. } => Some(*late),
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
