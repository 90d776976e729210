//! Detects faked clocks in this process.
//!
//! A library that is loaded before the C library, such as libfaketime, can replace the functions that read the clocks.
//! Leases counted on a clock that stands still or is slow would never end. The clocks are therefore read a second time
//! without the C library.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use rustix::time::ClockId as KernelClock;
use thiserror::Error;

/// A clock of this process isn't the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "the time is faked in zklock's own process ({0}), as by faketime, and a lock needs the real one: fake it for the \
     command only, as in zklock PATH -- faketime DATE COMMAND"
)]
pub struct FakedClock(&'static str);

/// The clocks for leases and timers. The time of day may be wrong on any host, and decides nothing.
const CLOCKS: [(&str, ClockId, KernelClock); 3] = [
    ("CLOCK_BOOTTIME", ClockId::CLOCK_BOOTTIME, KernelClock::Boottime),
    ("CLOCK_MONOTONIC_RAW", ClockId::CLOCK_MONOTONIC_RAW, KernelClock::MonotonicRaw),
    ("CLOCK_MONOTONIC", ClockId::CLOCK_MONOTONIC, KernelClock::Monotonic),
];

/// A clock that is slowed from the start of the process on differs by more than this about a millisecond later.
const TOLERANCE: Duration = Duration::from_micros(10);

/// A clock counts as faked if it differs this many times in a row, because the host may pause in between.
const TRIES: usize = 5;

/// Refuses to go on if a clock of this process is faked.
///
/// # Errors
/// If a clock of the C library isn't the kernel's. A time namespace changes both, and is no reason.
pub fn refuse_faked_clocks() -> Result<(), FakedClock> {
    let is_faked =
        |&&(_, clock, kernel): &&(&str, ClockId, KernelClock)| !(0..TRIES).any(|_| agree(clock, kernel));
    CLOCKS.iter().find(is_faked).map_or(Ok(()), |&(name, ..)| Err(FakedClock(name)))
}

/// Whether the C library's clock is between two readings of the kernel's. A clock that can't be read isn't faked.
fn agree(clock: ClockId, kernel: KernelClock) -> bool {
    let by_kernel = || Duration::try_from(rustix::time::clock_gettime(kernel)).unwrap_or_default();
    let before = by_kernel();
    let Ok(read) = clock_gettime(clock).map(Duration::from) else { return true };
    is_between(before, read, by_kernel())
}

fn is_between(before: Duration, read: Duration, after: Duration) -> bool {
    read + TOLERANCE >= before && read <= after + TOLERANCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_the_kernel_s_clocks() {
        assert_eq!(refuse_faked_clocks(), Ok(()));
    }

    #[test]
    fn a_clock_that_is_elsewhere_or_was_slowed_for_a_millisecond_is_faked() {
        let at = Duration::from_micros;
        assert!(is_between(at(5_000), at(5_001), at(5_002)));
        for faked in [0, 4_900, 5_100, 1_000_000] {
            assert!(!is_between(at(5_000), at(faked), at(5_002)), "{faked}");
        }
    }
}
