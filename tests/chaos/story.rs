//! What was done to a contender, and the ends that follow from it.

use crate::checker::Seen;
use crate::contender::Contender;
use crate::hit::Hit;
use crate::wish::{Kind, Patience};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

pub(crate) const LOST: i32 = 123;
const BUSY: i32 = 124;
const FAILURE: i32 = 125;

/// After its limit a contender takes its node back, for which servers have five seconds; and machines are busy.
const LATE: Duration = Duration::from_secs(10);

/// How long a command that hears of its end may take for it, and who is to hear of it in spite of a fault.
const LONGEST_END: Duration = Duration::from_secs(5);

/// On a busy machine a third of a session that is shorter passes without anybody's fault.
const SHORT: Duration = Duration::from_secs(3);

/// All that a contender's end has to agree with.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    pub(crate) kind: Kind,
    pub(crate) patience: Patience,
    pub(crate) session: Duration,
    pub(crate) hits: Vec<Hit>,
    pub(crate) seen: Seen,
    /// Servers, its network or the machine were in trouble: in its time, or lately enough to cost it the lock.
    pub(crate) in_storm: bool,
    pub(crate) in_fresh_storm: bool,
    /// Its line was slow for a while, or the machine.
    pub(crate) delayed: bool,
    /// For how long its command went on after its node had said that it shall give up.
    pub(crate) revoked_for: Option<Duration>,
    pub(crate) status: ExitStatus,
    pub(crate) took: Duration,
}

impl Story {
    /// What its end can't be, if it is that.
    pub(crate) fn contradiction(&self) -> Option<&'static str> {
        let Self { kind, patience, seen, status, took, .. } = *self;
        let was = |hit: Hit| self.hits.contains(&hit);
        let timed = patience != Patience::Endless;
        let short = self.session < SHORT;
        // A worker that stood still for long is in the same trouble as one that could reach nobody. A monitor that did
        // is in none.
        let hurt = was(Hit::StoppedWorker) || was(Hit::KilledWorker) || was(Hit::NodeDeleted);
        let stood_still = was(Hit::StoppedMonitor) || was(Hit::StoppedWorker) || was(Hit::Suspended);
        if let (Patience::Some(limit), false, false) = (patience, seen.begun, stood_still)
            && took > limit + LATE
        {
            return Some("gave up long after its time");
        }
        // By then it has heard of it, or lost the lock for want of answers; stops don't count.
        if !stood_still && self.revoked_for.is_some_and(|span| span > self.session + LONGEST_END) {
            return Some("went on though it was revoked");
        }
        let sound = match (status.code(), status.signal()) {
            (Some(0), _) if !(seen.begun && seen.ended) => return Some("exit 0 without a whole section"),
            (Some(BUSY), _) if seen.begun => return Some("says busy, and its job ran"),
            (Some(FAILURE), _) if seen.begun => return Some("says that zklock failed, and its job ran"),
            (Some(LOST), _) if !(self.in_fresh_storm || hurt || short || was(Hit::Revoked)) => {
                return Some("lost the lock, and no fault explains it");
            }
            (Some(0 | LOST), _) => true,
            (Some(BUSY), _) => timed || kind == Kind::Once,
            // With a limit, no answer in time is an end. Without, only the loss of its place is, or a line that is too
            // slow for so short a session.
            (Some(FAILURE), _) => {
                was(Hit::NodeDeleted)
                    || was(Hit::KilledWorker)
                    || was(Hit::Revoked)
                    || (timed && (self.in_storm || hurt || was(Hit::Suspended)))
                    || short
                    || self.delayed
            }
            (_, Some(9)) => was(Hit::KilledMonitor) || was(Hit::KilledHost),
            (_, Some(15)) => was(Hit::Terminated),
            _ => false,
        };
        (!sound).then_some("no end that its story explains")
    }
}

/// Why this contender's end is wrong, with all that is known of it; nothing if it is right.
pub(crate) fn judge(story: &Story, contender: &Contender) -> Option<String> {
    let why = story.contradiction()?;
    Some(format!(
        "{}: {why}\n  {story:?}\n  {:?}\n  its words:\n{}",
        contender.name(),
        contender.wish,
        contender.stderr()
    ))
}
