//! Ctrl-C and TERM during `check`: the session is closed before zklock ends, so that no node is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The first of these signals, if one has arrived.
pub(super) struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// Remembers the first signal from now on. The second one ends the process immediately.
    pub(super) fn new() -> Result<Self> {
        let (arrived, which) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        for signal in [SIGINT, SIGTERM] {
            let number = usize::try_from(signal)?;
            flag::register_conditional_default(signal, Arc::clone(&arrived))
                .and_then(|_| flag::register(signal, Arc::clone(&arrived)))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&which), number))
                .context("can't handle signals")?;
        }
        Ok(Self(which))
    }

    /// The number of the signal that has arrived, if any.
    pub(super) fn signal(&self) -> Option<i32> {
        i32::try_from(self.0.load(Ordering::SeqCst)).ok().filter(|&signal| signal != 0)
    }
}
