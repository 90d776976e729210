//! Every message of a run, in one place. Each message is about a lock path; the program writes it out, as text or as
//! JSON. A new message is a variant of [`Message`] and its row in [`Message::report`].

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use super::duration;
use super::loss::Loss;
use super::protocol::{RequestError, ServerTime};
use super::server_wait::ServerWait;
use super::signal;
use super::text::{time, whole};
use crate::lease::latency::smallest_timeout;
use crate::queue::contender::ContentionError;
use crate::queue::name::{Family, Mode};

/// How important a message is. `-q`, `-v` and `-vv` choose which levels are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Why zklock can't continue. Always shown.
    Error,
    /// A problem that doesn't stop zklock. Hidden by `-q`.
    Warning,
    /// A step that was asked for. Hidden by `-q`.
    Notice,
    /// A step of the run. Shown by `-v`.
    Step,
    /// Details for debugging. Shown by `-vv`.
    Debug,
}

impl Level {
    /// The level as programs read it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice | Self::Step => "info",
            Self::Debug => "debug",
        }
    }
}

/// What happens to the command when the lock is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It gets this signal now, and KILL after a while.
    Stopped { signal: i32, kill_in: Duration },
    /// It gets KILL now.
    Killed,
}

/// One message. [`Message::report`] has the words of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    // Queueing. The times that zklock has `waited` count from its start.
    Queued {
        node: String,
    },
    /// zklock waits for other contenders; `again`: this was said before, with `--progress`.
    Waiting {
        /// From 1.
        position: usize,
        predecessor: String,
        waited: Duration,
        /// Until `-w` runs out.
        left: Option<Duration>,
        again: bool,
    },
    Acquired {
        after: Duration,
        token: i64,
    },
    /// `zklock wait`: all that held the lock or queued for it are gone.
    Free {
        after: Duration,
    },
    /// With `-n` or `-w 0`.
    Busy {
        holder: String,
        /// Since when it holds the lock, if it says so.
        held_since: Option<ServerTime>,
    },
    /// `-w` ran out.
    GaveUp {
        waited: Duration,
        /// What zklock waited for, unless it is only that the lock was busy.
        state: Option<String>,
        /// Whether the lock was seen busy, and a server has answered lately.
        is_busy: bool,
        /// The contender just ahead.
        predecessor: Option<String>,
        /// Since when that one holds the lock, if it says so.
        held_since: Option<ServerTime>,
    },
    LeftTheQueueStopped,
    /// zklock was continued after that.
    QueueingAgainAfterStop,
    /// The session ended before the command was started.
    QueueingAgain(RequestError),
    SignalIgnored(i32),
    /// zklock waits for the servers; `again`: this was said before, with `--progress`.
    AwaitsServers {
        wait: ServerWait,
        again: bool,
    },
    ConfirmationFailed(RequestError),
    /// `--once-per`: the command isn't due.
    Skipped {
        /// How long ago the command succeeded.
        ago: Duration,
        /// Where, if that is known.
        host: Option<String>,
        period: Duration,
    },

    // Why the lock can't be acquired. `hosts` is the connect string.
    /// No server established a session in time.
    Unreachable {
        /// How long the servers were tried, and the option that says so; `None` if all of them refused and zklock didn't
        /// wait.
        within: Option<(Duration, &'static str)>,
        /// The reason that each server gave.
        servers: Vec<String>,
    },
    CredentialsRefused {
        hosts: String,
        /// Whether there were any to refuse.
        given: bool,
    },
    /// The session has ended, and a new one would end in the same way.
    SessionFailed(RequestError),
    /// The session was closed, and not by zklock.
    SessionClosed,
    Contender(ContentionError),
    /// By this client, if it is known.
    PlaceRevoked(Option<String>),
    ConnectionTooSlow {
        hosts: String,
        /// How long an answer takes.
        trip: Duration,
        /// The session timeout.
        timeout: Duration,
        kill_after: Duration,
    },
    /// `--once-per` inside a command that already holds the lock.
    OncePerInside,
    HeldInOtherNaming {
        outer: Family,
        inner: Family,
    },
    HeldTooWeakly {
        outer: String,
        inner: Mode,
    },

    // While the command runs.
    /// The command couldn't be started, or its environment variables couldn't be made.
    NotStarted(String),
    Started {
        command: String,
    },
    ConnectionLost {
        /// Whether the lock is held.
        holds: bool,
    },
    ConnectedAgain,
    LockLost {
        loss: Loss,
        command: String,
        fate: Fate,
    },
    /// The command was stopped because of that.
    CommandStopped {
        loss: Loss,
        command: String,
        /// How long after the last confirmation, if there is a lease.
        after: Option<Duration>,
    },
    /// The command's first process was killed with KILL.
    CommandKilled {
        command: String,
    },
    /// The command was suspended, for example by Ctrl-Z.
    Suspended {
        command: String,
        wants_terminal: bool,
        /// Whether the lock is still held.
        held: bool,
    },
    LeftAfterKill(String),

    // The end.
    SuccessRecorded,
    SuccessNotRecorded {
        why: String,
        /// Whether it is certain that the success isn't recorded.
        is_certain: bool,
    },
    Released,
    LeftTheQueue,
    SessionOver,
    ReleaseUnconfirmed,
    /// The same of a place in the queue.
    LeaveUnconfirmed,
}

