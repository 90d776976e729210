//! The signals sent to zklock, as received by the monitor.

use std::iter;
use std::os::fd::{AsFd, BorrowedFd};

use anyhow::{Context, Result};
use nix::libc::SI_KERNEL;
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::unistd::{Pid, getpid, getsid};
use zklock_core::pair::Order;
use zklock_core::signal::{
    RTMAX, RTMIN, SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGIO, SIGPIPE, SIGPROF, SIGPWR, SIGQUIT,
    SIGSTKFLT, SIGTERM, SIGTSTP, SIGURG, SIGUSR1, SIGUSR2, SIGVTALRM, SIGWINCH, SIGXCPU, SIGXFSZ,
};

use crate::link::InheritedState;
use crate::process::persist::persist;
use crate::process::proc_file;
use crate::process::proc_stat;
use crate::process::sys;

/// The signals forwarded to the worker in addition to the real-time ones: all that can be caught, except for faults of
/// zklock's own, and for a stop because of the terminal, which Ctrl-Z's SIGTSTP isn't.
const CAUGHT: [i32; 19] = [
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT, SIGTSTP, SIGPIPE,
    SIGSTKFLT, SIGURG, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGIO, SIGPWR,
];

/// What the terminal sends to the whole process group.
const KEYS: [i32; 6] = [SIGINT, SIGQUIT, SIGTSTP, SIGWINCH, SIGHUP, SIGCONT];

/// Receives the caught signals.
#[derive(Debug)]
pub(super) struct CaughtSignals {
    signals: SignalFd,
    /// Those that reach the command too if the kernel sends them, because it is in the same group.
    keys: Vec<i32>,
    /// Whether the command is in that group.
    has_terminal: bool,
}

impl CaughtSignals {
    /// Starts to listen. A signal that is already ignored stays ignored: nohup and `&` in a script intend that. A
    /// signal that was blocked stays blocked. SIGCHLD is always received.
    ///
    /// # Errors
    /// If the kernel doesn't say which signals are ignored, or can't deliver them.
    pub(super) fn listen(inherited: &InheritedState) -> Result<Self> {
        let InheritedState { mask, has_terminal, .. } = inherited;
        let ignored = proc_file::signals(getpid(), "SigIgn")
            .context("can't read in /proc which signals are ignored")?;
        let is_blocked = |signal: i32| sys::contains(mask, signal);
        let is_ignored =
            |signal: i32| sys::was_ignored(signal).unwrap_or(proc_file::contains(ignored, signal));
        let wanted = CAUGHT.into_iter().chain(RTMIN..=RTMAX);
        let wanted = wanted.filter(|&signal| !is_ignored(signal) && !is_blocked(signal)).chain([SIGCHLD]);
        let wanted = sys::set_of(wanted);
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let signals = SignalFd::with_flags(&wanted, flags).context("can't receive signals")?;
        // All are blocked since the fork. What isn't received here has its effect again.
        let others = (1..=RTMAX).filter(|&signal| !sys::contains(&wanted, signal) && !is_blocked(signal));
        sys::set_of(others).thread_unblock().context("can't unblock signals")?;
        // Only the leader of a session learns that its terminal is gone.
        let is_leader = getsid(None) == Ok(getpid());
        let is_key = |&signal: &i32| *has_terminal && !(is_leader && [SIGHUP, SIGCONT].contains(&signal));
        let keys = KEYS.into_iter().filter(is_key).collect();
        Ok(Self { signals, keys, has_terminal: *has_terminal })
    }

    /// The next signal that has arrived, for a running command. The kernel queues real-time signals, and merges others.
    ///
    /// # Errors
    /// If it can't be known whether signals have arrived.
    pub(super) fn take(&mut self) -> Result<Option<Order>> {
        loop {
            let received = persist(|| self.signals.read_signal()).context("can't read signals")?;
            let Some(info) = received else { return Ok(None) };
            let signal = i32::try_from(info.ssi_signo)?;
            match signal {
                // For a write of its own that fails: the write returns an error.
                SIGPIPE | SIGXFSZ if !is_sent(&info) => {}
                // The limit of its own processor time.
                SIGXCPU if !is_sent(&info) => sys::die_of(signal),
                _ if info.ssi_code == SI_KERNEL && self.keys.contains(&signal) => {
                    return Ok(Some(Order::Key(signal)));
                }
                // `kill 0` in the command has reached it, too.
                _ if self.has_terminal && is_from_below(&info) => return Ok(Some(Order::Key(signal))),
                _ => return Ok(Some(Order::Signal(signal))),
            }
        }
    }

    /// All signals that have arrived, unless they can't be read.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = i32> {
        iter::from_fn(|| Some(self.take().ok()??.signal()))
    }
}

impl AsFd for CaughtSignals {
    /// Readable when signals have arrived.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }
}

/// Whether a descendant of this process has sent this signal.
fn is_from_below(info: &siginfo) -> bool {
    let own = getpid().as_raw();
    let sender = i32::try_from(info.ssi_pid).ok().filter(|_| info.ssi_code <= 0).map(Pid::from_raw);
    sender.is_some_and(|sender| proc_stat::lineage(sender).any(|process| process.parent == own))
}

/// Whether another process has sent this signal.
fn is_sent(info: &siginfo) -> bool {
    info.ssi_code <= 0 && i32::try_from(info.ssi_pid) != Ok(getpid().as_raw())
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::{SigSet, SigmaskHow, Signal, raise};

    use super::*;

    #[test]
    fn a_signal_is_received_once_and_none_of_its_own_failed_writes() -> Result<()> {
        let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
        let inherited = InheritedState { mask, ignores_children: false, has_terminal: false, nice: None };
        let mut signals = CaughtSignals::listen(&inherited)?;
        for signal in [Signal::SIGXFSZ, Signal::SIGURG, Signal::SIGURG] {
            raise(signal)?;
        }
        assert_eq!(signals.drain().collect::<Vec<_>>(), [SIGURG]);
        Ok(())
    }
}
