//! Waits for a condition with a deadline, so that no test depends on a fixed sleep.

use std::thread;
use std::time::{Duration, Instant};

/// A deadline for things that normally take milliseconds. It is long, so that no test fails on a busy machine.
pub const DEADLINE: Duration = Duration::from_mins(1);

const POLL: Duration = Duration::from_millis(3);

/// Waits until `condition` holds, and panics with `what` if it doesn't hold in time.
#[track_caller]
pub fn wait_until(what: &str, within: Duration, mut condition: impl FnMut() -> bool) {
    wait_for(what, within, || condition().then_some(()));
}

/// Waits until `probe` returns something, and panics with `what` if it doesn't in time.
#[track_caller]
pub fn wait_for<T>(what: &str, within: Duration, mut probe: impl FnMut() -> Option<T>) -> T {
    try_for(within, &mut probe).unwrap_or_else(|| panic!("waited {within:?} in vain for: {what}"))
}

/// Lets this much time pass.
pub fn pass_time(time: Duration) {
    assert!(try_for(time, || None::<()>).is_none());
}

/// Waits until `probe` returns something; returns `None` if it doesn't in time.
pub fn try_for<T>(within: Duration, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + within;
    loop {
        if let Some(found) = probe() {
            return Some(found);
        }
        if Instant::now() >= deadline {
            return None;
        }
        thread::sleep(POLL);
    }
}