/// What a message says: the text for people, and the rest for programs (docs/log-json.md).
#[derive(Debug, Clone)]
pub struct LogEntry {
    pub level: Level,
    /// The name of the event. Several messages can have the same one.
    pub event: &'static str,
    pub text: String,
    /// The text if `-q` has hidden the warning before it, which gives the reason.
    pub text_alone: Option<String>,
    /// The event's own fields.
    pub fields: Map<String, Value>,
}

impl LogEntry {
    fn new(level: Level, event: &'static str, text: impl Into<String>) -> Self {
        Self { level, event, text: text.into(), text_alone: None, fields: Map::new() }
    }

    fn debug(event: &'static str, text: impl Into<String>) -> Self {
        Self::new(Level::Debug, event, text)
    }

    fn step(event: &'static str, text: impl Into<String>) -> Self {
        Self::new(Level::Step, event, text)
    }

    fn warning(event: &'static str, text: impl Into<String>) -> Self {
        Self::new(Level::Warning, event, text)
    }

    /// zklock can't continue, for this `reason` in one word.
    fn error(reason: &'static str, text: impl Into<String>) -> Self {
        Self::new(Level::Error, "error", text).with("reason", reason)
    }

    fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(field.to_owned(), value.into());
        self
    }

    /// Whether it is one of the main steps of a run, which JSON output has without `-v` too.
    pub fn is_milestone(&self) -> bool {
        matches!(
            self.event,
            "queued" | "waiting" | "awaiting_servers" | "acquired" | "started" | "released" | "left" | "free"
        )
    }
}

/// A span of time in JSON: in seconds, rounded to the millisecond.
fn seconds(span: Duration) -> f64 {
    (span.as_secs_f64() * 1000.0).round() / 1000.0
}

