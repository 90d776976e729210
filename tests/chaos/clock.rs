//! The one clock of a run. Order is never read from it: that is the history's.

use nix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Time since the machine started: the same in every process.
pub(crate) fn now() -> Duration {
    Duration::from(clock_gettime(ClockId::CLOCK_BOOTTIME).expect("a clock"))
}

/// Sleeps, but not longer than until `stop` is set.
pub(crate) fn nap(span: Duration, stop: &AtomicBool) {
    let until = Instant::now() + span;
    while !stop.load(Ordering::SeqCst) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(Duration::from_millis(20)));
    }
}
