//! Everything that a run says to people, in one place. Each message is said of a lock path; the runtime writes it down.

use std::fmt;
use std::time::Duration;

use super::duration;
use super::lock::contender::Trouble;
use super::lock::name::{Family, Mode};
use super::lock::pace::smallest_timeout;
use super::lock::queue::Refusal;
use super::loss::Loss;
use super::protocol::Failure;
use super::signal;
use super::words::{time, whole};

/// How important a message is, and so which of `-q`, `-v` and `-vv` hides or shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Why it doesn't go on. Shown always.
    Error,
    /// What the user should know although it goes on. Hidden by `-q`.
    Warning,
    /// A step that was asked for. Hidden by `-q`.
    Notice,
    /// A step on the way. Shown by `-v`.
    Step,
    /// For whoever looks for a fault. Shown by `-vv`.
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

/// Who holds a lock, while somebody waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// As people know it.
    pub who: String,
    /// How long it has held the lock, if it says so.
    pub held_for: Option<Duration>,
    /// How long ago it queued, if that is known.
    pub queued_for: Option<Duration>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    // Queueing.
    /// Our node is in the queue.
    Queued {
        /// Its full path.
        node: String,
    },
    /// Somebody is ahead.
    WaitingFor {
        /// The contender just ahead.
        who: String,
        /// How many are ahead.
        ahead: usize,
    },
    /// With `--progress`: it still waits.
    StillWaiting {
        /// Since zklock was started.
        waited: Duration,
        /// How many are ahead.
        ahead: usize,
        /// The contender just ahead.
        predecessor: String,
        /// Who holds, if that is known.
        holder: Option<Holder>,
        /// For so long no server has answered, if it is long.
        silent_for: Option<Duration>,
    },
    /// The lock is ours.
    Acquired {
        /// Since zklock was started.
        after: Duration,
        /// The fencing token.
        token: i64,
    },
    /// With `-n`, or `-w 0`: somebody holds it.
    Busy {
        /// Who.
        holder: String,
    },
    /// `-w` ran out while somebody was ahead.
    GaveUp {
        /// For so long it was tried.
        waited: Duration,
        /// The contender just ahead.
        ahead: String,
    },
    /// `-w` ran out after our turn had come while zklock was stopped.
    GaveUpStopped {
        /// For so long it was tried.
        waited: Duration,
        /// Whether somebody was seen ahead before.
        seen_busy: bool,
    },
    /// Our turn came while zklock was stopped.
    LeftTheQueueStopped,
    /// zklock goes on after that.
    QueueingAgainAfterStop,
    /// The session ended while nothing was run yet.
    QueueingAgain(Failure),
    /// A signal that means nothing while no command runs.
    SignalIgnored(i32),
    /// The first in line waits for confirmations.
    AwaitsLease,
    /// A waiter has lost its connection.
    ConnectionLostWaiting,
    /// A waiter is connected again.
    ConnectedAgainWaiting,
    /// A confirmation was refused.
    ConfirmationFailed(Failure),
    /// `--once-per`: the command isn't due.
    Skipped {
        /// How long ago it succeeded.
        ago: Duration,
        /// On which host, if that is known.
        host: Option<String>,
        /// How often it is to succeed.
        period: Duration,
    },

    // Why it can't be acquired.
    /// No server gave a session in time.
    Unreachable {
        /// How long they were tried, unless refusals were enough.
        within: Option<Duration>,
        /// What each said.
        servers: Vec<String>,
    },
    /// A server demands credentials, or refuses ours.
    CredentialsRefused {
        /// The connect string.
        hosts: String,
        /// Whether any were given.
        given: bool,
    },
    /// The session is over, and another would end in the same way.
    SessionFailed(Failure),
    /// The session was closed, and not by us.
    SessionClosed,
    /// The contender can't go on.
    Contender(Trouble),
    /// Somebody asked us to give our place up.
    PlaceRevoked(Option<String>),
    /// The line is too slow for the session timeout.
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
    /// `-w` ran out for the first in line.
    NotConfirmed {
        /// For so long it was tried.
        waited: Duration,
    },
    /// `-w` ran out in a silence.
    LastSeenBusy {
        /// For so long it was tried.
        waited: Duration,
        /// For so long no server has answered.
        silence: Duration,
        /// The contender just ahead then.
        ahead: String,
    },
    /// There is no session although the client should have said why.
    KeptBusy {
        /// The connect string.
        hosts: String,
        /// For so long it was tried.
        waited: Duration,
    },
    /// There is a session, and no answer about the lock.
    NoAnswer {
        /// The connect string.
        hosts: String,
        /// For so long it was tried.
        waited: Duration,
    },
    /// The holder started the command that zklock runs in, and nothing told zklock so.
    WaitsForItself {
        /// The holder's.
        pid: u32,
    },
    /// `--once-per` inside a command that holds the lock already.
    OncePerInside,
    /// The lock around us is of another naming.
    HeldInOtherNaming {
        /// That of the lock around us.
        outer: Family,
        /// That of the command line.
        inner: Family,
    },
    /// The lock around us isn't strong enough.
    HeldTooWeakly {
        /// What is held.
        outer: String,
        /// What is asked for.
        inner: Mode,
    },

    // While the command runs.
    /// The command couldn't be started, or what it is to know can't be told.
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
        /// Why.
        loss: Loss,
        /// The command's name.
        command: String,
        /// Whether it is stopped.
        stops: bool,
    },
    /// The command was stopped for that.
    CommandStopped {
        /// Why.
        loss: Loss,
        /// The command's name.
        command: String,
        /// How long after the last confirmation, where there is a lease.
        after: Option<Duration>,
    },
    /// The command was suspended, as by Ctrl-Z, or wants the terminal.
    Suspended {
        /// The command's name.
        command: String,
        /// Whether it wants the terminal.
        wants_terminal: bool,
        /// Whether the lock is still held.
        held: bool,
    },
    /// A program that doesn't wait for zklock came to the lock.
    Neighbour(Refusal),
    /// A process doesn't end after KILL.
    LeftAfterKill(String),

    // The end.
    /// The success was recorded.
    SuccessRecorded,
    /// The success could not be recorded.
    SuccessNotRecorded(String),
    /// The lock is free.
    Released,
    /// Our place is free.
    LeftTheQueue,
    /// The session has ended, and taken our node along.
    SessionOver,
    /// No server confirmed the release.
    ReleaseUnconfirmed,
}

