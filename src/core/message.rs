//! Every message of a run, in one place. Each message is about a lock path; the runtime writes it out.

use std::fmt;
use std::time::Duration;

use super::duration;
use super::lock::contender::ContentionError;
use super::lock::name::{Family, Mode};
use super::lock::pace::smallest_timeout;
use super::lock::queue::QueueError;
use super::loss::Loss;
use super::protocol::RequestError;
use super::signal;
use super::text::{time, whole};

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
    /// Its description for people.
    pub who: String,
    /// How long it has held the lock, if its node says so.
    pub held_for: Option<Duration>,
    /// How long ago it queued, if that is known.
    pub queued_for: Option<Duration>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    // Queueing.
    /// zklock's node is in the queue.
    Queued {
        /// Its full path.
        node: String,
    },
    /// Another contender is ahead.
    WaitingFor {
        /// The predecessor.
        who: String,
        /// How many contenders are ahead.
        ahead: usize,
    },
    /// With `--progress`: zklock still waits.
    StillWaiting {
        /// The time since zklock was started.
        waited: Duration,
        /// How many contenders are ahead.
        ahead: usize,
        /// The predecessor.
        predecessor: String,
        /// The holder, if known.
        holder: Option<Holder>,
        /// How long no server has answered, if that is long.
        silent_for: Option<Duration>,
    },
    /// zklock holds the lock.
    Acquired {
        /// The time since zklock was started.
        after: Duration,
        /// The fencing token.
        token: i64,
    },
    /// With `-n` or `-w 0`: another contender holds the lock.
    Busy {
        /// The holder.
        holder: String,
    },
    /// `-w` ran out while another contender was ahead.
    GaveUp {
        /// How long zklock tried.
        waited: Duration,
        /// The predecessor.
        ahead: String,
    },
    /// `-w` ran out after zklock became first in the queue while stopped.
    GaveUpStopped {
        /// How long zklock tried.
        waited: Duration,
        /// Whether another contender was seen ahead before.
        seen_busy: bool,
    },
    /// zklock became first in the queue while stopped.
    LeftTheQueueStopped,
    /// zklock was continued after that.
    QueueingAgainAfterStop,
    /// The session ended before the command was started.
    QueueingAgain(RequestError),
    /// A signal that has no effect while no command runs.
    SignalIgnored(i32),
    /// The first contender in the queue waits for confirmations.
    AwaitsLease,
    /// A waiter has lost its connection.
    ConnectionLostWaiting,
    /// A waiter is connected again.
    ConnectedAgainWaiting,
    /// A confirmation was refused.
    ConfirmationFailed(RequestError),
    /// `--once-per`: the command isn't due.
    Skipped {
        /// How long ago the command succeeded.
        ago: Duration,
        /// The host, if known.
        host: Option<String>,
        /// The period of `--once-per`.
        period: Duration,
    },

    // Why the lock can't be acquired.
    /// No server established a session in time.
    Unreachable {
        /// How long the servers were tried; `None` if all of them refused and zklock didn't wait.
        within: Option<Duration>,
        /// The reason that each server gave.
        servers: Vec<String>,
    },
    /// A server requires credentials, or refuses the given ones.
    CredentialsRefused {
        /// The connect string.
        hosts: String,
        /// Whether credentials were given.
        given: bool,
    },
    /// The session has ended, and a new one would end in the same way.
    SessionFailed(RequestError),
    /// The session was closed, and not by zklock.
    SessionClosed,
    /// The contender can't continue.
    Contender(ContentionError),
    /// Another client revoked zklock's place in the queue.
    PlaceRevoked(Option<String>),
    /// The connection is too slow for the session timeout.
    LineTooSlow {
        /// The connect string.
        hosts: String,
        /// How long an answer takes.
        trip: Duration,
        /// The session timeout.
        timeout: Duration,
        /// The grace of a forced stop.
        kill_after: Duration,
    },
    /// `-w` ran out while zklock was first in the queue.
    NotConfirmed {
        /// How long zklock tried.
        waited: Duration,
    },
    /// `-w` ran out while no server answered.
    LastSeenBusy {
        /// How long zklock tried.
        waited: Duration,
        /// How long no server has answered.
        silence: Duration,
        /// The predecessor when a server last answered.
        ahead: String,
    },
    /// There is no session, and the ZooKeeper client didn't report a reason in time.
    KeptBusy {
        /// The connect string.
        hosts: String,
        /// How long zklock tried.
        waited: Duration,
    },
    /// There is a session, but no answer about the lock.
    NoAnswer {
        /// The connect string.
        hosts: String,
        /// How long zklock tried.
        waited: Duration,
    },
    /// The holder started the command that zklock runs in, and no variable told zklock so.
    WaitsForItself {
        /// The holder's process id.
        pid: u32,
    },
    /// `--once-per` inside a command that already holds the lock.
    OncePerInside,
    /// The surrounding lock follows another naming scheme.
    HeldInOtherNaming {
        /// The naming scheme of the surrounding lock.
        outer: Family,
        /// The naming scheme of the command line.
        inner: Family,
    },
    /// The surrounding lock's mode isn't strong enough.
    HeldTooWeakly {
        /// The mode that is held.
        outer: String,
        /// The mode that zklock asks for.
        inner: Mode,
    },

    // While the command runs.
    /// The command couldn't be started, or its environment variables couldn't be made.
    NotStarted(String),
    /// The command runs.
    Started {
        /// Its name.
        command: String,
    },
    /// A holder has lost its connection.
    ConnectionLost,
    /// A holder is connected again.
    ConnectedAgain,
    /// The lock is lost or revoked.
    LockLost {
        /// The reason.
        loss: Loss,
        /// The command's name.
        command: String,
        /// Whether the command is stopped.
        stops: bool,
    },
    /// The command was stopped because of that.
    CommandStopped {
        /// The reason.
        loss: Loss,
        /// The command's name.
        command: String,
        /// How long after the last confirmation, if there is a lease.
        after: Option<Duration>,
    },
    /// The command's first process was killed with KILL, and the rest of the command is ended.
    CommandKilled {
        /// The command's name.
        command: String,
    },
    /// The command was suspended, for example by Ctrl-Z, or wants the terminal.
    Suspended {
        /// The command's name.
        command: String,
        /// Whether it wants the terminal.
        wants_terminal: bool,
        /// Whether the lock is still held.
        held: bool,
    },
    /// A program that doesn't wait for zklock came to the lock.
    Neighbour(QueueError),
    /// A process is still there after KILL.
    LeftAfterKill(String),

    // The end.
    /// The success was recorded.
    SuccessRecorded,
    /// The success could not be recorded.
    SuccessNotRecorded(String),
    /// The lock is released.
    Released,
    /// zklock has left the queue.
    LeftTheQueue,
    /// The session has ended, and zklock's node with it.
    SessionOver,
    /// No server confirmed the release.
    ReleaseUnconfirmed,
}