impl Message {
    /// What the message says: a table of all messages.
    #[allow(clippy::too_many_lines, reason = "a table, one message after the other")]
    pub fn report(&self) -> LogEntry {
        match self {
            Self::Queued { node } => LogEntry::step("queued", format!("queued as {node}")),
            Self::Waiting { position, predecessor, waited, left, again } => {
                let limit = left.map(|left| format!(", {} left", whole(left))).unwrap_or_default();
                let text = format!("position {position}, behind {predecessor}{limit}");
                LogEntry::new(if *again { Level::Notice } else { Level::Step }, "waiting", text)
                    .with("position", *position)
                    .with("predecessor", predecessor.as_str())
                    .with("waited", seconds(*waited))
                    .with("left", left.map(seconds))
            }
            Self::Acquired { after, token } => {
                let text = format!("acquired after {}, fencing token {token}", time(*after));
                LogEntry::step("acquired", text).with("waited", seconds(*after))
            }
            Self::Free { after } => {
                LogEntry::step("free", format!("free after {}", time(*after))).with("waited", seconds(*after))
            }
            Self::Busy { holder, held_since } => {
                LogEntry::warning("busy", format!("busy: held by {holder}{}", since(*held_since)))
                    .with("holder", holder.as_str())
                    .with("held_since", held_since.map(|at| at.to_string()))
            }
            Self::GaveUp { waited, state, is_busy, predecessor, held_since } => {
                let state = state.as_ref().map(|state| format!(": {state}")).unwrap_or_default();
                let text = format!("gave up after {}{state}{}", time(*waited), since(*held_since));
                if !is_busy {
                    return LogEntry::error("no_answer", text);
                }
                LogEntry::warning("busy", format!("busy: {text}"))
                    .with("waited", seconds(*waited))
                    .with("predecessor", predecessor.as_deref())
                    .with("held_since", held_since.map(|at| at.to_string()))
            }
            Self::LeftTheQueueStopped => {
                let text = "stopped: left the queue; fg or bg queues again at the end";
                LogEntry::warning("left", text).with("reason", "suspended")
            }
            Self::QueueingAgainAfterStop => {
                LogEntry::step("requeued", "continued: queueing again at the end").with("reason", "suspended")
            }
            Self::QueueingAgain(failure) => {
                let text =
                    format!("the session was lost while waiting ({failure}); queueing again at the end");
                LogEntry::warning("requeued", text).with("reason", "session")
            }
            Self::SignalIgnored(number) => {
                let name = signal::name(*number);
                LogEntry::debug("signal_ignored", format!("{name} is ignored: no command is running yet"))
                    .with("signal", name)
            }
            Self::AwaitsServers { wait, again } => LogEntry::new(
                if *again { Level::Notice } else { Level::Step },
                "awaiting_servers",
                wait.to_string(),
            )
            .with("awaited", wait.awaited.word())
            .with("awaited_for", seconds(wait.waited))
            .with("left", wait.left.map(seconds))
            .with("servers", wait.servers.clone()),
            Self::ConfirmationFailed(failure) => {
                LogEntry::debug("confirmation_failed", format!("a confirmation failed: {failure}"))
            }
            Self::Skipped { ago, host, period } => {
                let on = host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
                let (shown, once) = (time(*ago), duration::text(*period));
                let text =
                    format!("skipped: the command succeeded {shown} ago{on}, and once per {once} is enough");
                LogEntry::warning("skipped", text)
                    .with("host", host.clone())
                    .with("ago", seconds(*ago))
                    .with("period", seconds(*period))
            }
            Self::Unreachable { within, servers } => {
                let short = within.filter(|(time, _)| *time < Duration::from_secs(1));
                let longer = short
                    .map(|(_, option)| format!("allow more time with {option}, or "))
                    .unwrap_or_default();
                let within =
                    within.map(|(time, _)| format!(" within {}", duration::text(time))).unwrap_or_default();
                let text = format!(
                    "no ZooKeeper server could be reached{within}; {longer}name others with -z or \
                     ZKLOCK_ZOOKEEPER"
                );
                let text = servers.iter().fold(text, |text, server| text + "\n  " + server);
                LogEntry::error("unreachable", text).with("servers", servers.clone())
            }
            Self::CredentialsRefused { hosts, given: false } => LogEntry::error(
                "credentials",
                format!("{hosts} demands credentials: give them with --auth-file FILE or ZKLOCK_AUTH"),
            ),
            Self::CredentialsRefused { hosts, given: true } => LogEntry::error(
                "credentials",
                format!(
                    "{hosts} refused the credentials: check the lines of --auth-file and ZKLOCK_AUTH, and \
                     whether the server knows their scheme"
                ),
            ),
            Self::SessionFailed(failure) => LogEntry::error("session", failure.to_string()),
            Self::SessionClosed => {
                LogEntry::error("session", "the session was closed while zklock was waiting; run it again")
            }
            Self::Contender(error) => LogEntry::error("queue", error.to_string()),
            Self::PlaceRevoked(by) => {
                let by = by.as_deref().unwrap_or("another client");
                LogEntry::error("revoked", format!("its place in the queue was revoked by {by}"))
            }
            Self::ConnectionTooSlow { hosts, trip, timeout, kill_after } => {
                LogEntry::error("slow_line", too_slow(hosts, *trip, *timeout, *kill_after))
            }
            Self::OncePerInside => {
                LogEntry::error("nesting", "already held by the surrounding command: put --once-per there")
            }
            Self::HeldInOtherNaming { outer, inner } => LogEntry::error(
                "nesting",
                format!(
                    "the surrounding command holds it in the naming of {outer}, which keeps out only clients \
                     of that naming, and this asks for that of {inner}: use another path"
                ),
            ),
            Self::HeldTooWeakly { outer, inner } => LogEntry::error(
                "nesting",
                format!(
                    "the surrounding command holds it as {outer}, and this asks for {inner}, so it would wait \
                     for itself forever: ask for {inner} outside too, or use another path"
                ),
            ),
            Self::NotStarted(why) => LogEntry::error("not_started", why.as_str()),
            Self::Started { command } => {
                LogEntry::debug("started", format!("{command} was started")).with("command", command.as_str())
            }
            Self::ConnectionLost { holds } => {
                let continues = if *holds { "; the command continues while the lease lasts" } else { "" };
                LogEntry::step("disconnected", format!("connection lost{continues}"))
            }
            Self::ConnectedAgain => LogEntry::step("reconnected", "connected again"),
            Self::LockLost { loss, command, fate } => {
                let (reason, why) = loss.told("is");
                LogEntry::warning("lost", format!("{why}; {command} {fate}"))
                    .with("command", command.as_str())
                    .with("reason", reason)
                    .with("by", loss.revoked_by())
                    .with("kill_in", seconds(fate.kill_in()))
                    .with("late", loss.late().map(seconds))
            }
            Self::CommandStopped { loss, command, after } => {
                let (reason, why) = loss.told("was");
                let late = after.map(|after| format!(" {} after the last confirmation", time(after)));
                let stopped = format!("; {command} was stopped{}", late.unwrap_or_default());
                let text = format!("{}{stopped}", loss.in_short());
                let text_alone = Some(why + &stopped);
                LogEntry { text_alone, ..LogEntry::new(Level::Error, "stopped", text) }
                    .with("command", command.as_str())
                    .with("reason", reason)
                    .with("by", loss.revoked_by())
                    .with("unconfirmed_for", after.map(seconds))
                    .with("late", loss.late().map(seconds))
            }
            Self::CommandKilled { command } => {
                let text = format!(
                    "{command} was killed; the processes that it has left are killed before the release"
                );
                LogEntry::step("killed", text).with("command", command.as_str())
            }
            Self::Suspended { command, wants_terminal, held } => {
                let kept = if *held { "the lock is kept" } else { "it no longer holds the lock" };
                let report = if *wants_terminal {
                    LogEntry::step("suspended", format!("{command} wants the terminal; meanwhile {kept}"))
                } else {
                    let text = format!("{command} is stopped, and {kept}; fg or bg continues it");
                    LogEntry::warning("suspended", text)
                };
                report.with("command", command.as_str()).with("held", *held)
            }
            Self::LeftAfterKill(left) => {
                let text =
                    format!("{left}; zklock waits for its end, and keeps the lock while its session lasts");
                LogEntry::warning("warning", text).with("reason", "left_after_kill")
            }
            Self::SuccessRecorded => LogEntry::step("recorded", "success recorded"),
            Self::SuccessNotRecorded { why, is_certain } => {
                let text = if *is_certain {
                    "the success could not be recorded, so the next run is not skipped"
                } else {
                    "the success may not be recorded, so the next run may not be skipped"
                };
                LogEntry::error("not_recorded", format!("{text}: {why}"))
            }
            Self::Released => LogEntry::step("released", "released"),
            Self::LeftTheQueue => LogEntry::step("left", "left the queue"),
            Self::SessionOver => {
                LogEntry::step("session_over", "the session has ended, and the node with it")
            }
            Self::ReleaseUnconfirmed => LogEntry::warning(
                "release_unconfirmed",
                "no server confirmed the release; the lock is free at the end of the session timeout",
            ),
            Self::LeaveUnconfirmed => LogEntry::warning(
                "release_unconfirmed",
                "no server confirmed that zklock left the queue; its place is gone at the end of the session timeout",
            ),
        }
    }
}

