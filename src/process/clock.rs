//! The clock for leases and deadlines: it runs as fast as the faster of two system clocks.
//!
//! `CLOCK_BOOTTIME` never jumps and advances while the machine sleeps. [`std::time::Instant`] stands still then, so
//! after an hour of sleep a laptop would still count its lock as held, although another contender got it long ago. But
//! `CLOCK_BOOTTIME` is slewed: chrony may slow it down by 8.3 %, 2.5 s of 30. `CLOCK_MONOTONIC_RAW` isn't slewed, but
//! stands still during sleep.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::ensure;
use jiff::Timestamp;
use nix::time::{ClockId, clock_gettime};
use zklock_core::protocol::ServerTime;
use zklock_core::time::BootTime;

/// Refuses libfaketime in this process: a lease that is counted on its clocks may never end.
///
/// # Errors
/// If `LD_PRELOAD` names it.
pub fn refuse_faketime() -> anyhow::Result<()> {
    let preloaded = std::env::var_os("LD_PRELOAD").unwrap_or_default();
    ensure!(
        !preloaded.to_string_lossy().contains("faketime"),
        "LD_PRELOAD names libfaketime, and a lock needs the real time: fake it for the command only, as in zklock PATH -- \
         faketime DATE COMMAND"
    );
    Ok(())
}

/// The time by this host's wall clock, for people only.
pub fn host_time() -> ServerTime {
    ServerTime(Timestamp::now().as_millisecond())
}

/// A moment on the system's clocks, for another process. The moment has come when either clock has reached its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnClocks {
    /// Nanoseconds on `CLOCK_BOOTTIME`.
    pub boot: u64,
    /// Nanoseconds on `CLOCK_MONOTONIC_RAW`.
    pub raw: u64,
}

/// The last readings of the two clocks, and how much time had passed by then.
#[derive(Debug, Clone, Copy)]
struct Reading {
    boot: Duration,
    raw: Duration,
    passed: Duration,
}

impl Reading {
    const START: Self = Self { boot: Duration::ZERO, raw: Duration::ZERO, passed: Duration::ZERO };

    /// Advances to later readings. The steps add up to at least what each clock has advanced in total.
    fn advance(&mut self, boot: Duration, raw: Duration) {
        let (by_boot, by_raw) = (boot.saturating_sub(self.boot), raw.saturating_sub(self.raw));
        self.passed += by_boot.max(by_raw);
        (self.boot, self.raw) = (boot, raw);
    }

    fn is_new(self) -> bool {
        self.boot.is_zero()
    }
}

/// The two clocks count as read at the same time if reading them took less than this.
const READ_WITHIN: Duration = Duration::from_millis(1);

/// The attempts to read both clocks within [`READ_WITHIN`]. After that, any readings are used.
const READ_TRIES: usize = 5;

static LAST: Mutex<Reading> = Mutex::new(Reading::START);

fn read() -> Reading {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    #[allow(clippy::expect_used, reason = "no lease without a clock: to stop is the only safe answer")]
    let time = |clock| Duration::from(clock_gettime(clock).expect("Linux 2.6.39 or later has both clocks"));
    // A standstill between the two readings would count twice, and a lease would seem to end too early.
    let at_once = || {
        let (boot, raw) = (time(ClockId::CLOCK_BOOTTIME), time(ClockId::CLOCK_MONOTONIC_RAW));
        (time(ClockId::CLOCK_BOOTTIME).saturating_sub(boot) < READ_WITHIN).then_some((boot, raw))
    };
    let both = || (time(ClockId::CLOCK_BOOTTIME), time(ClockId::CLOCK_MONOTONIC_RAW));
    let (boot, raw) = (0..READ_TRIES).find_map(|_| at_once()).unwrap_or_else(both);
    if last.is_new() {
        *last = Reading { boot, raw, passed: boot };
    } else {
        last.advance(boot, raw);
    }
    *last
}

/// The current time.
///
/// # Panics
/// If the kernel has no `CLOCK_BOOTTIME`. Linux has had it since 2.6.39, and a lease can't be counted without it.
pub fn now() -> BootTime {
    BootTime::from_start(read().passed)
}

