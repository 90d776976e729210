//! Waits for a condition with a deadline, so that no test depends on a fixed sleep.
//!
//! Machines are late: beside other load, what usually takes milliseconds takes seconds. All allowances for that are here. What
//! has to happen has [`DEADLINE`], what has to be quick has [`LATE`] on top of its own time, and a lock that a test
//! must not lose has a session of [`STEADY`]. Where a machine may be too late for a moment that a test needs, the test
//! tries again until it meets it.

use std::thread;
use std::time::{Duration, Instant};

/// The time for things that usually take milliseconds.
pub const DEADLINE: Duration = Duration::from_mins(1);

/// How much later than its own time something may happen.
pub const LATE: Duration = Duration::from_secs(20);

/// The session timeout in seconds of a lock that isn't lost because a machine is late, and needs no confirmation in a short
/// test.
pub const STEADY: &str = "60";

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