impl Message {
    /// How important the message is.
    pub fn level(&self) -> Level {
        match self {
            Self::StillWaiting { .. } => Level::Notice,
            Self::Queued { .. }
            | Self::WaitingFor { .. }
            | Self::Acquired { .. }
            | Self::LeftTheQueueStopped
            | Self::ConnectionLost
            | Self::ConnectedAgain
            | Self::CommandKilled { .. }
            | Self::Suspended { wants_terminal: true, .. }
            | Self::SuccessRecorded
            | Self::Released
            | Self::LeftTheQueue
            | Self::SessionOver => Level::Step,
            Self::Busy { .. }
            | Self::GaveUp { .. }
            | Self::GaveUpStopped { seen_busy: true, .. }
            | Self::QueueingAgainAfterStop
            | Self::QueueingAgain(_)
            | Self::Skipped { .. }
            | Self::LockLost { .. }
            | Self::Suspended { .. }
            | Self::Neighbour(_)
            | Self::LeftAfterKill(_)
            | Self::ReleaseUnconfirmed => Level::Warning,
            Self::SignalIgnored(_)
            | Self::AwaitsLease
            | Self::Started { .. }
            | Self::ConnectionLostWaiting
            | Self::ConnectedAgainWaiting
            | Self::ConfirmationFailed(_) => Level::Debug,
            _ => Level::Error,
        }
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

impl fmt::Display for Message {
    #[allow(clippy::too_many_lines, reason = "a list of messages, one after the other")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queued { node } => write!(f, "queued as {node}"),
            Self::WaitingFor { who, ahead } => write!(f, "waiting for {who}, {ahead} ahead"),
            Self::StillWaiting { waited, ahead, predecessor, holder, silent_for } => {
                write!(f, "position {}, waiting {}; ", ahead + 1, whole(*waited))?;
                match holder {
                    Some(holder) if holder.who == *predecessor => write!(f, "held by {holder}"),
                    Some(holder) => write!(f, "held by {holder}; behind {predecessor}"),
                    None => write!(f, "behind {predecessor}"),
                }?;
                silent_for
                    .iter()
                    .try_for_each(|span| write!(f, "; no answer from the servers for {}", whole(*span)))
            }
            Self::Acquired { after, token } => {
                write!(f, "acquired after {}, fencing token {token}", time(*after))
            }
            Self::Busy { holder } => write!(f, "busy: held by {holder}"),
            Self::GaveUp { waited, ahead } => {
                write!(f, "busy: gave up after {} of waiting for {ahead}", time(*waited))
            }
            Self::GaveUpStopped { waited, seen_busy } => {
                let busy = if *seen_busy { "busy: " } else { "" };
                write!(f, "{busy}gave up after {}: became first while stopped", time(*waited))
            }
            Self::LeftTheQueueStopped => {
                f.write_str("became first while stopped: left the queue until it is continued")
            }
            Self::QueueingAgainAfterStop => {
                f.write_str("became first while stopped; queueing again at the end")
            }
            Self::QueueingAgain(failure) => {
                write!(f, "the session was lost while waiting ({failure}); queueing again at the end")
            }
            Self::SignalIgnored(number) => {
                write!(f, "{} is ignored: no command is running yet", signal::name(*number))
            }
            Self::AwaitsLease => f.write_str("first in the queue, waiting for a fresh lease"),
            Self::ConnectionLostWaiting => f.write_str("connection lost while waiting"),
            Self::ConfirmationFailed(failure) => write!(f, "a confirmation failed: {failure}"),
            Self::Skipped { ago, host, period } => {
                let on = host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
                let (ago, period) = (time(*ago), duration::text(*period));
                write!(f, "skipped: the command succeeded {ago} ago{on}, and once per {period} is enough")
            }
            Self::Unreachable { within, servers } => {
                let is_short = within.is_some_and(|within| within < Duration::from_secs(1));
                let within =
                    within.map(|within| format!(" within {}", duration::text(within))).unwrap_or_default();
                write!(
                    f,
                    "no ZooKeeper server could be reached{within}; {}name others with -z or ZKLOCK_ZOOKEEPER",
                    if is_short { "allow more time with -w or --connect-timeout, or " } else { "" }
                )?;
                servers.iter().try_for_each(|server| write!(f, "\n  {server}"))
            }
            Self::CredentialsRefused { hosts, given: false } => {
                write!(f, "{hosts} demands credentials: give them with --auth-file FILE or ZKLOCK_AUTH")
            }
            Self::CredentialsRefused { hosts, given: true } => write!(
                f,
                "{hosts} refused the credentials: check the lines of --auth-file and ZKLOCK_AUTH, and whether the \
                 server knows their scheme"
            ),
            Self::SessionFailed(failure) => failure.fmt(f),
            Self::SessionClosed => {
                f.write_str("the session was closed while zklock was waiting; run it again")
            }
            Self::Contender(error) => error.fmt(f),
            Self::PlaceRevoked(by) => {
                write!(
                    f,
                    "its place in the queue was revoked by {}",
                    by.as_deref().unwrap_or("another client")
                )
            }
            Self::LineTooSlow { hosts, trip, timeout, kill_after } => {
                too_slow(f, hosts, *trip, *timeout, *kill_after)
            }
            Self::NotConfirmed { waited } => write!(
                f,
                "first in the queue, but the ensemble confirmed that too rarely within {} to start the \
                 command; check the servers' load",
                time(*waited)
            ),
            Self::LastSeenBusy { waited, silence, ahead } => write!(
                f,
                "gave up after {}: last seen busy {} ago, behind {ahead}, and no answer since",
                time(*waited),
                time(*silence)
            ),
            Self::KeptBusy { hosts, waited } => write!(
                f,
                "{hosts} kept the client busy for {} without opening a session; check that they are ZooKeeper \
                 servers",
                time(*waited)
            ),
            Self::NoAnswer { hosts, waited } => write!(
                f,
                "connected to {hosts}, but got no answer about the lock within {}; check the servers' load",
                time(*waited)
            ),
            Self::WaitsForItself { pid } => write!(
                f,
                "this would wait for itself: PID {pid} holds the lock and started this command; pass \
                 ZKLOCK_HELD through sudo with --preserve-env=ZKLOCK_HELD, or start a background process \
                 outside the lock"
            ),
            Self::OncePerInside => {
                f.write_str("already held by the surrounding command: put --once-per there")
            }
            Self::HeldInOtherNaming { outer, inner } => write!(
                f,
                "the surrounding command holds it in the naming of {outer}, which keeps out only clients of \
                 that naming, and this asks for that of {inner}: use another path"
            ),
            Self::HeldTooWeakly { outer, inner } => write!(
                f,
                "the surrounding command holds it as {outer}, and this asks for {inner}, so it would wait for \
                 itself forever: ask for {inner} outside too, or use another path"
            ),
            Self::NotStarted(why) => f.write_str(why),
            Self::Started { command } => write!(f, "{command} was started"),
            Self::ConnectionLost => {
                f.write_str("connection lost; the command continues while the lease lasts")
            }
            Self::ConnectedAgain | Self::ConnectedAgainWaiting => f.write_str("connected again"),
            Self::LockLost { loss, command, stops } => {
                let fate = if *stops { "is stopped" } else { "continues (--on-lost continue)" };
                write!(f, "{}; {command} {fate}", loss.told("is"))
            }
            Self::CommandStopped { loss, command, after } => {
                write!(f, "{}; {command} was stopped", loss.told("was"))?;
                after.map_or(Ok(()), |after| write!(f, " {} after the last confirmation", time(after)))
            }
            Self::CommandKilled { command } => {
                write!(
                    f,
                    "{command} was killed; the processes that it has left are killed before the release"
                )
            }
            Self::Suspended { command, wants_terminal, held } => {
                let kept = if *held { "the lock is kept" } else { "it no longer holds the lock" };
                if *wants_terminal {
                    write!(f, "{command} wants the terminal; meanwhile {kept}")
                } else {
                    write!(f, "{command} is stopped, and {kept}; fg or bg continues it")
                }
            }
            Self::Neighbour(refusal) => write!(f, "another program may run at the same time: {refusal}"),
            Self::LeftAfterKill(left) => {
                write!(f, "{left}; zklock waits for its end, and keeps the lock while its session lasts")
            }
            Self::SuccessRecorded => f.write_str("success recorded"),
            Self::SuccessNotRecorded(why) => {
                write!(f, "the success could not be recorded, so the next run is not skipped: {why}")
            }
            Self::Released => f.write_str("released"),
            Self::LeftTheQueue => f.write_str("left the queue"),
            Self::SessionOver => f.write_str("the session has ended, and the node with it"),
            Self::ReleaseUnconfirmed => f.write_str(
                "no server confirmed the release; the lock is free at the end of the session timeout",
            ),
        }
    }
}

