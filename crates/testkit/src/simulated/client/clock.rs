//! A host's clocks, which differ from virtual time.

use super::message::BootTime;

/// Clocks that start at another value than virtual time and run at another rate. While the host sleeps, its boot clock
/// continues and its monotonic clock stops.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostClock {
    /// The value at virtual time 0, in nanoseconds.
    pub start: u64,
    /// How many parts per billion the clocks run too fast.
    pub drift_ppb: i64,
    /// How long the host has slept, by its boot clock.
    pub slept: u64,
}

const BILLION: i128 = 1_000_000_000;

impl HostClock {
    /// The boot clock's value at a virtual time.
    pub fn boot(self, time: u64) -> u64 {
        if self.drift_ppb == 0 {
            return self.start + time;
        }
        let shown = i128::from(time) * (BILLION + i128::from(self.drift_ppb)) / BILLION;
        self.start + u64::try_from(shown).unwrap_or(0)
    }

    /// The monotonic clock's value at a virtual time. The client library's timers use this clock.
    pub fn monotonic(self, time: u64) -> u64 {
        self.boot(time) - self.slept
    }

    /// The first virtual time at which the monotonic clock shows this value.
    pub fn when(self, shown: u64) -> u64 {
        let since = (shown + self.slept).saturating_sub(self.start);
        if self.drift_ppb == 0 {
            return since;
        }
        let rate = BILLION + i128::from(self.drift_ppb);
        u64::try_from((i128::from(since) * BILLION + rate - 1) / rate).unwrap_or(u64::MAX)
    }

    /// The time as `process::clock` reports it to the core.
    pub fn boot_time(self, time: u64) -> BootTime {
        BootTime::from_nanos(self.boot(time))
    }
}
