//! The clock that leases and deadlines are read from.
//!
//! `CLOCK_BOOTTIME` never jumps and goes on while the machine sleeps. [`std::time::Instant`] stands still
//! then, so a laptop closed for an hour would still believe in a lock that was given away long ago.

use std::ops::Add;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// A moment on `CLOCK_BOOTTIME`: the time since this machine started, sleep included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BootTime(Duration);

impl BootTime {
    /// The present moment.
    ///
    /// # Panics
    /// Where the kernel has no `CLOCK_BOOTTIME`. Linux has had it since 2.6.39, and a lease can't be
    /// counted without it.
    pub fn now() -> Self {
        #[allow(clippy::expect_used, reason = "no lease without a clock: to stop is the only safe answer")]
        let time = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("Linux 2.6.39 or later has CLOCK_BOOTTIME");
        Self(Duration::from(time))
    }

    /// The moment that many nanoseconds after the machine started.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(Duration::from_nanos(nanos))
    }

    /// Nanoseconds since the machine started; saturates after 584 years.
    pub fn as_nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }

    /// How long ago `earlier` was; zero if it is still to come.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// How long it is until `later`; zero if it has passed.
    pub fn until(self, later: Self) -> Duration {
        later.since(self)
    }

    /// This moment moved back, at most to the start of the machine.
    #[must_use]
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span))
    }
}

impl Add<Duration> for BootTime {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_order_and_subtract_without_wrapping() {
        let early = BootTime::from_nanos(5);
        let late = early + Duration::from_nanos(7);
        assert!(early < late);
        assert_eq!(late.since(early), Duration::from_nanos(7));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(early.until(late), Duration::from_nanos(7));
        assert_eq!(early.before(Duration::from_secs(1)), BootTime::from_nanos(0));
        assert_eq!((early + Duration::MAX).as_nanos(), u64::MAX);
    }

    #[test]
    fn now_moves_forward() {
        let first = BootTime::now();
        assert!(BootTime::now() >= first);
    }
}
