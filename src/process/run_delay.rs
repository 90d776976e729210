//! How long the host lets zklock wait for a processor.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;
use std::{fs, io};

use super::proc_file;

/// The time for which threads of this process could run and didn't, because other processes ran, or because their control
/// group had used up its quota. The kernel counts it: the second number of `schedstat`
/// (Documentation/scheduler/sched-stats.rst). No file is kept open: zklock must work with few descriptors.
#[derive(Debug, Default)]
pub struct RunDelay {
    /// In nanoseconds, of each thread, by its name in `/proc`.
    counted: BTreeMap<OsString, u64>,
}

impl RunDelay {
    /// How long the thread that waited longest has waited since the last call, or since it was started. Threads may wait at the
    /// same time, so their times aren't added up. Zero where the kernel doesn't tell.
    pub fn since_last(&mut self) -> Duration {
        let Ok(counted) = of_threads() else { return Duration::ZERO };
        let since = |(thread, now): (&OsString, &u64)| {
            now.saturating_sub(self.counted.get(thread).copied().unwrap_or_default())
        };
        let longest = counted.iter().map(since).max().unwrap_or_default();
        self.counted = counted;
        Duration::from_nanos(longest)
    }
}

fn of_threads() -> io::Result<BTreeMap<OsString, u64>> {
    let threads = fs::read_dir("/proc/self/task")?.flatten();
    let told = threads.filter_map(|thread| {
        let told = proc_file::read(thread.path().join("schedstat")).ok()?;
        Some((thread.file_name(), run_delay(&told)?))
    });
    Ok(told.collect())
}

fn run_delay(told: &str) -> Option<u64> {
    told.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::hint::spin_loop;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_second_number_counts() {
        assert_eq!(run_delay("910191 365495 2\n"), Some(365_495));
        assert_eq!(run_delay("910191\n"), None);
        assert_eq!(run_delay(""), None);
    }

    /// Three busy threads for each processor take turns.
    #[test]
    fn threads_that_wait_for_a_processor_are_counted() {
        if of_threads().is_ok_and(|counted| counted.is_empty()) {
            return; // as under gVisor
        }
        let busy = thread::available_parallelism().map_or(1, usize::from) * 3;
        let is_over = AtomicBool::new(false);
        let delayed = thread::scope(|scope| {
            for _ in 0..busy {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        spin_loop();
                    }
                });
            }
            let (mut delay, began) = (RunDelay::default(), Instant::now());
            delay.since_last();
            let mut delayed = Duration::ZERO;
            while delayed.is_zero() && began.elapsed() < Duration::from_mins(1) {
                thread::yield_now();
                delayed = delay.since_last();
            }
            is_over.store(true, Ordering::Relaxed);
            delayed
        });
        assert!(!delayed.is_zero());
        assert!(!RunDelay::default().since_last().is_zero(), "at first, all since a thread's start");
    }
}
