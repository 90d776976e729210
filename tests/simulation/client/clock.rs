//! A host's clocks, apart from virtual time.

use super::message::{BootTime, Mistake, planted};

/// Clocks that were started at another moment, and run at another rate. While the host sleeps, its boot clock goes on and
/// its monotonic clock stands still.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HostClock {
    /// What they show at virtual time 0, in nanoseconds.
    pub(crate) start: u64,
    /// How many parts in a thousand million they are too fast.
    pub(crate) drift_ppb: i64,
    /// How long the host has slept, by its boot clock.
    pub(crate) slept: u64,
}

const BILLION: i128 = 1_000_000_000;

impl HostClock {
    /// What the boot clock shows at a virtual time.
    pub(crate) fn boot(self, time: u64) -> u64 {
        if self.drift_ppb == 0 {
            return self.start + time;
        }
        let shown = i128::from(time) * (BILLION + i128::from(self.drift_ppb)) / BILLION;
        self.start + u64::try_from(shown).unwrap_or(0)
    }

    /// What the monotonic clock shows, which the timers of the client library go by.
    pub(crate) fn monotonic(self, time: u64) -> u64 {
        self.boot(time) - self.slept
    }

    /// The first virtual time at which the monotonic clock shows this.
    pub(crate) fn when(self, shown: u64) -> u64 {
        let since = (shown + self.slept).saturating_sub(self.start);
        if self.drift_ppb == 0 {
            return since;
        }
        let rate = BILLION + i128::from(self.drift_ppb);
        u64::try_from((i128::from(since) * BILLION + rate - 1) / rate).unwrap_or(u64::MAX)
    }

    /// The moment as `runtime::clock` gives it to the core.
    pub(crate) fn boot_time(self, time: u64) -> BootTime {
        let sleeps = planted(Mistake::SleepUncounted);
        BootTime::from_nanos(if sleeps { self.monotonic(time) } else { self.boot(time) })
    }
}