fn too_slow(
    f: &mut fmt::Formatter<'_>,
    hosts: &str,
    trip: Duration,
    timeout: Duration,
    kill_after: Duration,
) -> fmt::Result {
    let remedy = match smallest_timeout(trip, kill_after) {
        Some(enough) if enough <= timeout => "a longer --session-timeout may help".to_owned(),
        Some(enough) => format!("use --session-timeout {} or more", enough.as_secs()),
        None => "no session timeout is long enough for that".to_owned(),
    };
    write!(
        f,
        "the line to {hosts} is too slow: an answer takes {}, and with a session timeout of {} the command \
         would be stopped for lack of answers, so it was not started; {remedy}",
        time(trip),
        time(timeout)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_slow_is_told_with_the_timeout_that_helps() {
        let remedy = |trip: u64, timeout: u64| {
            let (trip, timeout) = (Duration::from_millis(trip), Duration::from_secs(timeout));
            let (hosts, kill_after) = ("zk1:2181".to_owned(), Duration::from_secs(5));
            let message = Message::LineTooSlow { hosts, trip, timeout, kill_after }.to_string();
            message.split_once("; ").map(|(_, remedy)| remedy.to_owned()).unwrap_or_default()
        };
        assert_eq!(remedy(100, 1), "use --session-timeout 2 or more");
        assert_eq!(remedy(100, 2), "a longer --session-timeout may help");
        assert_eq!(remedy(3_600_000, 30), "no session timeout is long enough for that");
    }
}