impl Message {
    /// How important it is.
    pub fn level(&self) -> Level {
        match self {
            Self::StillWaiting { .. } => Level::Notice,
            Self::Queued { .. }
            | Self::WaitingFor { .. }
            | Self::Acquired { .. }
            | Self::LeftTheQueueStopped
            | Self::ConnectionLost
            | Self::ConnectedAgain
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
        f.write_str(&self.who)?;
        self.held_for.iter().try_for_each(|held| write!(f, " for {}", whole(*held)))?;
        self.queued_for.iter().try_for_each(|queued| write!(f, ", queued {} ago", whole(*queued)))
    }
}

impl fmt::Display for Message {
    #[allow(clippy::too_many_lines, reason = "a list of messages, one after the other")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queued { node } => write!(f, "queued as {node}"),
            Self::WaitingFor { who, ahead } => write!(f, "waiting for {who}, {ahead} ahead"),
            Self::StillWaiting { waited, ahead, predecessor, holder, silent_for } => {
                write!(f, "number {} in line for {}; ", ahead + 1, whole(*waited))?;
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
                let within =
                    within.map(|within| format!(" within {}", duration::text(within))).unwrap_or_default();
                write!(
                    f,
                    "no ZooKeeper server could be reached{within}; name others with -z or ZKLOCK_ZOOKEEPER"
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
            Self::Contender(trouble) => trouble.fmt(f),
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
                 ZKLOCK_HELD through sudo with --preserve-env=ZKLOCK_HELD"
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
                 itself forever: take the stronger lock outside"
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
