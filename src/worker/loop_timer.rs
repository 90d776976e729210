//! Ends the worker by the kernel's timers if its loop hangs: in a system call that doesn't return, or in the client library,
//! which only reads while a server never stops talking. The session ends by itself then, because the loop runs it.
//!
//! The monitor does the same for a running command, a moment earlier. But it may be dead or stopped.

use std::time::Duration;

use nix::sys::signal::{SigEvent, SigevNotify, Signal};
use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
use nix::time::ClockId;
use zklock_core::time::BootTime;

use crate::process::clock;

/// How long the monitor has to act. The lease ends at the earliest 150 ms after its deadline.
const AFTER_THE_MONITOR: Duration = Duration::from_millis(100);

/// The longest time on processors, of all threads, between two waits of the loop. A process that is stopped needs none.
const BUSIEST: Duration = Duration::from_secs(5);

/// The two timers; `None` if the kernel provides none.
#[derive(Debug)]
pub(super) struct LoopTimer {
    deadline: Option<Timer>,
    processor: Option<Timer>,
    set_at: Option<BootTime>,
}

impl LoopTimer {
    pub(super) fn new() -> Self {
        let timer = |clock| {
            let kill = SigevNotify::SigevSignal { signal: Signal::SIGKILL, si_value: 0 };
            let timer = Timer::new(clock, SigEvent::new(kill));
            timer.inspect_err(|error| log::debug!("can't make a timer for the loop: {error}")).ok()
        };
        let (deadline, processor) =
            (timer(ClockId::CLOCK_BOOTTIME), timer(ClockId::CLOCK_PROCESS_CPUTIME_ID));
        let mut this = Self { deadline, processor, set_at: None };
        // On a busy machine a server may be faster than the loop's way to its first wait.
        this.gives_sign(clock::now());
        this
    }

    /// Kills this process shortly after this deadline of the command.
    pub(super) fn set_deadline(&mut self, deadline: Option<BootTime>) {
        // Zero disarms it.
        let left = deadline.map(|deadline| clock::now().until(deadline) + AFTER_THE_MONITOR);
        set(self.deadline.as_mut(), left.unwrap_or_default());
    }

    /// The loop works: it is about to wait.
    pub(super) fn gives_sign(&mut self, now: BootTime) {
        if self.set_at.is_none_or(|set_at| now.since(set_at) > BUSIEST / 10) {
            self.set_at = Some(now);
            set(self.processor.as_mut(), BUSIEST);
        }
    }
}

fn set(timer: Option<&mut Timer>, left: Duration) {
    let set = timer.map(|timer| timer.set(Expiration::OneShot(left.into()), TimerSetTimeFlags::empty()));
    if let Some(Err(error)) = set {
        log::debug!("can't set a timer for the loop: {error}");
    }
}
