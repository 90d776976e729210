//! Signals that somebody sends to zklock, turned into events.

use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

use crate::event::{Emitter, Event};

/// What is passed on to the job, besides SIGINT; SIGTSTP is what Ctrl-Z sends.
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

/// Where caught signals arrive.
#[derive(Debug)]
pub struct Arrivals(SignalDelivery<UnixStream, SignalOnly>);

impl Arrivals {
    /// Those that arrived since the last time, each once. In which order they came nobody knows; SIGCONT takes a stop
    /// with it, since going on where a stop was meant does less harm than a stop where going on was.
    pub fn events(&mut self) -> Vec<Event> {
        let signals = self.0.pending().filter_map(|number| Signal::try_from(number).ok());
        let mut signals: Vec<Signal> = signals.collect();
        if signals.contains(&Signal::SIGCONT) {
            signals.retain(|&signal| signal != Signal::SIGTSTP);
        }
        let event = |signal| match signal {
            Signal::SIGCHLD => Event::Child,
            signal => Event::Signal(signal),
        };
        signals.into_iter().map(event).collect()
    }
}

impl AsFd for Arrivals {
    /// Can be read from when some have arrived.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_read().as_fd()
    }
}

/// Begins to listen. A signal that is ignored already stays so: nohup and `&` in a script mean it. But zklock must hear
/// of its children: with where signals arrive comes whether SIGCHLD was ignored.
pub fn listen(events: &Emitter) -> Result<(Arrivals, bool)> {
    let ignored = ignored();
    if !contains(ignored, Signal::SIGINT) {
        let events = events.clone();
        // ctrlc before signal-hook: the other way round signal-hook goes deaf.
        ctrlc::try_set_handler(move || events.emit(Event::Signal(Signal::SIGINT)))
            .context("can't catch SIGINT")?;
    }
    let wanted = CAUGHT.into_iter().filter(|&signal| !contains(ignored, signal)).chain([Signal::SIGCHLD]);
    let wanted: Vec<i32> = wanted.map(|signal| signal as i32).collect();
    // Whoever started zklock may have blocked it: without it the end of the command goes unnoticed.
    SigSet::from(Signal::SIGCHLD).thread_unblock().context("can't unblock SIGCHLD")?;
    let (read, write) = UnixStream::pair().context("can't make a pipe for signals")?;
    let arrivals =
        SignalDelivery::with_pipe(read, write, SignalOnly, &wanted).context("can't catch signals")?;
    Ok((Arrivals(arrivals), contains(ignored, Signal::SIGCHLD)))
}

/// The mask of signals that are ignored, as the kernel tells it.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    parse_mask(&status).unwrap_or_default()
}

fn parse_mask(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

fn contains(mask: u64, signal: Signal) -> bool {
    mask & (1 << (signal as i32 - 1)) != 0
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::raise;

    use super::*;

    #[test]
    fn each_signal_is_told_once_and_none_to_stop_beside_one_to_go_on() -> std::io::Result<()> {
        let wanted = [Signal::SIGCONT, Signal::SIGTSTP, Signal::SIGURG];
        let (read, write) = UnixStream::pair()?;
        let numbers = wanted.map(|signal| signal as i32);
        let mut arrivals = Arrivals(SignalDelivery::with_pipe(read, write, SignalOnly, numbers)?);
        assert!(arrivals.events().is_empty());
        for signal in wanted.into_iter().chain(wanted) {
            raise(signal)?;
        }
        let told: Vec<_> = arrivals.events().iter().map(|event| format!("{event:?}")).collect();
        assert_eq!(told, ["Signal(SIGCONT)", "Signal(SIGURG)"]);
        raise(Signal::SIGTSTP)?;
        assert!(matches!(arrivals.events()[..], [Event::Signal(Signal::SIGTSTP)]));
        assert!(arrivals.events().is_empty());
        Ok(())
    }

    #[test]
    fn the_mask_counts_from_one() {
        let mask = parse_mask("Name:\tzklock\nSigIgn:\t0000000000001001\nSigCgt:\t0\n").unwrap_or_default();
        assert!(contains(mask, Signal::SIGHUP) && contains(mask, Signal::SIGPIPE));
        assert!(!contains(mask, Signal::SIGINT));
        assert_eq!(parse_mask("nothing"), None);
    }
}
