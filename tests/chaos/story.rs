//! What was done to a contender, and the ends that follow from it.

use crate::checker::Seen;
use crate::clock;
use crate::contender::{Contender, Hit};
use crate::wish::Patience;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

const LOST: i32 = 123;
const BUSY: i32 = 124;
const FAILURE: i32 = 125;

/// After its limit a contender takes its node back, for which servers have five seconds; and machines are busy.
const LATE: Duration = Duration::from_secs(10);

/// All that a contender's end has to agree with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Story {
    pub(crate) patience: Patience,
    pub(crate) hit: Option<Hit>,
    pub(crate) seen: Seen,
    /// Servers or network were in trouble in its time.
    pub(crate) in_storm: bool,
    pub(crate) status: ExitStatus,
    pub(crate) took: Duration,
}

impl Story {
    /// What its end can't be, if it is that.
    pub(crate) fn contradiction(&self) -> Option<&'static str> {
        let Self { patience, hit, seen, in_storm, status, took } = *self;
        let timed = patience != Patience::Endless;
        // A worker that stood still for long is in the same trouble as one that could reach nobody. A monitor that did
        // is in none.
        let troubled =
            in_storm || matches!(hit, Some(Hit::StoppedWorker | Hit::KilledWorker | Hit::NodeDeleted));
        let stood_still = matches!(hit, Some(Hit::StoppedMonitor | Hit::StoppedWorker));
        if let (Patience::Some(limit), false, false) = (patience, seen.begun, stood_still)
            && took > limit + LATE
        {
            return Some("gave up long after its time");
        }
        let sound = match (status.code(), status.signal()) {
            (Some(0), _) if !(seen.begun && seen.ended) => return Some("exit 0 without a whole section"),
            (Some(BUSY), _) if seen.begun => return Some("says busy, and its job ran"),
            (Some(FAILURE), _) if seen.begun => return Some("says that zklock failed, and its job ran"),
            (Some(LOST), _) if !troubled => return Some("lost the lock in calm weather"),
            (Some(0 | LOST), _) => true,
            (Some(BUSY), _) => timed,
            // With a limit, no answer in time is an end. Without, only the loss of its place is.
            (Some(FAILURE), _) => {
                matches!(hit, Some(Hit::NodeDeleted | Hit::KilledWorker)) || (timed && troubled)
            }
            (_, Some(9)) => matches!(hit, Some(Hit::KilledMonitor | Hit::KilledHost)),
            (_, Some(15)) => hit == Some(Hit::Terminated),
            _ => false,
        };
        (!sound).then_some("no end that its story explains")
    }
}

/// Why this contender's end is wrong, with all that is known of it; nothing if it is right.
pub(crate) fn judge(contender: &Contender, status: ExitStatus, seen: Seen, in_storm: bool) -> Option<String> {
    let (patience, hit) = (contender.wish.patience, contender.hit());
    let took = clock::now().saturating_sub(contender.born);
    let story = Story { patience, hit, seen, in_storm, status, took };
    let why = story.contradiction()?;
    Some(format!(
        "{}: {why}\n  {story:?}\n  {:?}\n  its words:\n{}",
        contender.name(),
        contender.wish,
        contender.stderr()
    ))
}
