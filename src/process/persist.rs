//! Repeats system calls that fail although nothing is wrong with what they are made on.

use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::eventfd::EventFd;

/// How often a call is repeated, and the pause before that: together far less time than a lease leaves.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// What may pass: the kernel has no memory for a moment, or a signal came in between.
const PASSING: [Errno; 3] = [Errno::ENOMEM, Errno::ENOBUFS, Errno::EINTR];

/// Makes a system call on one of zklock's own files or processes, and repeats it if it fails for a reason that may pass. A
/// loop that needs the call can't go on after an error, unless the error is an answer, such as [`Errno::EAGAIN`].
pub fn persist<T>(mut call: impl FnMut() -> nix::Result<T>) -> nix::Result<T> {
    for _ in 0..TRIES {
        match call() {
            Err(error) if PASSING.contains(&error) => thread::sleep(PAUSE),
            answer => return answer,
        }
    }
    call()
}

/// Resets a counter. Returns whether it had counted anything.
///
/// # Errors
/// If it can't be read: what it counts would be announced for ever.
pub fn reset(counter: &EventFd) -> nix::Result<bool> {
    match persist(|| counter.read()) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_repeated_until_it_succeeds_or_fails_for_good() {
        let mut calls = 0;
        let mut fails = |times, error| {
            calls = 0;
            let result = persist(|| {
                calls += 1;
                if calls > times { Ok(()) } else { Err(error) }
            });
            (result, calls)
        };
        assert_eq!(fails(2, Errno::ENOMEM), (Ok(()), 3));
        assert_eq!(fails(1000, Errno::ENOMEM), (Err(Errno::ENOMEM), TRIES + 1));
        for error in [Errno::EAGAIN, Errno::EIO, Errno::EBADF, Errno::EMSGSIZE] {
            assert_eq!(fails(1000, error), (Err(error), 1));
        }
    }
}
