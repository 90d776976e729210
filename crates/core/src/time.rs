//! Moments and spans of time, without a clock: whoever reads the clock passes the moment in.

use std::ops::Add;
use std::time::Duration;

/// A moment on zklock's clock, which advances as fast as the faster of `CLOCK_BOOTTIME` and `CLOCK_MONOTONIC_RAW`.
/// It is meaningful only within one process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BootTime(Duration);

impl BootTime {
    /// The moment this long after the start of time.
    pub const fn from_start(span: Duration) -> Self {
        Self(span)
    }

    /// The moment this many nanoseconds after the start of time.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(Duration::from_nanos(nanos))
    }

    /// The time from the start of time until this moment.
    pub const fn since_start(self) -> Duration {
        self.0
    }

    /// How long ago `earlier` was; zero if it is in the future.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// How long it is until `later`; zero if it has passed.
    pub fn until(self, later: Self) -> Duration {
        later.since(self)
    }

    /// This moment moved back, at most to the start of time.
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
    fn moments_are_ordered_and_subtract_without_wrapping() {
        let early = BootTime::from_nanos(5);
        let late = early + Duration::from_nanos(7);
        assert!(early < late);
        assert_eq!(late.since(early), Duration::from_nanos(7));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(early.until(late), Duration::from_nanos(7));
        assert_eq!(early.before(Duration::from_secs(1)), BootTime::from_nanos(0));
        assert_eq!((early + Duration::MAX).since_start(), Duration::MAX);
    }
}
