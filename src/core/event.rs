//! The parts of a message that programs read: the name of its event, and its facts. docs/log-json.md has their tables.

use std::time::Duration;

use super::loss::Loss;
use super::message::Message;
use super::signal;

/// One fact of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// A text.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
    /// A number.
    Number(u64),
    /// True or false.
    Flag(bool),
    /// A span of time, written in seconds.
    Span(Duration),
    /// It isn't known.
    Unknown,
}

/// A fact with its name.
pub type Named = (&'static str, Fact);

impl Message {
    /// The name of the event. Several messages can have the same one.
    pub fn event(&self) -> &'static str {
        match self {
            Self::Queued { .. } => "queued",
            Self::WaitingFor { .. } | Self::StillWaiting { .. } => "waiting",
            Self::Acquired { .. } => "acquired",
            Self::Busy { .. } | Self::GaveUp { .. } | Self::GaveUpStopped { seen_busy: true, .. } => "busy",
            Self::LeftTheQueueStopped | Self::LeftTheQueue => "left",
            Self::QueueingAgainAfterStop | Self::QueueingAgain(_) => "requeued",
            Self::SignalIgnored(_) => "signal_ignored",
            Self::AwaitsLease => "awaiting_lease",
            Self::ConnectionLostWaiting | Self::ConnectionLost => "disconnected",
            Self::ConnectedAgainWaiting | Self::ConnectedAgain => "reconnected",
            Self::ConfirmationFailed(_) => "confirmation_failed",
            Self::Skipped { .. } => "skipped",
            Self::Started { .. } => "started",
            Self::LockLost { .. } => "lost",
            Self::CommandStopped { .. } => "stopped",
            Self::CommandKilled { .. } => "killed",
            Self::Suspended { .. } => "suspended",
            Self::LeftAfterKill(_) | Self::Neighbour(_) => "warning",
            Self::SuccessRecorded => "recorded",
            Self::Released => "released",
            Self::SessionOver => "session_over",
            Self::ReleaseUnconfirmed => "release_unconfirmed",
            _ => "error",
        }
    }

    /// Whether it is one of the main steps of a run, which JSON output has without `-v` too.
    pub fn is_milestone(&self) -> bool {
        matches!(self.event(), "queued" | "waiting" | "acquired" | "started" | "released" | "left")
    }

    /// Its facts, each with its name.
    pub fn facts(&self) -> Vec<Named> {
        match self {
            Self::WaitingFor { who, ahead } => vec![position(*ahead), text("predecessor", who)],
            Self::StillWaiting { waited, ahead, predecessor, holder, silent_for } => {
                let known = holder.as_ref();
                vec![
                    position(*ahead),
                    text("predecessor", predecessor),
                    ("holder", known.map_or(Fact::Unknown, |holder| Fact::Text(holder.who.clone()))),
                    ("held_for", maybe(known.and_then(|holder| holder.held_for))),
                    ("queued_for", maybe(known.and_then(|holder| holder.queued_for))),
                    span("waited", *waited),
                    ("silent_for", maybe(*silent_for)),
                ]
            }
            Self::Acquired { after, .. } => vec![span("waited", *after)],
            Self::Busy { holder } => vec![text("holder", holder)],
            Self::GaveUp { waited, ahead } => vec![text("predecessor", ahead), span("waited", *waited)],
            Self::GaveUpStopped { waited, seen_busy: true } => vec![span("waited", *waited)],
            Self::LeftTheQueueStopped | Self::QueueingAgainAfterStop => vec![reason("suspended")],
            Self::QueueingAgain(_) => vec![reason("session")],
            Self::SignalIgnored(number) => vec![("signal", Fact::Text(signal::name(*number)))],
            Self::Skipped { ago, host, period } => {
                let host = host.clone().map_or(Fact::Unknown, Fact::Text);
                vec![("host", host), span("ago", *ago), span("period", *period)]
            }
            Self::Started { command } | Self::CommandKilled { command } => vec![text("command", command)],
            Self::LockLost { loss, command, stops } => {
                let mut facts = lost(loss, command);
                facts.push(("stops", Fact::Flag(*stops)));
                facts
            }
            Self::CommandStopped { loss, command, after } => {
                let mut facts = lost(loss, command);
                facts.push(("unconfirmed_for", maybe(*after)));
                facts
            }
            Self::Suspended { command, held, .. } => {
                vec![text("command", command), ("held", Fact::Flag(*held))]
            }
            Self::LeftAfterKill(_) => vec![reason("left_after_kill")],
            Self::Neighbour(_) => vec![reason("neighbour")],
            Self::Unreachable { servers, .. } => {
                vec![reason("unreachable"), ("servers", Fact::Texts(servers.clone()))]
            }
            message => message.failure().map(reason).into_iter().collect(),
        }
    }

    /// What went wrong, in one word; `None` if nothing did.
    fn failure(&self) -> Option<&'static str> {
        Some(match self {
            Self::Unreachable { .. } => "unreachable",
            Self::CredentialsRefused { .. } => "credentials",
            Self::SessionFailed(_) | Self::SessionClosed => "session",
            Self::Contender(_) => "queue",
            Self::PlaceRevoked(_) => "revoked",
            Self::LineTooSlow { .. } => "slow_line",
            Self::NotConfirmed { .. } | Self::NoAnswer { .. } | Self::LastSeenBusy { .. } => "no_answer",
            Self::KeptBusy { .. } => "no_session",
            Self::GaveUpStopped { .. } => "suspended",
            Self::WaitsForItself { .. }
            | Self::OncePerInside
            | Self::HeldInOtherNaming { .. }
            | Self::HeldTooWeakly { .. } => "nesting",
            Self::NotStarted(_) => "not_started",
            Self::SuccessNotRecorded(_) => "not_recorded",
            Self::Queued { .. }
            | Self::Neighbour(_)
            | Self::WaitingFor { .. }
            | Self::StillWaiting { .. }
            | Self::Acquired { .. }
            | Self::Busy { .. }
            | Self::GaveUp { .. }
            | Self::LeftTheQueueStopped
            | Self::QueueingAgainAfterStop
            | Self::QueueingAgain(_)
            | Self::SignalIgnored(_)
            | Self::AwaitsLease
            | Self::ConnectionLostWaiting
            | Self::ConnectedAgainWaiting
            | Self::ConfirmationFailed(_)
            | Self::Skipped { .. }
            | Self::Started { .. }
            | Self::ConnectionLost
            | Self::ConnectedAgain
            | Self::LockLost { .. }
            | Self::CommandStopped { .. }
            | Self::CommandKilled { .. }
            | Self::Suspended { .. }
            | Self::LeftAfterKill(_)
            | Self::SuccessRecorded
            | Self::Released
            | Self::LeftTheQueue
            | Self::SessionOver
            | Self::ReleaseUnconfirmed => return None,
        })
    }
}

fn text(name: &'static str, text: &str) -> Named {
    (name, Fact::Text(text.to_owned()))
}

fn span(name: &'static str, span: Duration) -> Named {
    (name, Fact::Span(span))
}

fn maybe(span: Option<Duration>) -> Fact {
    span.map_or(Fact::Unknown, Fact::Span)
}

fn position(ahead: usize) -> Named {
    ("position", Fact::Number(u64::try_from(ahead).unwrap_or(u64::MAX).saturating_add(1)))
}

fn reason(word: &str) -> Named {
    text("reason", word)
}

fn lost(loss: &Loss, command: &str) -> Vec<Named> {
    let (word, by) = match loss {
        Loss::LeaseOver { .. } => ("lease", None),
        Loss::Session(..) => ("session", None),
        Loss::NodeDeleted => ("deleted", None),
        Loss::Revoked(by) => ("revoked", by.clone()),
        Loss::Queue(_) => ("queue", None),
        Loss::MonitorDied => ("monitor", None),
    };
    vec![text("command", command), reason(word), ("by", by.map_or(Fact::Unknown, Fact::Text))]
}

#[cfg(test)]
mod tests;
