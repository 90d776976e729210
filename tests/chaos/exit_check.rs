//! Checks a contender's exit against the faults that it met.

use crate::contender::Contender;
use crate::invocation::{Kind, Wait};
use crate::support::{Fault, Section};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

const LOST: i32 = 123;
const BUSY: i32 = 124;
const FAILURE: i32 = 125;

/// After its limit a contender deletes its node, and servers have five seconds for that; then it may be late.
const LIMIT_TOLERANCE: Duration = Duration::from_secs(10);

/// The time for a command to end after TERM, or for a revocation to arrive in spite of a fault.
const LONGEST_END: Duration = Duration::from_secs(5);

/// With shorter session timeouts, a third of the timeout can pass without any fault.
const SHORT_SESSION: Duration = Duration::from_secs(3);

/// Everything that a contender's exit must be consistent with.
#[derive(Clone, Debug)]
pub(crate) struct ExitCheck {
    pub(crate) kind: Kind,
    pub(crate) wait_limit: Wait,
    pub(crate) session: Duration,
    pub(crate) contender_faults: Vec<Fault>,
    /// What its command did, if it began.
    pub(crate) section: Option<Section>,
    /// A fault of the servers, its network or the machine during its lifetime, or recently enough to cost it the lock.
    pub(crate) disturbed: bool,
    pub(crate) recently_disturbed: bool,
    /// Its line or the machine was slow for a while.
    pub(crate) delayed: bool,
    /// How long its command ran on after its node was revoked.
    pub(crate) revoked_for: Option<Duration>,
    pub(crate) status: ExitStatus,
    pub(crate) took: Duration,
}

/// A fact about a contender that excuses what would be a violation. Beside the eviction that the checker knows, there is no
/// other excuse.
#[derive(Debug, Clone, Copy)]
enum Excuse {
    /// One of its processes was stopped: that time doesn't count.
    Stopped,
    /// Its worker was stopped, killed or failed, which is like no connection, or its node was deleted. A stopped monitor costs
    /// nothing.
    Hit,
    /// The servers, the network or the machine failed during its lifetime. A lock is lost by what happened recently.
    Disturbed,
    /// Its session is so short that a third of it can pass without any fault.
    Short,
    /// Its line or the machine was slow for a while, perhaps too slow for its session.
    Delayed,
}

impl ExitCheck {
    fn has(&self, excuse: Excuse) -> bool {
        use Fault::{DeleteNode, FailWorker, KillWorker, StopMonitor, StopWorker, Suspend};
        let was = |faults: &[Fault]| faults.iter().any(|fault| self.contender_faults.contains(fault));
        match excuse {
            Excuse::Stopped => was(&[StopMonitor, StopWorker, Suspend]),
            Excuse::Hit => was(&[StopWorker, KillWorker, FailWorker, DeleteNode]),
            Excuse::Disturbed => self.disturbed,
            Excuse::Short => self.session < SHORT_SESSION,
            Excuse::Delayed => self.delayed,
        }
    }

    /// Why this exit is wrong, or `None`.
    pub(crate) fn contradiction(&self) -> Option<&'static str> {
        let Self { kind, wait_limit, status, took, .. } = *self;
        let (begun, ended) =
            (self.section.is_some(), self.section.as_ref().is_some_and(|section| section.ended));
        let was = |fault: Fault| self.contender_faults.contains(&fault);
        let limited = wait_limit != Wait::Unlimited;
        let is_excused = |excuses: &[Excuse]| excuses.iter().any(|excuse| self.has(*excuse));
        if let (Wait::Some(limit), false) = (wait_limit, begun)
            && took > limit + LIMIT_TOLERANCE
            && !is_excused(&[Excuse::Stopped, Excuse::Hit])
        {
            return Some("gave up long after its limit");
        }
        // By then it has noticed the revocation, or lost the lock for want of answers.
        if self.revoked_for.is_some_and(|span| span > self.session + LONGEST_END)
            && !is_excused(&[Excuse::Stopped])
        {
            return Some("continued although it was revoked");
        }
        let possible = match (status.code(), status.signal()) {
            (Some(0), _) if !(begun && ended) => return Some("exit 0 without a whole section"),
            (Some(BUSY), _) if begun => return Some("reports busy, but its job ran"),
            (Some(FAILURE), _) if begun => return Some("reports a failure of zklock, but its job ran"),
            (Some(LOST), _)
                if !(was(Fault::Revoke)
                    || self.recently_disturbed
                    || is_excused(&[Excuse::Hit, Excuse::Short])) =>
            {
                return Some("lost the lock without a fault that explains it");
            }
            (Some(0 | LOST), _) => true,
            (Some(BUSY), _) => limited || kind == Kind::Once,
            // With a limit, zklock may fail for want of answers in time.
            (Some(FAILURE), _) => {
                was(Fault::Revoke)
                    || is_excused(&[Excuse::Hit, Excuse::Short, Excuse::Delayed])
                    || limited && is_excused(&[Excuse::Disturbed, Excuse::Stopped])
            }
            (_, Some(9)) => self.contender_faults.iter().any(|fault| fault.kills_the_monitor()),
            (_, Some(15)) => was(Fault::Terminate),
            // A command that is started all the same inherits its limit, and ends with any code.
            _ => was(Fault::FailWorker) && !begun,
        };
        (!possible).then_some("no fault explains this exit")
    }
}

/// The violation in this contender's exit with all that is known of it, or `None`.
pub(crate) fn check_exit(exit_check: &ExitCheck, contender: &Contender) -> Option<String> {
    let why = exit_check.contradiction()?;
    Some(format!(
        "{}: {why}\n  {exit_check:?}\n  {:?}\n  its messages:\n{}",
        contender.name(),
        contender.invocation,
        contender.stderr()
    ))
}
