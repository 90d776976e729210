//! Signals that somebody sends to zklock, turned into events.

use std::fs;
use std::thread;

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal};
use signal_hook::iterator::Signals;

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

/// The signals that zklock catches, by number, as the command is to find them again.
#[derive(Debug, Clone)]
pub struct Caught {
    /// Those that had their default disposition.
    pub default: Vec<i32>,
    /// Those that were ignored and are caught all the same: zklock must hear of its children.
    pub ignored: Vec<i32>,
}

/// Begins to listen. A signal that is ignored already stays so: nohup and `&` in a script mean it.
pub fn listen(events: &Emitter) -> Result<Caught> {
    let ignored = ignored();
    if !contains(ignored, Signal::SIGINT) {
        let events = events.clone();
        // ctrlc before signal-hook: the other way round signal-hook goes deaf.
        ctrlc::try_set_handler(move || events.emit(Event::Signal(Signal::SIGINT)))
            .context("can't catch SIGINT")?;
    }
    let wanted = CAUGHT.into_iter().filter(|&signal| !contains(ignored, signal)).chain([Signal::SIGCHLD]);
    let wanted: Vec<i32> = wanted.map(|signal| signal as i32).collect();
    let mut signals = Signals::new(&wanted).context("can't catch signals")?;
    let events = events.clone();
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            // Whoever started zklock may have blocked it: without it the end of the command goes unnoticed.
            let _ = SigSet::from(Signal::SIGCHLD).thread_unblock();
            for signal in signals.forever().filter_map(|number| Signal::try_from(number).ok()) {
                events.emit(if signal == Signal::SIGCHLD { Event::Child } else { Event::Signal(signal) });
            }
        })
        .context("can't start the thread that listens to signals")?;
    let int = Some(Signal::SIGINT as i32).filter(|_| !contains(ignored, Signal::SIGINT));
    let is_ignored = |&number: &i32| Signal::try_from(number).is_ok_and(|signal| contains(ignored, signal));
    let (ignored, default) = wanted.into_iter().chain(int).partition(is_ignored);
    Ok(Caught { default, ignored })
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
    use super::*;

    #[test]
    fn the_mask_counts_from_one() {
        let mask = parse_mask("Name:\tzklock\nSigIgn:\t0000000000001001\nSigCgt:\t0\n").unwrap_or_default();
        assert!(contains(mask, Signal::SIGHUP) && contains(mask, Signal::SIGPIPE));
        assert!(!contains(mask, Signal::SIGINT));
        assert_eq!(parse_mask("nothing"), None);
    }
}