/// This moment on the system's clocks, at their current rates.
pub fn on_clocks(moment: BootTime) -> OnClocks {
    let Reading { boot, raw, passed } = read();
    let moment = moment.since_start();
    let (left, ago) = (moment.saturating_sub(passed), passed.saturating_sub(moment));
    let on = |clock: Duration| nanos(clock.saturating_add(left).saturating_sub(ago));
    OnClocks { boot: on(boot), raw: on(raw) }
}

/// Whether a moment on the clocks has come. A clock that can't be read doesn't count as earlier.
///
/// Takes no lock: the child of a start shares this process's memory, and can be killed at any time.
pub fn has_come(moment: OnClocks) -> bool {
    let is_before = |clock, value| clock_gettime(clock).is_ok_and(|time| nanos(time.into()) < value);
    !is_before(ClockId::CLOCK_BOOTTIME, moment.boot) || !is_before(ClockId::CLOCK_MONOTONIC_RAW, moment.raw)
}

/// A moment that another process put [on the clocks](on_clocks).
pub fn from_clocks(moment: OnClocks) -> BootTime {
    let Reading { boot, raw, passed } = read();
    let (on_boot, on_raw) = (Duration::from_nanos(moment.boot), Duration::from_nanos(moment.raw));
    let left = on_boot.saturating_sub(boot).min(on_raw.saturating_sub(raw));
    let ago = boot.saturating_sub(on_boot).max(raw.saturating_sub(on_raw));
    BootTime::from_start((passed + left).saturating_sub(ago))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn a_moment_on_the_clocks_comes() {
        let moment = on_clocks(now() + Duration::from_mins(1));
        assert!(!has_come(moment));
        assert!(has_come(OnClocks { boot: 0, ..moment }));
        assert!(has_come(OnClocks { raw: 0, ..moment }));
        assert!(has_come(on_clocks(now())));
    }

    /// The child of a start shares the memory, and can be killed while it has a lock.
    #[test]
    fn whether_a_moment_has_come_is_found_out_without_a_lock() {
        let moment = on_clocks(now());
        let locked = LAST.lock().unwrap();
        let (sender, answer) = mpsc::channel();
        thread::spawn(move || sender.send(has_come(moment)));
        assert_eq!(answer.recv_timeout(Duration::from_secs(10)), Ok(true));
        drop(locked);
    }

    #[test]
    fn now_moves_forward() {
        let first = now();
        assert!(now() >= first);
    }

    /// The time that passes when the clocks advance by these numbers of seconds in each step.
    fn passed(steps: &[(f64, f64)]) -> f64 {
        let mut reading =
            Reading { boot: Duration::from_secs(7), raw: Duration::from_secs(3), passed: Duration::ZERO };
        for &(boot, raw) in steps {
            let (boot, raw) = (Duration::from_secs_f64(boot), Duration::from_secs_f64(raw));
            reading.advance(reading.boot + boot, reading.raw + raw);
        }
        reading.passed.as_secs_f64()
    }

    #[test]
    fn time_passes_as_on_the_faster_clock() {
        let close = |steps: &[(f64, f64)], expected: f64| {
            let passed = passed(steps);
            assert!((passed - expected).abs() < 1e-6, "{steps:?}: {passed}");
        };
        close(&[(27.5, 30.0)], 30.0);
        close(&[(3600.0, 1.0)], 3600.0);
        close(&[(1.0, 1.0), (0.9, 1.0), (1.1, 1.0)], 3.1);
        close(&[(0.9, 1.0); 30], 30.0);
    }

    #[test]
    fn another_process_can_read_a_moment_put_on_the_clocks() {
        let soon = now() + Duration::from_secs(5);
        let OnClocks { boot, raw } = on_clocks(soon);
        let near = |moment: OnClocks, left: f64| {
            let found = now().until(from_clocks(moment)).as_secs_f64();
            assert!((found - left).abs() < 1.0, "{found}");
        };
        near(OnClocks { boot, raw }, 5.0);
        near(OnClocks { boot: boot - 2_000_000_000, raw }, 3.0);
        near(OnClocks { boot, raw: raw - 3_000_000_000 }, 2.0);
        let gone = OnClocks { boot, raw: raw - 9_000_000_000 };
        assert!(now().since(from_clocks(gone)) >= Duration::from_secs(4));
        let past = on_clocks(now().before(Duration::from_secs(1)));
        assert!(past.boot < boot - 5_000_000_000 && past.raw < raw - 5_000_000_000);
    }
}
