//! Mistakes that can be planted to show that a test notices them.
//!
//! A build with `--cfg planted` contains all of them, and each process makes at most the one named by `ZKLOCK_PLANTED`.
//! Any other build contains none of them, and no way to ask for one. They are enabled only by `--cfg` in RUSTFLAGS and
//! not by a feature, so that no choice of features builds a broken lock.

use std::fmt;
use std::str::FromStr;

/// Defines [`Mistake`], and the list of all, so that each is named and described once.
macro_rules! mistakes {
    ($($(#[doc = $line:literal])+ $mistake:ident,)+) => {
        /// A mistake in zklock's behaviour.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Mistake {
            $($(#[doc = $line])+ $mistake,)+
        }

        impl Mistake {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$mistake),+];

            /// Its description, line by line.
            const fn lines(self) -> &'static [&'static str] {
                match self {
                    $(Self::$mistake => &[$($line),+],)+
                }
            }
        }
    };
}

mistakes! {
    /// There is no lease.
    LeaseOff,
    /// The lease is counted from the newest confirmation.
    LeaseNewest,
    /// `sync` counts as a confirmation.
    LeaseSync,
    /// A new lease counts from the answer to the connect request instead of from before the request was sent.
    LeaseFromConnect,
    /// Stop, KILL and the monitor's take-over have no reserve: they come up to a session timeout after the lease end.
    NoKillMargin,
    /// zklock doesn't expect a host that was late to be late again.
    DelayForgotten,
    /// A forced stop reaches only the command's process group, and not descendants that left it.
    GroupOnly,
    /// The command is started whatever the state of the connection and the lease.
    DoomedStart,
    /// The monitor lets a worker hang for longer than its lease.
    MonitorAsleep,
    /// The worker continues when the monitor has died.
    OrphanedWorker,
    /// The monitor doesn't exit when it learns of the worker's last report and of the worker's death together.
    LastReportDropped,
    /// Nothing follows from a death that the monitor learns of just after it has looked at the page.
    DeathOverlooked,
    /// The command continues when the worker has died, and the lock node is deleted.
    DeadWorkerUnswept,
    /// `--once-per` runs the command although it succeeded within the period.
    OnceTwice,
    /// A semaphore admits one more contender than it has slots.
    OneSlotMore,
    /// A reader doesn't wait for writers ahead of it.
    ReaderIgnoresWriter,
    /// A waiter takes the lock when its predecessor leaves, however many contenders are ahead of that one.
    PredecessorIsAll,
    /// After a reconnection no watches are set.
    DeafAfterGap,
    /// The lock is released as soon as the command is sent TERM, instead of when it has ended.
    ReleaseEarly,
    /// zklock exits with 0 after it stopped the command because the lock was lost.
    ExitSwallowed,
    /// A revoked lock is kept.
    RevokeIgnored,
    /// After a move to another server nothing is sent that makes it catch up.
    LaggingServer,
    /// When the answer to a create is lost, another node is created without checking for the first.
    CreateAgain,
    /// A connection that comes back renews the lease.
    ///
    /// Counting an answer that comes after the lease end would be too small a mistake: except for a race of
    /// microseconds within the leader, that answer proves a touch like any other, and the command is already being
    /// stopped.
    LeaseRevived,
    /// The lease counts from a confirmation that is too close to the next: a twelfth of the timeout before it instead
    /// of a third.
    ///
    /// Counting from the answer of the right one would be too small a mistake: an answer that takes longer than a
    /// twenty-fourth of the timeout costs the connection, and KILL comes earlier than that.
    LeaseTooClose,
    /// The first contender in the queue confirms as rarely as a waiter.
    SlowRhythm,
    /// Confirmations are sent only until the connection is lost for the first time.
    SilentAfterGap,
    /// A contender whose own node isn't in the listing holds the lock.
    GoneIsFirst,
    /// Contenders are ordered by their whole names, and so by their uuids.
    OrderByName,
    /// A contender that gets one of several slots writes neither that nor the time since when it holds to its node.
    ///
    /// Leaving out only the first would be too small a mistake: the second is written a second later, and wakes the
    /// next waiter too.
    SlotUntold,
    /// Several locks are acquired in the order of the command line.
    UnsortedLocks,
    /// A signal doesn't end a waiter.
    SignalIgnored,
    /// A waiter that gives up leaves its node in the queue.
    LeavesItsPlace,
    /// A forced stop sends TERM and never KILL.
    NoKill,
    /// A session that is dropped releases its lock: when the worker's loop fails, that is before the command is dead.
    ReleasedByDrop,
    /// The lock is released when the command's first process is dead, even if descendants are left.
    LeaderIsAll,
    /// A stopped waiter takes the lock when it becomes first in the queue.
    StoppedTakesLock,
    /// The node of a command whose worker was killed is left for its session to delete.
    NodeForgotten,
    /// The lease doesn't count the time for which the host sleeps.
    SleepUncounted,
    /// A predecessor whose node can't be read counts as gone.
    HiddenIsGone,
    /// A create that an ACL denies counts as a busy lock.
    DeniedIsBusy,
    /// The locks that the variables name count as held around zklock, whether or not their nodes exist.
    HeldUnchecked,
    /// A waiter doesn't notice that the holder is the zklock that it runs in.
    AncestorUnseen,
    /// The worker has a name that `pkill zklock` finds, so that both processes are killed at once.
    WorkerNamed,
    /// A command whose first process was killed with KILL counts as ended, whatever it has left.
    KilledIsEnded,
    /// The kernel is not asked to end the command when monitor and worker are killed at once.
    NoDeathSignal,
    /// Messages are written immediately, and so zklock waits for a slow reader.
    HeldUpByStderr,
}

impl Mistake {
    /// What it makes, in a sentence.
    pub fn about(self) -> String {
        let first: Vec<&str> =
            self.lines().iter().map(|line| line.trim()).take_while(|line| !line.is_empty()).collect();
        first.join(" ")
    }
}

/// Its name as scripts know it: `lease-off`.
impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, letter) in format!("{self:?}").char_indices() {
            let dash = if at > 0 && letter.is_uppercase() { "-" } else { "" };
            write!(f, "{dash}{}", letter.to_ascii_lowercase())?;
        }
        Ok(())
    }
}

impl FromStr for Mistake {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let named = Self::ALL.iter().find(|mistake| mistake.to_string() == name);
        named.copied().ok_or_else(|| format!("{name}: no such mistake"))
    }
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

/// The mistake that this process makes, as its position in the list from 1; 0 is none.
#[cfg(planted)]
static PLANTED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// Makes this process make this mistake from now on.
#[cfg(planted)]
pub fn plant(mistake: Option<Mistake>) {
    PLANTED.store(mistake.map_or(0, |mistake| mistake as usize + 1), std::sync::atomic::Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_mistake_has_a_name_and_a_description() {
        let names: BTreeSet<String> = Mistake::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), Mistake::ALL.len());
        assert!(Mistake::ALL.iter().all(|mistake| mistake.about().ends_with('.')));
        assert_eq!("lease-off".parse(), Ok(Mistake::LeaseOff));
        assert!("lease-of".parse::<Mistake>().is_err());
    }

    #[cfg(not(planted))]
    #[test]
    fn a_build_without_the_cfg_makes_no_mistake_whatever_the_environment_says() {
        const { assert!(!planted(Mistake::LeaseOff)) }
        assert!(!Mistake::ALL.iter().any(|&mistake| planted(mistake)));
    }
}