/// Since when a contender holds the lock.
fn since(held_since: Option<ServerTime>) -> String {
    held_since.map(|at| format!(", since {}", at.to_the_second())).unwrap_or_default()
}

impl Fate {
    /// How long until it gets KILL.
    fn kill_in(self) -> Duration {
        match self {
            Self::Stopped { kill_in, .. } => kill_in,
            Self::Killed => Duration::ZERO,
        }
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped { signal, kill_in } => {
                write!(
                    f,
                    "is being stopped: {} now, KILL in {}",
                    signal::name(*signal).trim_start_matches("SIG"),
                    time(*kill_in)
                )
            }
            Self::Killed => f.write_str("is being stopped: KILL now"),
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.report().text)
    }
}

/// What to do about answers that take `trip`.
fn too_slow(hosts: &str, trip: Duration, timeout: Duration, kill_after: Duration) -> String {
    let remedy = match smallest_timeout(trip, kill_after) {
        Some(enough) if enough <= timeout => "a longer --session-timeout may help".to_owned(),
        Some(enough) => format!("use --session-timeout {} or more", enough.as_secs()),
        None => "no session timeout is long enough for that".to_owned(),
    };
    format!(
        "the connection to {hosts} is too slow: an answer takes {}, and with a session timeout of {} the command would \
         be stopped for lack of answers, so it was not started; {remedy}",
        time(trip),
        time(timeout)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_is_too_slow_is_told_with_the_timeout_that_helps() {
        let remedy = |trip: u64, timeout: u64| {
            let (trip, timeout) = (Duration::from_millis(trip), Duration::from_secs(timeout));
            let (hosts, kill_after) = ("zk1:2181".to_owned(), Duration::from_secs(5));
            let message = Message::ConnectionTooSlow { hosts, trip, timeout, kill_after }.to_string();
            message.split_once("; ").map(|(_, remedy)| remedy.to_owned()).unwrap_or_default()
        };
        assert_eq!(remedy(100, 1), "use --session-timeout 2 or more");
        assert_eq!(remedy(100, 2), "a longer --session-timeout may help");
        assert_eq!(remedy(3_600_000, 30), "no session timeout is long enough for that");
    }
}
