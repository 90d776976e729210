//! The options of a contender, drawn from the seed.

use crate::job::{Deaf, Descendant, Job};
use crate::support::Rng;
use crate::support::checker::SLOTS;
use std::time::Duration;

pub(crate) const LOCK: &str = "/chaos/a";
const OTHER_LOCK: &str = "/chaos/b";
const READ_WRITE: &str = "/chaos/rw";
const SEMAPHORE: &str = "/chaos/slots";
const ONCE: &str = "/chaos/once";

pub(crate) const LOCKS: [&str; 5] = [LOCK, OTHER_LOCK, READ_WRITE, SEMAPHORE, ONCE];

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
    /// `descendants`: those that can be started here. `shortest`: the shortest session timeout that the servers grant.
    pub(crate) fn draw(
        name: String,
        host: usize,
        rng: &mut Rng,
        descendants: &[Descendant],
        shortest: Duration,
    ) -> Self {
        let duration = match rng.below(100) {
            0..55 => rng.millis(20, 300),
            55..75 => rng.millis(300, 1500),
            _ => rng.millis(2000, 8000),
        };
        let descendants = match rng.below(10) {
            0..4 => vec![],
            4..6 => vec![rng.pick(descendants)],
            // All that KILL to the command's group ends.
            6..8 => descendants.iter().copied().filter(|kind| !kind.leaves()).collect(),
            _ => descendants.to_vec(),
        };
        let deaf = rng.weighted(&[(6, Deaf::None), (2, Deaf::Descendants), (3, Deaf::All)]);
        let job = Job { name, duration, deaf, descendants };
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
        Self { host, locks, kind, wait_limit, session, kill_after, unread, job }
    }
}
