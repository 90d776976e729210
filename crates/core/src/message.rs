//! Every message of a run, in one place. Each message is about a lock path; the program writes it out, as text or as
//! JSON. A new message is a variant of [`Message`] and its row in [`Message::report`].

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use super::duration;
use super::loss::Loss;
use super::protocol::RequestError;
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

/// The holder of a lock that zklock waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub who: String,
    /// How long it has held the lock, if its node says so.
    pub held_for: Option<Duration>,
    /// How long ago it queued, if that is known.
    pub queued_for: Option<Duration>,
}

/// Why a stopped waiter leaves the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftStopped {
    BecameFirst,
    /// It was first on a lock when it was stopped, and waited for another lock or for its lease.
    WasFirst,
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
    WaitingFor {
        who: String,
        ahead: usize,
    },
    /// With `--progress`.
    StillWaiting {
        waited: Duration,
        /// Until `-w` runs out.
        left: Option<Duration>,
        ahead: usize,
        predecessor: String,
        /// `None` if it isn't known.
        holder: Option<Box<Holder>>,
        /// How long no server has answered, if that is long.
        silent_for: Option<Duration>,
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
    },
    /// `-w` ran out while the contender `ahead` was zklock's predecessor.
    GaveUp {
        waited: Duration,
        /// `None` if it isn't known.
        holder: Option<String>,
        ahead: String,
    },
    /// `-w` ran out after zklock left the queue while stopped.
    GaveUpStopped {
        left: LeftStopped,
        waited: Duration,
        /// Whether another contender was seen ahead before.
        seen_busy: bool,
    },
    LeftTheQueueStopped(LeftStopped),
    /// zklock was continued after that.
    QueueingAgainAfterStop(LeftStopped),
    /// The session ended before the command was started.
    QueueingAgain(RequestError),
    SignalIgnored(i32),
    AwaitsLease,
    /// A wait for the servers has become long, or what they say has changed.
    AwaitsServers(ServerWait),
    /// The same, with `--progress`.
    StillAwaitsServers(ServerWait),
    /// The end of such a wait.
    ServersAnswer {
        after: Duration,
    },
    /// The servers granted another session timeout.
    TimeoutGranted {
        asked: Duration,
        granted: Duration,
    },
    ConnectionLostWaiting,
    ConnectedAgainWaiting,
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
    /// `-w` ran out while zklock was first in the queue.
    NotConfirmed {
        waited: Duration,
    },
    /// `-w` ran out while no server answered.
    LastSeenBusy {
        waited: Duration,
        /// How long no server has answered.
        silence: Duration,
        /// The holder then; `None` if it isn't known.
        holder: Option<String>,
        /// The predecessor when a server last answered.
        ahead: String,
    },
    /// There is no session, and the ZooKeeper client didn't report a reason in time.
    KeptBusy {
        hosts: String,
        waited: Duration,
    },
    /// There is a session, but no answer about the lock.
    NoAnswer {
        hosts: String,
        waited: Duration,
    },
    /// The holder started the command that zklock runs in, and no variable told zklock so.
    WaitsForItself {
        pid: u32,
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
    /// The command is setsid(1) and ends as soon as it has started what the lock is for.
    NotAwaited,
    ConnectionLost,
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
    SuccessNotRecorded(String),
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

fn awaiting(level: Level, wait: &ServerWait) -> LogEntry {
    LogEntry::new(level, "awaiting_servers", wait.to_string())
        .with("awaited", wait.awaited.word())
        .with("awaited_for", seconds(wait.waited))
        .with("left", wait.left.map(seconds))
        .with("servers", wait.servers.clone())
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
            Self::WaitingFor { who, ahead } => {
                LogEntry::step("waiting", format!("waiting for {who}, {ahead} ahead"))
                    .with("position", ahead + 1)
                    .with("predecessor", who.as_str())
            }
            Self::StillWaiting { waited, left, ahead, predecessor, holder, silent_for } => {
                let position = ahead + 1;
                let queue = match holder {
                    Some(holder) if holder.who == *predecessor => format!("held by {holder}"),
                    Some(holder) => format!("held by {holder}; behind {predecessor}"),
                    None => format!("behind {predecessor}"),
                };
                let silence = silent_for.map(before_silence).unwrap_or_default();
                let limit = left.map(|left| format!(", {} left", whole(left))).unwrap_or_default();
                let text =
                    format!("position {position}, waiting {}{limit}; {silence}{queue}", whole(*waited));
                let known = holder.as_ref();
                LogEntry::new(Level::Notice, "waiting", text)
                    .with("position", position)
                    .with("predecessor", predecessor.as_str())
                    .with("holder", known.map(|holder| holder.who.clone()))
                    .with("held_for", known.and_then(|holder| holder.held_for).map(seconds))
                    .with("queued_for", known.and_then(|holder| holder.queued_for).map(seconds))
                    .with("waited", seconds(*waited))
                    .with("left", left.map(seconds))
                    .with("silent_for", silent_for.map(seconds))
            }
            Self::Acquired { after, token } => {
                let text = format!("acquired after {}, fencing token {token}", time(*after));
                LogEntry::step("acquired", text).with("waited", seconds(*after))
            }
            Self::Free { after } => {
                LogEntry::step("free", format!("free after {}", time(*after))).with("waited", seconds(*after))
            }
            Self::Busy { holder } => {
                LogEntry::warning("busy", format!("busy: held by {holder}")).with("holder", holder.as_str())
            }
            Self::GaveUp { waited, holder, ahead } => {
                let text =
                    format!("busy: gave up after {}; {}", time(*waited), held_by(holder.as_ref(), ahead));
                LogEntry::warning("busy", text)
                    .with("holder", holder.clone())
                    .with("predecessor", ahead.as_str())
                    .with("waited", seconds(*waited))
            }
            Self::GaveUpStopped { left, waited, seen_busy } => {
                let text = format!("gave up after {}: {left}", time(*waited));
                if *seen_busy {
                    LogEntry::warning("busy", format!("busy: {text}")).with("waited", seconds(*waited))
                } else {
                    LogEntry::error("suspended", text)
                }
            }
            Self::LeftTheQueueStopped(left) => {
                let text = format!("{left}: left the queue until it is continued");
                LogEntry::step("left", text).with("reason", "suspended")
            }
            Self::QueueingAgainAfterStop(left) => {
                let text = format!("{left}; queueing again at the end");
                LogEntry::warning("requeued", text).with("reason", "suspended")
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
            Self::AwaitsLease => {
                LogEntry::debug("awaiting_lease", "first in the queue, waiting for a fresh lease")
            }
            Self::AwaitsServers(wait) => awaiting(Level::Step, wait),
            Self::StillAwaitsServers(wait) => awaiting(Level::Notice, wait),
            Self::ServersAnswer { after } => {
                let text = format!("the servers answer again, after {}", time(*after));
                LogEntry::step("servers_answer", text).with("awaited_for", seconds(*after))
            }
            Self::TimeoutGranted { asked, granted } => {
                let (asked_for, given) = (duration::text(*asked), duration::text(*granted));
                let text =
                    format!("the servers grant a session timeout of {given}; {asked_for} was asked for");
                LogEntry::step("session_timeout", text)
                    .with("asked", seconds(*asked))
                    .with("granted", seconds(*granted))
            }
            Self::ConnectionLostWaiting => LogEntry::debug("disconnected", "connection lost while waiting"),
            Self::ConnectedAgainWaiting => LogEntry::debug("reconnected", "connected again"),
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
            Self::NotConfirmed { waited } => LogEntry::error(
                "no_answer",
                format!(
                    "first in the queue, but the ensemble confirmed that too rarely within {} to start the \
                     command; check the servers' load",
                    time(*waited)
                ),
            ),
            Self::LastSeenBusy { waited, silence, holder, ahead } => LogEntry::error(
                "no_answer",
                format!(
                    "gave up after {}: last seen busy {} ago, {}, and no answer since",
                    time(*waited),
                    time(*silence),
                    held_by(holder.as_ref(), ahead)
                ),
            ),
            Self::KeptBusy { hosts, waited } => LogEntry::error(
                "no_session",
                format!(
                    "{hosts} kept the client busy for {} without opening a session; check that they are \
                     ZooKeeper servers",
                    time(*waited)
                ),
            ),
            Self::NoAnswer { hosts, waited } => LogEntry::error(
                "no_answer",
                format!(
                    "connected to {hosts}, but got no answer about the lock within {}; check the servers' load",
                    time(*waited)
                ),
            ),
            Self::WaitsForItself { pid } => LogEntry::error(
                "nesting",
                format!(
                    "this would wait for itself: PID {pid} holds the lock and started this command; pass \
                     ZKLOCK_HELD through sudo with --preserve-env=ZKLOCK_HELD, or start a background process \
                     outside the lock"
                ),
            ),
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
            Self::NotAwaited => LogEntry::warning(
                "not_awaited",
                "setsid doesn't wait here for what it runs, and the lock is released when setsid ends: write setsid -w",
            ),
            Self::ConnectionLost => {
                LogEntry::step("disconnected", "connection lost; the command continues while the lease lasts")
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
            Self::SuccessNotRecorded(why) => LogEntry::error(
                "not_recorded",
                format!("the success could not be recorded, so the next run is not skipped: {why}"),
            ),
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

/// The holder, or if that isn't known, the contender ahead.
fn held_by(holder: Option<&String>, ahead: &str) -> String {
    holder.map_or_else(|| format!("behind {ahead}"), |holder| format!("held by {holder}"))
}

/// What comes before what was known of the queue when a server last answered.
pub fn before_silence(span: Duration) -> String {
    format!("no answer from the servers for {}, before that ", whole(span))
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

impl fmt::Display for LeftStopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BecameFirst => "became first while stopped",
            Self::WasFirst => "stopped before its command started",
        })
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.report().text)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.who, self.details())
    }
}

impl Holder {
    /// The times, as they follow its description.
    pub fn details(&self) -> String {
        let held = self.held_for.map(|held| format!(" for {}", whole(held))).unwrap_or_default();
        let queued = self.queued_for.map(|queued| format!(", queued {} ago", whole(queued)));
        held + &queued.unwrap_or_default()
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
