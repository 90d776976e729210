//! Mistakes that can be planted, so that those who look for them can show that they notice.
//!
//! A build with `--cfg planted` holds all of them, and each process makes at most the one that `ZKLOCK_PLANTED` names.
//! Any other build holds none, nor a way to ask for one. Only `--cfg` in RUSTFLAGS plants them and no feature, so that
//! no choice of features builds a lock that is broken.

use clap::ValueEnum;

/// What zklock does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mistake {
    /// There is no lease.
    LeaseOff,
    /// The lease is counted from the newest confirmation.
    LeaseNewest,
    /// `sync` counts as a confirmation.
    LeaseSync,
    /// A fresh lease counts from the answer to the connect request, and not from before it was sent.
    LeaseFromConnect,
    /// Stop, KILL and the monitor's take-over have no reserve: they come up to a timeout after the end of the lease.
    NoKillMargin,
    /// A forced stop reaches the command's process group, and nobody who left it.
    GroupOnly,
    /// The command is started whatever the line and the lease say.
    DoomedStart,
    /// The monitor lets a worker stand still for longer than its lease.
    MonitorAsleep,
    /// The worker goes on when the monitor has died.
    OrphanedWorker,
    /// The command goes on when the worker has died, and the lock node is deleted.
    DeadWorkerUnswept,
    /// `--once-per` runs the command also if it succeeded not long ago.
    OnceTwice,
    /// A semaphore admits one more than it has slots.
    OneSlotMore,
    /// A reader doesn't wait for writers ahead of it.
    ReaderIgnoresWriter,
    /// Whoever sees the one just ahead go takes the lock for its own, however many are ahead of that one.
    PredecessorIsAll,
    /// After a reconnection nobody is watched any more.
    DeafAfterGap,
    /// The lock is released as soon as the command was sent TERM, and not when it is gone.
    ReleaseEarly,
    /// zklock exits with 0 after it stopped the command because the lock was lost.
    ExitSwallowed,
    /// A lock that is revoked is kept.
    RevokeIgnored,
    /// When the answer to a create is lost, another node is created without a look for the first.
    CreateAgain,
    /// A connection that comes back renews the lease.
    ///
    /// An answer that comes after the end of the lease would be too little of a mistake: it proves a touch as any other does,
    /// but for a race of microseconds within the leader, and a command is being stopped by then.
    LeaseRevived,
    /// The lease counts from a confirmation that is too close to the next: a twelfth of the timeout before, and not a third.
    ///
    /// To count from the answer of the right one would be too little of a mistake: an answer that takes longer than a
    /// twenty-fourth of the timeout costs the connection, and KILL comes earlier than that.
    LeaseTooClose,
    /// The first in line confirms as seldom as a waiter does.
    SlowRhythm,
    /// Confirmations go on only until the connection is lost for the first time.
    SilentAfterGap,
    /// A contender whose own node isn't in the list holds the lock.
    GoneIsFirst,
    /// Contenders are ordered by their whole names, and so by their uuids.
    OrderByName,
    /// Whoever gets one of several slots doesn't tell those behind it.
    SlotUntold,
    /// Several locks are taken in the order of the command line.
    UnsortedLocks,
    /// A signal doesn't end a waiter.
    SignalIgnored,
    /// Whoever gives up leaves its node in the queue.
    LeavesItsPlace,
    /// A forced stop sends TERM and never KILL.
    NoKill,
    /// The lock is released when the command's first process is dead, whoever of it is left.
    LeaderIsAll,
    /// A waiter that is stopped takes the lock when its turn comes.
    StoppedTakesLock,
    /// The node of a command whose worker was killed is left to its session.
    NodeForgotten,
    /// What zklock says is written at once, and so waits for whoever reads it.
    HeldUpByStderr,
}

/// Whether this process makes that mistake.
#[cfg(not(planted))]
pub const fn planted(_: Mistake) -> bool {
    false
}

/// Whether this process makes that mistake.
#[cfg(planted)]
pub fn planted(mistake: Mistake) -> bool {
    PLANTED.load(std::sync::atomic::Ordering::Relaxed) == mistake as usize + 1
}

/// Which mistake this process makes, as its place in the list from 1; 0 is none.
#[cfg(planted)]
static PLANTED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// From here on this process makes this mistake.
#[cfg(planted)]
pub fn plant(mistake: Option<Mistake>) {
    PLANTED.store(mistake.map_or(0, |mistake| mistake as usize + 1), std::sync::atomic::Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn each_has_a_name_and_says_what_is_wrong() {
        let values: Vec<_> =
            Mistake::value_variants().iter().filter_map(Mistake::to_possible_value).collect();
        let names: HashSet<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
        assert_eq!(names.len(), Mistake::value_variants().len());
        assert!(values.iter().all(|value| value.get_help().is_some()));
        assert_eq!(Mistake::from_str("lease-off", false), Ok(Mistake::LeaseOff));
        assert!(Mistake::from_str("lease-of", false).is_err());
    }

    #[cfg(not(planted))]
    #[test]
    fn a_build_without_the_cfg_makes_no_mistake_whatever_the_environment_says() {
        const { assert!(!planted(Mistake::LeaseOff)) }
        assert!(!Mistake::value_variants().iter().any(|&mistake| planted(mistake)));
    }

    /// A build script or a setting of cargo's in the repository could set it for everybody.
    #[test]
    fn nothing_but_rustflags_plants_them() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let manifest: toml::Table = include_str!("../../Cargo.toml").parse().unwrap();
        assert!(!manifest["package"].as_table().unwrap().contains_key("build"));
        assert!(!root.join("build.rs").exists() && !root.join(".cargo").exists());
        let known = &manifest["lints"]["rust"]["unexpected_cfgs"]["check-cfg"];
        assert_eq!(known.as_array().unwrap().as_slice(), ["cfg(planted)".into()]);
    }
}
