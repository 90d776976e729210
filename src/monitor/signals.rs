//! The signals sent to zklock, as received by the monitor.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use anyhow::{Context, Result};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{SigSet, Signal};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

use crate::process::sys;

/// The signals forwarded to the worker in addition to SIGINT; Ctrl-Z sends SIGTSTP.
const CAUGHT: [Signal; 9] = [
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGWINCH,
    Signal::SIGCONT,
    Signal::SIGTSTP,
];

/// Receives the caught signals.
#[derive(Debug)]
pub(super) struct CaughtSignals {
    interrupts: Arc<EventFd>,
    others: SignalDelivery<UnixStream, SignalOnly>,
}

impl CaughtSignals {
    /// Starts to listen. A signal that is already ignored stays ignored: nohup and `&` in a script intend that. A
    /// signal that was blocked (`mask`) stays blocked. SIGCHLD is always received.
    pub(super) fn listen(mask: &SigSet) -> Result<Self> {
        let is_wanted = |signal: &Signal| !sys::is_ignored(*signal as i32) && !mask.contains(*signal);
        let interrupts = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
            .context("can't make a channel for SIGINT")?;
        let interrupts = Arc::new(interrupts);
        if is_wanted(&Signal::SIGINT) {
            let bell = Arc::clone(&interrupts);
            // ctrlc must come before signal-hook: otherwise signal-hook stops receiving signals. The thread of ctrlc is
            // started while every signal is blocked, so no signal is ever delivered to it.
            ctrlc::try_set_handler(move || {
                let _ = bell.write(1);
            })
            .map_err(|error| match error {
                ctrlc::Error::System(error) => anyhow::Error::new(error),
                error => error.into(),
            })
            .context("can't catch SIGINT")?;
        }
        let wanted = CAUGHT.into_iter().filter(is_wanted).chain([Signal::SIGCHLD]);
        let others = deliver(wanted).context("can't catch signals")?;
        let mut mask = *mask;
        mask.remove(Signal::SIGCHLD);
        mask.thread_set_mask().context("can't unblock signals")?;
        Ok(Self { interrupts, others })
    }

    /// The signals that have arrived since the last call, each once. Their order is unknown; SIGCONT cancels a stop,
    /// because continuing by mistake does less harm than stopping by mistake.
    pub(super) fn take(&mut self) -> Vec<Signal> {
        let interrupted = self.interrupts.read().is_ok().then_some(Signal::SIGINT);
        let others = self.others.pending().filter_map(|number| Signal::try_from(number).ok());
        let mut signals: Vec<Signal> = interrupted.into_iter().chain(others).collect();
        if signals.contains(&Signal::SIGCONT) {
            signals.retain(|&signal| signal != Signal::SIGTSTP);
        }
        signals
    }

    /// Readable when signals have arrived.
    pub(super) fn sources(&self) -> [BorrowedFd<'_>; 2] {
        [self.interrupts.as_fd(), self.others.get_read().as_fd()]
    }
}

fn deliver(signals: impl Iterator<Item = Signal>) -> Result<SignalDelivery<UnixStream, SignalOnly>> {
    let (read, write) = UnixStream::pair()?;
    Ok(SignalDelivery::with_pipe(read, write, SignalOnly, signals.map(|signal| signal as i32))?)
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::raise;

    use super::*;

    #[test]
    fn each_signal_is_reported_once_and_a_continue_cancels_a_stop() -> Result<()> {
        let wanted = [Signal::SIGCONT, Signal::SIGTSTP, Signal::SIGURG];
        let interrupts = Arc::new(EventFd::from_flags(EfdFlags::EFD_NONBLOCK)?);
        let mut signals = CaughtSignals { interrupts, others: deliver(wanted.into_iter())? };
        assert_eq!(signals.take(), []);
        for signal in wanted.into_iter().chain(wanted) {
            raise(signal)?;
        }
        signals.interrupts.write(1)?;
        assert_eq!(signals.take(), [Signal::SIGINT, Signal::SIGCONT, Signal::SIGURG]);
        raise(Signal::SIGTSTP)?;
        assert_eq!(signals.take(), [Signal::SIGTSTP]);
        assert_eq!(signals.take(), []);
        Ok(())
    }
}
