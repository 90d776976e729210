//! The priority of zklock's own processes: they need next to no processor time, but at once.

use nix::libc;
use nix::unistd::getpid;
use rustix::process::setpriority_process;

use super::sys::set_policy;
use super::{proc_file, proc_stat};

/// The scheduling policy and the nice value of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priority {
    policy: i32,
    nice: i32,
}

/// What became of the priority of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Raised {
    /// What it had, if it has a higher one now.
    pub had: Option<Priority>,
    /// Whether it gets time only while no other process wants any (`SCHED_IDLE`, sched(7)).
    pub is_idle: bool,
}

impl Priority {
    /// That of this process. `None` if the kernel doesn't show it.
    fn current() -> Option<Self> {
        let stat = proc_stat::of(getpid())?;
        Some(Self { policy: stat.policy, nice: stat.nice })
    }

    /// Gives this process the usual policy and nice value if it has lower ones and may: with `CAP_SYS_NICE`, or with a
    /// limit `RLIMIT_NICE` of 20.
    ///
    /// A filter of system calls may kill who only tries, so nothing is tried below one.
    pub fn raise() -> Raised {
        let Some(had) = Self::current().filter(|had| had.is_low()) else { return Raised::default() };
        if !is_filtered() {
            if had.nice > 0 {
                setpriority_process(None, 0).ok();
            }
            if had.is_idle() {
                // Only who has the capability may drop the flag.
                set_policy(libc::SCHED_OTHER | had.policy & libc::SCHED_RESET_ON_FORK).ok();
            }
        }
        let has = Self::current().unwrap_or(had);
        Raised { had: (has != had).then_some(had), is_idle: has.is_idle() }
    }

    /// Gives a child between fork and exec this priority. That is lower than what [`Priority::raise`] has set, so
    /// everybody may.
    pub fn restore(self) {
        if self.is_idle() {
            set_policy(self.policy).ok();
        }
        setpriority_process(None, self.nice).ok();
    }

    const fn is_idle(self) -> bool {
        self.policy & !libc::SCHED_RESET_ON_FORK == libc::SCHED_IDLE
    }

    const fn is_low(self) -> bool {
        self.nice > 0 || self.is_idle()
    }
}

/// Whether this process has a filter of system calls (seccomp(2)), as far as the kernel says so.
fn is_filtered() -> bool {
    proc_file::read("/proc/self/status").is_ok_and(|status| status.contains("\nSeccomp:\t2"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_does_not_hide_the_policy() {
        let is_idle = |policy| Priority { policy, nice: 0 }.is_idle();
        assert!(is_idle(libc::SCHED_IDLE | libc::SCHED_RESET_ON_FORK));
        assert!(!is_idle(libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK) && !is_idle(libc::SCHED_BATCH));
    }
}
