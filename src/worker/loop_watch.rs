//! Watches over the worker's loop from the session's thread, which would keep the session for ever if the loop hung.
//!
//! The monitor does the same. But it may be dead, and it watches only a command whose lock must not be lost.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use nix::unistd::{Pid, getppid};
use zklock_core::exit;
use zklock_core::pair::Stage;
use zklock_core::path::LockPath;
use zklock_core::protocol::{Asker, Reply, SessionChange, SessionKey};
use zklock_core::run::Input;
use zklock_core::time::BootTime;

use crate::ensemble::EventSink;
use crate::job::descendants::{Children, end_all};
use crate::link::Page;
use crate::output;
use crate::process::{clock, sys};
use crate::worker::inbox::Emitter;

/// How many checks there are in a session timeout, and how many may pass without a sign of life. A time would be wrong:
/// a process that was stopped notices at one check how long that was.
const CHECKS: u32 = 12;

/// From this check without a sign of life on, the loop is woken: it may have nothing to do. A waiter confirms twice in
/// this time.
const WAKE_AFTER: u32 = 3;

/// The longest pause between checks when the time to act is near.
const SHORT_PAUSE: Duration = Duration::from_millis(50);

/// The signs of life of the worker's loop.
#[derive(Debug, Default)]
pub(super) struct SignsOfLife(Arc<AtomicU64>);

impl SignsOfLife {
    /// Called by the loop each time round.
    pub(super) fn give(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Passes the session's events to the loop, and watches over it.
#[derive(Debug)]
pub(super) struct WatchedLoop {
    emitter: Emitter,
    signs: Weak<AtomicU64>,
    seen: Cell<u64>,
    /// The checks since the last sign of life.
    missed: Cell<u32>,
    page: Page,
    monitor: Pid,
    path: LockPath,
}

impl WatchedLoop {
    /// Watches over the loop that gives these signs and takes the emitter's events. `path` is for a message.
    pub(super) fn new(
        emitter: Emitter,
        signs: &SignsOfLife,
        page: Page,
        monitor: Pid,
        path: LockPath,
    ) -> Self {
        let (seen, missed) = (Cell::new(0), Cell::new(0));
        Self { emitter, signs: Arc::downgrade(&signs.0), seen, missed, page, monitor, path }
    }

    /// When this thread acts for the loop if the monitor doesn't: a little later than that.
    fn due(&self) -> Option<BootTime> {
        let deadline = self.page.deadline().filter(|_| self.page.stage() == Stage::Running)?;
        Some(deadline.act.max(deadline.latest))
    }

    /// Ends the worker in place of its loop. Until every process of the command is dead, the session is kept.
    fn end_worker(&self) -> ! {
        if self.page.stage() == Stage::Running {
            end_all(&Children::of_this_process(), &[]);
        }
        output::error(&self.path, "the worker process hung; it ends itself");
        output::drain_at_the_end();
        sys::exit_at_once(exit::FAILURE)
    }
}

impl EventSink for WatchedLoop {
    fn session(&self, session: SessionKey, change: SessionChange) {
        self.emitter.emit(Input::Session(session, change));
    }

    fn reply(&self, session: SessionKey, asker: Asker, reply: Reply) {
        self.emitter.emit(Input::Reply(session, asker, reply));
    }

    fn keeps(&self, timeout: Duration) -> Option<Duration> {
        // A loop that has ended has nothing to decide any more.
        let Some(signs) = self.signs.upgrade() else { return Some(Duration::MAX) };
        let signs = signs.load(Ordering::Relaxed);
        let missed = if self.seen.replace(signs) == signs { self.missed.get() + 1 } else { 0 };
        self.missed.set(missed);
        let (step, now) = (timeout / CHECKS, clock::now());
        let left = self.due().map(|due| now.until(due));
        // A loop that was woken in vain before it was due won't act any more.
        if missed > CHECKS || missed > 1 && left == Some(Duration::ZERO) {
            // The command of `--on-lost continue` runs on, and its loop may wake up, as long as the monitor lives.
            let runs_on = self.page.stage() == Stage::Running && left.is_none() && getppid() == self.monitor;
            if runs_on {
                return None;
            }
            self.end_worker();
        }
        let is_near = left.is_some_and(|left| left < step);
        if missed >= WAKE_AFTER || is_near {
            self.emitter.wake();
        }
        Some(if is_near { step.min(SHORT_PAUSE) } else { step })
    }
}
