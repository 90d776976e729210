//! The clock of a run. It never decides an order: only the history does.

use nix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Time since the machine started: the same in every process.
pub fn now() -> Duration {
    Duration::from(clock_gettime(ClockId::CLOCK_BOOTTIME).expect("a clock"))
}

/// The moment that [`now`] counts from, on the clock that servers write into their logs.
pub fn epoch() -> Duration {
    let wall = Duration::from(clock_gettime(ClockId::CLOCK_REALTIME).expect("a clock"));
    wall.saturating_sub(now())
}

/// Sleeps until the time is over or `stop` is set.
pub fn nap(span: Duration, stop: &AtomicBool) {
    let until = Instant::now() + span;
    while !stop.load(Ordering::SeqCst) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(Duration::from_millis(20)));
    }
}
