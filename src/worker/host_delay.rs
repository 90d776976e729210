//! For how long the host holds the worker up.

use std::time::{Duration, Instant};

use zklock_core::time::BootTime;

use crate::process::clock;
use crate::process::run_delay::RunDelay;

/// In a shorter wait the host held up nothing that counts, and the kernel isn't asked: the core notes delays from a 240th of
/// the session timeout on.
const SHORT_WAIT: Duration = Duration::from_millis(4);

/// The kernel is asked at least this often: what was long ago is no delay of this wait.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// The delays so far.
pub(super) struct HostDelay {
    run_delay: RunDelay,
    /// When the kernel was last asked.
    asked: Instant,
    /// Whether a command ran during the last wait.
    ran: bool,
}

impl HostDelay {
    pub(super) fn new() -> Self {
        Self { run_delay: RunDelay::default(), asked: Instant::now(), ran: false }
    }

    /// Waits by `wait`, at most `until`, and returns for how long the host held the worker up then.
    ///
    /// If no command runs, only a late timer counts, and by as much as it is late: a waiter is to cost next to nothing.
    pub(super) fn in_wait<E>(
        &mut self,
        command_runs: bool,
        until: Option<BootTime>,
        wait: impl FnOnce() -> Result<(), E>,
    ) -> Result<Duration, E> {
        if command_runs && !self.ran {
            // What was before the command is no delay of its first wait.
            self.ask();
        }
        self.ran = command_runs;
        let began = Instant::now();
        wait()?;
        let waited = began.elapsed();
        let late = until.map_or(Duration::ZERO, |until| clock::now().since(until));
        let most = if command_runs { waited } else { late.min(waited) };
        if most < SHORT_WAIT && self.asked.elapsed() < ASK_AGAIN {
            return Ok(Duration::ZERO);
        }
        Ok(self.ask().min(most))
    }

    fn ask(&mut self) -> Duration {
        self.asked = Instant::now();
        self.run_delay.since_last()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_waiter_counts_no_delay_of_what_comes_from_outside() {
        let mut delay =
            HostDelay { asked: Instant::now().checked_sub(ASK_AGAIN).unwrap(), ..HostDelay::new() };
        let mut delays = |until| {
            let wait = || {
                thread::sleep(SHORT_WAIT * 2);
                Ok::<(), ()>(())
            };
            delay.in_wait(false, until, wait).unwrap()
        };
        assert_eq!(
            delays(None),
            Duration::ZERO,
            "although the thread's start counts, and the kernel is asked"
        );
        let later = clock::now() + Duration::from_hours(1);
        assert_eq!(delays(Some(later)), Duration::ZERO);
    }
}
