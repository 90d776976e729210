//! `ZKLOCK_HELD`, as whoever starts zklock sets it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use zklock_core::environment::{HELD, environment, held_outside};

/// Nonsense is no lock; what is understood is passed on to the command as it came.
pub fn check(data: &[u8]) {
    let held = held_outside(Some(OsStr::from_bytes(data)));
    for lock in &held {
        let mode = lock.mode();
        assert!(mode.is_none_or(|mode| mode.word() == lock.mode), "{lock:?}");
    }
    let Ok(told) = environment(&held, &[], "") else {
        assert!(held.is_empty());
        return;
    };
    let again = told.iter().find(|(name, _)| *name == HELD).map(|(_, value)| OsStr::new(value));
    assert_eq!(held_outside(again), held);
    // The same lock is not told twice, were it held outside as well.
    let twice = environment(&held, &held, "").map(|told| told.last().cloned());
    assert_eq!(twice.ok().flatten().map(|(_, value)| value), told.last().map(|(_, value)| value.clone()));
}
