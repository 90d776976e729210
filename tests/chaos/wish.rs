//! What a contender is asked for, drawn from the seed.

use crate::job::{Family, Job};
use crate::options::Aim;
use crate::rng::Rng;
use crate::section::SLOTS;
use std::time::Duration;

pub(crate) const LOCK: &str = "/chaos/a";
const OTHER_LOCK: &str = "/chaos/b";
const READ_WRITE: &str = "/chaos/rw";
const SEMAPHORE: &str = "/chaos/slots";
/// Only for those who are ambushed.
const ALONE: &str = "/chaos/alone";
const ONCE: &str = "/chaos/once";

/// All of them.
pub(crate) const LOCKS: [&str; 6] = [LOCK, OTHER_LOCK, READ_WRITE, SEMAPHORE, ONCE, ALONE];

/// For how long a success counts where the command is to run once in a while.
pub(crate) const PERIOD: Duration = Duration::from_secs(3);

/// How long it waits for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    Endless,
    /// `-w`
    Some(Duration),
    /// `-n`
    None,
}

/// What it wants of its locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Exclusive,
    Shared,
    Slot,
    /// `--once-per`
    Once,
}

impl Kind {
    /// As zklock is told.
    pub(crate) fn options(self) -> Vec<String> {
        match self {
            Self::Exclusive => vec![],
            Self::Shared => vec!["--shared".to_owned()],
            Self::Slot => vec![format!("--slots={SLOTS}")],
            Self::Once => vec![format!("--once-per={}", PERIOD.as_secs())],
        }
    }
}

/// What it is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) host: usize,
    pub(crate) locks: &'static [&'static str],
    pub(crate) kind: Kind,
    pub(crate) patience: Patience,
    pub(crate) session: Duration,
    /// Milliseconds; none is the default.
    pub(crate) kill_after: Option<u64>,
    /// Nobody reads its stderr.
    pub(crate) unread: bool,
    pub(crate) job: Job,
}

impl Wish {
    /// `shortest`: the shortest session that the servers grant.
    pub(crate) fn draw(
        name: String,
        host: usize,
        rng: &mut Rng,
        aim: Option<Aim>,
        shortest: Duration,
    ) -> Self {
        let lasts = match rng.below(100) {
            0..55 => rng.millis(20, 300),
            55..75 => rng.millis(300, 1500),
            _ => rng.millis(2000, 8000),
        };
        let family = rng.pick(&[Family::Alone, Family::Alone, Family::Child, Family::Setsid, Family::Daemon]);
        let job = Job { name, lasts, deaf: rng.chance(30), family };
        let patience = match rng.below(100) {
            0..70 => Patience::Endless,
            70..90 => Patience::Some(Duration::from_millis(1500)),
            _ => Patience::None,
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
        // What one says that has recorded its success, or couldn't, is wanted.
        let unread = rng.chance(20) && kind != Kind::Once;
        let wish = Self { host, locks, kind, patience, session, kill_after, unread, job };
        aim.map_or(wish.clone(), |aim| wish.stubborn(aim, rng))
    }

    /// Somebody who has the lock as soon as it asks, and holds it for as long as it can.
    pub(crate) fn alone(name: String, host: usize, session: Duration, lasts: Duration) -> Self {
        let job = Job { name, lasts, deaf: true, family: Family::Alone };
        let (kind, patience) = (Kind::Exclusive, Patience::Endless);
        Self { host, locks: &[ALONE], kind, patience, session, kill_after: None, unread: false, job }
    }

    /// One that shows it best when its lease is wrong: it holds for long, and only KILL ends it.
    fn stubborn(self, aim: Aim, rng: &mut Rng) -> Self {
        let lasts = if rng.chance(75) { rng.millis(9000, 13_000) } else { self.job.lasts };
        // What `newest` gives away grows with the session timeout; what `sync` does shrinks with it, but who is
        // next has to keep its own session through an election.
        let session = Duration::from_secs(match aim {
            Aim::Off | Aim::Revoke => 2,
            Aim::Newest => 4,
            Aim::Sync => 3,
            Aim::Connect | Aim::Doom => return self,
        });
        let patience = if rng.chance(90) { Patience::Endless } else { self.patience };
        let job = Job { deaf: true, lasts, ..self.job };
        Self { locks: &[LOCK], kind: Kind::Exclusive, patience, session, job, ..self }
    }
}
