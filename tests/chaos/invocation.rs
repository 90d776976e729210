//! The options of a contender, drawn from the seed.

use crate::job::{Descendants, Job};
use crate::options::Aim;
use crate::section::SLOTS;
use crate::support::Rng;
use std::time::Duration;

pub(crate) const LOCK: &str = "/chaos/a";
const OTHER_LOCK: &str = "/chaos/b";
const READ_WRITE: &str = "/chaos/rw";
const SEMAPHORE: &str = "/chaos/slots";
/// Only for the contenders that a fault starts for itself.
const DEDICATED_LOCK: &str = "/chaos/alone";
const ONCE: &str = "/chaos/once";

pub(crate) const LOCKS: [&str; 6] = [LOCK, OTHER_LOCK, READ_WRITE, SEMAPHORE, ONCE, DEDICATED_LOCK];

/// The period of `--once-per`.
pub(crate) const PERIOD: Duration = Duration::from_secs(3);

/// How long a contender waits for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Unlimited,
    /// `-w`
    Some(Duration),
    /// `-n`
    None,
}

/// The kind of lock, or `--once-per`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Exclusive,
    Shared,
    Slot,
    /// `--once-per`
    Once,
}

impl Kind {
    /// The options for zklock.
    pub(crate) fn options(self) -> Vec<String> {
        match self {
            Self::Exclusive => vec![],
            Self::Shared => vec!["--shared".to_owned()],
            Self::Slot => vec![format!("--slots={SLOTS}")],
            Self::Once => vec![format!("--once-per={}", PERIOD.as_secs())],
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    pub(crate) host: usize,
    pub(crate) locks: &'static [&'static str],
    pub(crate) kind: Kind,
    pub(crate) wait_limit: Wait,
    pub(crate) session: Duration,
    /// In milliseconds; `None` is zklock's default.
    pub(crate) kill_after: Option<u64>,
    /// Its stderr is a full pipe that is never read.
    pub(crate) unread: bool,
    pub(crate) job: Job,
}

impl Invocation {
    /// `shortest`: the shortest session timeout that the servers grant.
    pub(crate) fn draw(
        name: String,
        host: usize,
        rng: &mut Rng,
        aim: Option<Aim>,
        shortest: Duration,
    ) -> Self {
        let duration = match rng.below(100) {
            0..55 => rng.millis(20, 300),
            55..75 => rng.millis(300, 1500),
            _ => rng.millis(2000, 8000),
        };
        let descendants = rng.pick(&[
            Descendants::None,
            Descendants::None,
            Descendants::Child,
            Descendants::Setsid,
            Descendants::Daemon,
        ]);
        let job = Job { name, duration, ignores_term: rng.chance(30), descendants };
        let wait_limit = match rng.below(100) {
            0..70 => Wait::Unlimited,
            70..90 => Wait::Some(Duration::from_millis(1500)),
            _ => Wait::None,
        };
        let (kind, locks): (_, &[&str]) = match rng.below(100) {
            0..40 => (Kind::Exclusive, &[LOCK]),
            40..50 => (Kind::Exclusive, &[LOCK, OTHER_LOCK]),
            50..56 => (Kind::Exclusive, &[OTHER_LOCK]),
            56..62 => (Kind::Exclusive, &[READ_WRITE]),
            62..72 => (Kind::Shared, &[READ_WRITE]),
            72..92 => (Kind::Slot, &[SEMAPHORE]),
            _ => (Kind::Once, &[ONCE]),
        };
        let seconds = Duration::from_secs;
        let session =
            rng.pick(&[shortest, seconds(2), seconds(3), seconds(3), seconds(4), seconds(4), seconds(10)]);
        let kill_after = rng.pick(&[Some(0), Some(300), None]);
        // The check of `--once-per` reads from stderr whether the success was recorded.
        let unread = rng.chance(20) && kind != Kind::Once;
        let invocation = Self { host, locks, kind, wait_limit, session, kill_after, unread, job };
        aim.map_or(invocation.clone(), |aim| invocation.for_aim(aim, rng))
    }

    /// A contender without competitors that holds its lock for as long as possible.
    pub(crate) fn dedicated(name: String, host: usize, session: Duration, duration: Duration) -> Self {
        let job = Job { name, duration, ignores_term: true, descendants: Descendants::None };
        let (kind, wait_limit) = (Kind::Exclusive, Wait::Unlimited);
        Self {
            host,
            locks: &[DEDICATED_LOCK],
            kind,
            wait_limit,
            session,
            kill_after: None,
            unread: false,
            job,
        }
    }

    /// Makes a mistake of the lease easy to see: the lock is held for long, and only KILL ends the job.
    fn for_aim(self, aim: Aim, rng: &mut Rng) -> Self {
        let duration = if rng.chance(75) { rng.millis(9000, 13_000) } else { self.job.duration };
        // The error of `newest` grows with the session timeout. That of `sync` shrinks with it, but the next contender
        // has to keep its own session through an election.
        let session = Duration::from_secs(match aim {
            Aim::Off | Aim::Revoke | Aim::Kill => 2,
            Aim::Newest => 4,
            Aim::Sync => 3,
            Aim::Connect | Aim::Doom => return self,
        });
        let wait_limit = if rng.chance(90) { Wait::Unlimited } else { self.wait_limit };
        let job = Job { ignores_term: true, duration, ..self.job };
        Self { locks: &[LOCK], kind: Kind::Exclusive, wait_limit, session, job, ..self }
    }
}
