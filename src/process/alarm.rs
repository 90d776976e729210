//! Waits for file descriptors until a moment on the boot clock.

use std::array;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use zklock_core::time::BootTime;

use crate::process::clock;
use crate::process::persist::persist;

/// The pause in place of a wait for which the kernel has no memory.
const PAUSE: Duration = Duration::from_millis(5);

/// A timer on `CLOCK_BOOTTIME`, so that a moment which passed while the machine slept is noticed on waking. It fires
/// late while that clock runs slow, and never early.
#[derive(Debug)]
pub struct Alarm(TimerFd);

impl Alarm {
    /// A timer that isn't set.
    pub fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        Ok(Self(TimerFd::new(ClockId::CLOCK_BOOTTIME, flags)?))
    }

    /// Waits until one of `sources` is readable or `until` passes, and returns which may be readable; a signal may end the
    /// wait too. Without `until` it waits forever.
    pub fn wait<const N: usize>(
        &self,
        sources: [BorrowedFd<'_>; N],
        until: Option<BootTime>,
    ) -> io::Result<[bool; N]> {
        match until {
            Some(until) => {
                // Zero would disarm the timer.
                let moment =
                    TimeSpec::from_duration(Duration::from_nanos(clock::on_clocks(until).boot.max(1)));
                let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME;
                persist(|| self.0.set(Expiration::OneShot(moment), flags))?;
            }
            None => persist(|| self.0.unset())?,
        }
        let all = sources.into_iter().chain([self.0.as_fd()]);
        let mut ready: Vec<PollFd<'_>> = all.map(|source| PollFd::new(source, PollFlags::POLLIN)).collect();
        let is_sure = match poll(&mut ready, PollTimeout::NONE) {
            Ok(_) => true,
            Err(Errno::EINTR) => false,
            Err(Errno::ENOMEM | Errno::EAGAIN) => {
                thread::sleep(PAUSE);
                false
            }
            Err(error) => return Err(error.into()),
        };
        Ok(array::from_fn(|index| !is_sure || ready[index].any() != Some(false)))
    }
}
