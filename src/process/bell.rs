//! Wakes a thread that waits for file descriptors.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::Wake;

use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::process::persist::reset;

/// A bell, to which one thread listens. It is also the waker of the futures that this thread polls, and which ring it
/// while the thread is awake: that costs no system call.
#[derive(Debug)]
pub struct Bell {
    rung: AtomicBool,
    /// Whether the listener sleeps, or is about to.
    asleep: AtomicBool,
    /// Readable when a sleeping listener must wake up.
    counter: EventFd,
}

impl Bell {
    /// A bell that hasn't been rung.
    pub fn new() -> io::Result<Self> {
        let counter = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Self { rung: AtomicBool::new(false), asleep: AtomicBool::new(false), counter })
    }

    /// Wakes the listener, or keeps it from falling asleep.
    pub fn ring(&self) {
        self.rung.store(true, SeqCst);
        if self.asleep.load(SeqCst) {
            // A full counter is fine: it only has to be above zero.
            let _ = self.counter.write(1);
        }
    }

    /// Whether the bell was rung since the last call.
    pub fn was_rung(&self) -> bool {
        self.rung.swap(false, SeqCst)
    }

    /// Sleeps by `wait`, which must end when the given descriptor becomes readable, and says whether it may be. Returns at
    /// once if the bell has been rung.
    pub fn sleep(&self, wait: impl FnOnce(BorrowedFd<'_>) -> io::Result<bool>) -> io::Result<()> {
        // Either this thread sees that the bell was rung, or who rings it sees that this thread sleeps.
        self.asleep.store(true, SeqCst);
        let slept = if self.rung.load(SeqCst) { Ok(false) } else { wait(self.counter.as_fd()) };
        self.asleep.store(false, SeqCst);
        if slept? {
            reset(&self.counter)?;
        }
        Ok(())
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::process::alarm::Alarm;
    use crate::process::clock;

    #[test]
    fn a_bell_that_was_rung_ends_one_sleep_and_is_rung_once() -> io::Result<()> {
        let bell = Bell::new()?;
        assert!(!bell.was_rung());
        bell.ring();
        bell.sleep(|_| unreachable!("it was rung"))?;
        assert!(bell.was_rung() && !bell.was_rung());
        let mut slept = false;
        bell.sleep(|_| {
            slept = true;
            Ok(true)
        })?;
        assert!(slept);
        Ok(())
    }

    #[test]
    fn a_sleeping_thread_is_woken_each_time() -> io::Result<()> {
        const ROUNDS: usize = 2_000;
        let (bell, answers, alarm) = (Arc::new(Bell::new()?), Arc::new(Bell::new()?), Alarm::new()?);
        let other = (Arc::clone(&bell), Arc::clone(&answers));
        let ringer = thread::spawn(move || {
            let (bell, answers) = other;
            for _ in 0..ROUNDS {
                bell.ring();
                while !answers.was_rung() {
                    thread::yield_now();
                }
            }
        });
        let began = Instant::now();
        for _ in 0..ROUNDS {
            while !bell.was_rung() {
                bell.sleep(|rung| {
                    alarm.wait([rung], Some(clock::now() + Duration::from_secs(30))).map(|[rung]| rung)
                })?;
                assert!(began.elapsed() < Duration::from_secs(25), "a ring was missed");
            }
            answers.ring();
        }
        assert!(ringer.join().is_ok());
        Ok(())
    }
}
