//! A host's clock, apart from virtual time.

use super::message::BootTime;

/// A clock that was started at another moment, and runs at another rate.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HostClock {
    /// What it shows at virtual time 0, in nanoseconds.
    pub(crate) start: u64,
    /// How many parts in a thousand million it is too fast.
    pub(crate) drift_ppb: i64,
}

const BILLION: i128 = 1_000_000_000;

impl HostClock {
    /// What it shows at a virtual time.
    pub(crate) fn at(self, time: u64) -> u64 {
        if self.drift_ppb == 0 {
            return self.start + time;
        }
        let shown = i128::from(time) * (BILLION + i128::from(self.drift_ppb)) / BILLION;
        self.start + u64::try_from(shown).unwrap_or(0)
    }

    /// The first virtual time at which it shows this.
    pub(crate) fn when(self, shown: u64) -> u64 {
        let since = shown.saturating_sub(self.start);
        if self.drift_ppb == 0 {
            return since;
        }
        let rate = BILLION + i128::from(self.drift_ppb);
        u64::try_from((i128::from(since) * BILLION + rate - 1) / rate).unwrap_or(u64::MAX)
    }

    pub(crate) fn boot_time(self, time: u64) -> BootTime {
        BootTime::from_nanos(self.at(time))
    }
}
