//! Ctrl-C and TERM while servers are asked: the session is closed before zklock ends, so that nothing is left behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether somebody wants an end.
pub(super) struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// From now on the first signal is remembered. The second ends the process at once.
    pub(super) fn new() -> Result<Self> {
        let (came, which) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        for signal in [SIGINT, SIGTERM] {
            let number = usize::try_from(signal)?;
            flag::register_conditional_default(signal, Arc::clone(&came))
                .and_then(|_| flag::register(signal, Arc::clone(&came)))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&which), number))
                .context("can't handle signals")?;
        }
        Ok(Self(which))
    }

    /// The signal that came, if any.
    pub(super) fn signal(&self) -> Option<i32> {
        i32::try_from(self.0.load(Ordering::SeqCst)).ok().filter(|&signal| signal != 0)
    }
}
