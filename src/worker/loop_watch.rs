//! Ends the worker in place of its loop if the loop hangs: in a system call that doesn't return, or in the client library,
//! which only reads while a server never stops talking. The session ends by itself then, because the loop runs it.
//!
//! The monitor does the same. But it may be dead, and it watches only a command whose lock must not be lost.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use zklock_core::exit;
use zklock_core::pair::Stage;
use zklock_core::path::LockPath;
use zklock_core::time::BootTime;

use crate::job::descendants::{Children, end_all};
use crate::link::Page;
use crate::output;
use crate::process::thread::builder;
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

/// What is watched.
pub(super) struct LoopWatch {
    /// The loop takes these events.
    pub(super) events: Emitter,
    pub(super) page: Page,
    /// The session timeout that was asked for: it counts until one is granted.
    pub(super) session_timeout: Duration,
    /// The session timeouts that are granted. Disconnected once the loop is over.
    pub(super) granted: Receiver<Duration>,
    /// For a message.
    pub(super) path: LockPath,
}

impl LoopWatch {
    /// Watches on a thread of its own, until the loop is over.
    pub(super) fn start(self) -> io::Result<()> {
        builder().name("loop watch".to_owned()).spawn(move || self.watch())?;
        Ok(())
    }

    fn watch(&self) {
        let mut step = self.session_timeout / CHECKS;
        let (mut pause, mut missed) = (step, 0);
        loop {
            match self.granted.recv_timeout(pause) {
                Ok(timeout) => {
                    step = timeout / CHECKS;
                    (pause, missed) = (step, 0);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            missed = if self.events.gave_sign() { 0 } else { missed + 1 };
            let left = self.due().map(|due| clock::now().until(due));
            // A loop that was woken in vain before it was due won't act any more.
            let hangs = missed > CHECKS || missed > 1 && left == Some(Duration::ZERO);
            if hangs {
                self.end_worker();
            }
            let is_near = left.is_some_and(|left| left < step);
            if missed >= WAKE_AFTER || is_near {
                self.events.bell().ring();
            }
            pause = if is_near { step.min(SHORT_PAUSE) } else { step };
        }
    }

    /// When this thread acts for the loop if the monitor doesn't.
    fn due(&self) -> Option<BootTime> {
        self.page.deadline().filter(|_| self.page.stage() == Stage::Running)
    }

    /// Ends every process of the command, and then the worker.
    fn end_worker(&self) -> ! {
        if self.page.stage() == Stage::Running
            && let Ok(children) = Children::of_this_process()
        {
            end_all(&children, &[]);
        }
        output::error(&self.path, "the worker process hung; it ends itself");
        output::drain(output::WHILE_HELD);
        sys::exit_at_once(exit::FAILURE)
    }
}
