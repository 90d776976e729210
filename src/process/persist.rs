//! Repeats system calls that fail although nothing is wrong with what they are made on.

use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::eventfd::EventFd;

/// How often a call is repeated, and the pause before that: together far less time than a lease leaves.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// What is an answer and no failure: there is nothing to read, or no room; the other process is gone, isn't a child, or
/// may not be signalled.
const ANSWERS: [Errno; 7] = [
    Errno::EAGAIN,
    Errno::EPIPE,
    Errno::ECONNRESET,
    Errno::ENOTCONN,
    Errno::ECHILD,
    Errno::ESRCH,
    Errno::EPERM,
];

/// Makes a system call on one of zklock's own files or processes, and repeats it if it fails: the kernel may have no
/// memory for a moment. A loop that needs the call can't go on after an error, unless the error is an answer, such as
/// [`Errno::EAGAIN`], which is returned at once.
pub fn persist<T>(mut call: impl FnMut() -> nix::Result<T>) -> nix::Result<T> {
    for _ in 0..TRIES {
        match call() {
            Err(error) if !ANSWERS.contains(&error) => thread::sleep(PAUSE),
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
        assert_eq!(fails(1000, Errno::EIO), (Err(Errno::EIO), TRIES + 1));
        assert_eq!(fails(1000, Errno::EAGAIN), (Err(Errno::EAGAIN), 1));
    }
}
