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

impl ExitCheck {
    /// Why this exit is wrong, or `None`.
    pub(crate) fn contradiction(&self) -> Option<&'static str> {
        let Self { kind, wait_limit, status, took, .. } = *self;
        let (begun, ended) =
            (self.section.is_some(), self.section.as_ref().is_some_and(|section| section.ended));
        let was = |fault: Fault| self.contender_faults.contains(&fault);
        let limited = wait_limit != Wait::Unlimited;
        let short = self.session < SHORT_SESSION;
        // A worker that was stopped for long is like one without a connection. A stopped monitor costs nothing.
        let worker_hit = was(Fault::StopWorker)
            || was(Fault::KillWorker)
            || was(Fault::FailWorker)
            || was(Fault::DeleteNode);
        let was_stopped = was(Fault::StopMonitor) || was(Fault::StopWorker) || was(Fault::Suspend);
        // The worker leaves the queue, and if it fails meanwhile, the monitor begins again.
        let leaves = LIMIT_TOLERANCE * if worker_hit { 2 } else { 1 };
        if let (Wait::Some(limit), false, false) = (wait_limit, begun, was_stopped)
            && took > limit + leaves
        {
            return Some("gave up long after its limit");
        }
        // By then it has noticed the revocation, or lost the lock for want of answers; stops don't count.
        if !was_stopped && self.revoked_for.is_some_and(|span| span > self.session + LONGEST_END) {
            return Some("continued although it was revoked");
        }
        let possible = match (status.code(), status.signal()) {
            (Some(0), _) if !(begun && ended) => return Some("exit 0 without a whole section"),
            (Some(BUSY), _) if begun => return Some("reports busy, but its job ran"),
            (Some(FAILURE), _) if begun => return Some("reports a failure of zklock, but its job ran"),
            (Some(LOST), _) if !(self.recently_disturbed || worker_hit || short || was(Fault::Revoke)) => {
                return Some("lost the lock without a fault that explains it");
            }
            (Some(0 | LOST), _) => true,
            (Some(BUSY), _) => limited || kind == Kind::Once,
            // With a limit, zklock may fail for want of answers in time. Without, only if it lost its node, or if the
            // line is too slow for a short session.
            (Some(FAILURE), _) => {
                was(Fault::DeleteNode)
                    || was(Fault::KillWorker)
                    || was(Fault::FailWorker)
                    || was(Fault::Revoke)
                    || (limited && (self.disturbed || worker_hit || was(Fault::Suspend)))
                    || short
                    || self.delayed
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
