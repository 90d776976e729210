//! What a contender is asked for, drawn from the seed.

use crate::job::Job;
use crate::options::Aim;
use crate::rng::Rng;
use std::time::Duration;

pub(crate) const LOCK: &str = "/chaos/a";
pub(crate) const OTHER_LOCK: &str = "/chaos/b";

/// How long it waits for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    Endless,
    /// `-w`
    Some(Duration),
    /// `-n`
    None,
}

/// What it is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) host: usize,
    pub(crate) locks: &'static [&'static str],
    pub(crate) patience: Patience,
    pub(crate) session: u64,
    /// Milliseconds; none is the default.
    pub(crate) kill_after: Option<u64>,
    pub(crate) job: Job,
}

impl Wish {
    pub(crate) fn draw(name: String, host: usize, rng: &mut Rng, aim: Option<Aim>) -> Self {
        let lasts = match rng.below(100) {
            0..70 => rng.millis(20, 300),
            70..90 => rng.millis(300, 1500),
            _ => rng.millis(2000, 8000),
        };
        let job = Job { name, lasts, deaf: rng.chance(30), forks: rng.chance(25) };
        let patience = match rng.below(100) {
            0..60 => Patience::Endless,
            60..85 => Patience::Some(Duration::from_millis(1500)),
            _ => Patience::None,
        };
        let locks: &[&str] = match rng.below(100) {
            0..75 => &[LOCK],
            75..90 => &[LOCK, OTHER_LOCK],
            _ => &[OTHER_LOCK],
        };
        let (session, kill_after) = (rng.pick(&[2, 3, 4]), rng.pick(&[Some(0), Some(300), None]));
        let wish = Self { host, locks, patience, session, kill_after, job };
        aim.map_or(wish.clone(), |aim| wish.stubborn(aim, rng))
    }

    /// One that shows it best when its lease is wrong: it holds for long, and only KILL ends it.
    fn stubborn(self, aim: Aim, rng: &mut Rng) -> Self {
        let lasts = if rng.chance(75) { rng.millis(9000, 13_000) } else { self.job.lasts };
        // What `newest` gives away grows with the session timeout; what `sync` does shrinks with it, but who is
        // next has to keep its own session through an election.
        let session = match aim {
            Aim::Off => 2,
            Aim::Newest => 4,
            Aim::Sync => 3,
        };
        let patience = if rng.chance(90) { Patience::Endless } else { self.patience };
        Self { locks: &[LOCK], patience, session, job: Job { deaf: true, lasts, ..self.job }, ..self }
    }
}
