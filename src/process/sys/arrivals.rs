//! Counts the signals that arrive: the kernel queues each real-time signal, and none of them may be merged.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use nix::errno::Errno;
use nix::libc::{self, c_int, c_void, siginfo_t};
use nix::sys::eventfd::{EfdFlags, EventFd};
use zklock_core::signal::RTMIN;

use crate::process::persist::reset;

/// How often each signal has arrived since it was last taken.
static ARRIVED: [AtomicU32; 65] = [const { AtomicU32::new(0) }; 65];

/// What the handler writes to. It stays open as long as the process lives, because a handler may run at any time.
static BELL: OnceLock<EventFd> = OnceLock::new();

/// The signals that arrive at this process.
#[derive(Debug, Clone, Copy)]
pub struct Arrivals(&'static EventFd);

impl Arrivals {
    /// Counts these signals from now on, except for real-time ones that the C library keeps for itself, as musl does
    /// with the first.
    pub fn of(signals: impl IntoIterator<Item = i32>) -> io::Result<Self> {
        let new = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        let bell = BELL.get_or_init(|| new);
        let handler: extern "C" fn(_, _, _) = arrived;
        for signal in signals {
            // SAFETY: the new action is zeroed, which is valid, except for the handler, which has the type that
            // SA_SIGINFO requires and makes only calls that a handler may make.
            let counted = Errno::result(unsafe {
                let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
                action.sa_sigaction = handler as libc::sighandler_t;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                libc::sigaction(signal, &raw const action, ptr::null_mut())
            });
            match counted {
                Err(Errno::EINVAL) if signal >= RTMIN => {}
                counted => drop(counted?),
            }
        }
        Ok(Self(bell))
    }

    /// The signals that have arrived since the last call, by number: a real-time signal as often as it has arrived, any
    /// other once.
    ///
    /// # Errors
    /// If it can't be read that signals have arrived: that would be announced for ever.
    pub fn take(&self) -> io::Result<Vec<i32>> {
        // First, so that a signal that arrives meanwhile rings again.
        reset(self.0)?;
        let mut taken = vec![];
        for (signal, count) in (0..).zip(&ARRIVED) {
            let count = count.swap(0, SeqCst);
            let count = if signal < RTMIN { count.min(1) } else { count };
            taken.extend((0..count).map(|_| signal));
        }
        Ok(taken)
    }
}

impl AsFd for Arrivals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

extern "C" fn arrived(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid `info`. The code says whether a process has sent the signal,
    // and then there is a sender. All calls may be made in a handler, and the interrupted code finds its errno again.
    unsafe {
        let is_sent = (*info).si_code <= 0 && (*info).si_pid() != libc::getpid();
        match signal {
            // For a write that fails: the write returns an error.
            libc::SIGPIPE | libc::SIGXFSZ if !is_sent => return,
            // The limit of this process's own processor time.
            libc::SIGXCPU if !is_sent => {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
                return;
            }
            _ => {}
        }
        let errno = Errno::last_raw();
        if let (Some(count), Some(bell)) =
            (usize::try_from(signal).ok().and_then(|at| ARRIVED.get(at)), BELL.get())
        {
            count.fetch_add(1, SeqCst);
            // A full counter is fine: it only has to be above zero.
            let one = 1_u64;
            libc::write(bell.as_raw_fd(), (&raw const one).cast(), size_of_val(&one));
        }
        Errno::set_raw(errno);
    }
}

#[cfg(test)]
mod tests {
    use zklock_core::signal::RTMAX;

    use super::*;

    #[test]
    fn a_real_time_signal_is_counted_and_any_other_merged() -> io::Result<()> {
        let (urgent, real_time) = (libc::SIGURG, RTMIN + 20);
        // The C library refuses the last.
        let arrivals = Arrivals::of([urgent, real_time, libc::SIGXFSZ, RTMAX + 1])?;
        assert_eq!(arrivals.take()?, [0; 0]);
        for _ in 0..3 {
            for signal in [real_time, urgent, libc::SIGXFSZ] {
                // SAFETY: the handler counts.
                unsafe { libc::raise(signal) };
            }
        }
        assert_eq!(
            arrivals.take()?,
            [urgent, real_time, real_time, real_time],
            "its own XFSZ is for a failed write"
        );
        assert_eq!(arrivals.take()?, [0; 0]);
        Ok(())
    }
}
