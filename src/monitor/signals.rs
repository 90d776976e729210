//! The signals sent to zklock, as received by the monitor.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use anyhow::{Context, Result};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{SigSet, Signal};
use zklock_core::signal::{
    RTMAX, RTMIN, SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGIO, SIGPIPE, SIGPROF, SIGPWR, SIGQUIT,
    SIGSTKFLT, SIGTERM, SIGTSTP, SIGURG, SIGUSR1, SIGUSR2, SIGVTALRM, SIGWINCH, SIGXCPU, SIGXFSZ,
};

use crate::process::persist::reset;
use crate::process::sys::{self, Arrivals};

/// The signals forwarded to the worker in addition to SIGINT and the real-time ones: all that can be caught, except for
/// faults of zklock's own, and for a stop because of the terminal, which Ctrl-Z's SIGTSTP isn't.
const CAUGHT: [i32; 18] = [
    SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT, SIGTSTP, SIGPIPE, SIGSTKFLT,
    SIGURG, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGIO, SIGPWR,
];

/// Receives the caught signals.
#[derive(Debug)]
pub(super) struct CaughtSignals {
    interrupts: Arc<EventFd>,
    others: Arrivals,
}

impl CaughtSignals {
    /// Starts to listen. A signal that is already ignored stays ignored: nohup and `&` in a script intend that. A
    /// signal that was blocked (`mask`) stays blocked. SIGCHLD is always received.
    pub(super) fn listen(mask: &SigSet) -> Result<Self> {
        let is_wanted = |&signal: &i32| !sys::is_ignored(signal) && !sys::contains(mask, signal);
        let interrupts = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
            .context("can't make a channel for SIGINT")?;
        let interrupts = Arc::new(interrupts);
        if is_wanted(&SIGINT) {
            let bell = Arc::clone(&interrupts);
            // The thread of ctrlc is started while every signal is blocked, so no signal is ever delivered to it.
            ctrlc::try_set_handler(move || {
                let _ = bell.write(1);
            })
            .map_err(|error| match error {
                ctrlc::Error::System(error) => anyhow::Error::new(error),
                error => error.into(),
            })
            .context("can't catch SIGINT")?;
        }
        let wanted = CAUGHT.into_iter().chain(RTMIN..=RTMAX).filter(is_wanted).chain([SIGCHLD]);
        let others = Arrivals::of(wanted).context("can't catch signals")?;
        let mut mask = *mask;
        mask.remove(Signal::SIGCHLD);
        mask.thread_set_mask().context("can't unblock signals")?;
        Ok(Self { interrupts, others })
    }

    /// The signals that have arrived since the last call: a real-time one as often as it arrived, any other once. Their
    /// order is unknown; SIGCONT cancels a stop, because continuing by mistake does less harm than stopping by mistake.
    ///
    /// # Errors
    /// If it can't be known whether signals have arrived.
    pub(super) fn take(&mut self) -> Result<Vec<i32>> {
        let interrupted = reset(&self.interrupts).context("can't read signals")?.then_some(SIGINT);
        let others = self.others.take().context("can't read signals")?;
        let mut signals: Vec<i32> = interrupted.into_iter().chain(others).collect();
        if signals.contains(&SIGCONT) {
            signals.retain(|&signal| signal != SIGTSTP);
        }
        Ok(signals)
    }

    /// Readable when signals have arrived.
    pub(super) fn sources(&self) -> [BorrowedFd<'_>; 2] {
        [self.interrupts.as_fd(), self.others.as_fd()]
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::raise;

    use super::*;

    #[test]
    fn a_continue_cancels_a_stop() -> Result<()> {
        let interrupts = Arc::new(EventFd::from_flags(EfdFlags::EFD_NONBLOCK)?);
        let mut signals = CaughtSignals { interrupts, others: Arrivals::of([SIGCONT, SIGTSTP])? };
        for signal in [Signal::SIGTSTP, Signal::SIGCONT, Signal::SIGTSTP] {
            raise(signal)?;
        }
        signals.interrupts.write(1)?;
        assert_eq!(signals.take()?, [SIGINT, SIGCONT]);
        raise(Signal::SIGTSTP)?;
        assert_eq!(signals.take()?, [SIGTSTP]);
        assert_eq!(signals.take()?, [0; 0]);
        Ok(())
    }
}
