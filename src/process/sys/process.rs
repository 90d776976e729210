//! What this process has from its caller, and its end.

use std::io;
use std::os::fd::RawFd;

use nix::libc;

use super::start::open_placeholder;

/// The file descriptors, but for stdin, stdout and stderr, that this process has from its caller: those that aren't
/// close-on-exec, because all of zklock's own are.
///
/// # Errors
/// If they can't be listed, as when no further file may be opened.
fn inherited_descriptors() -> io::Result<Vec<RawFd>> {
    let entries = std::fs::read_dir("/proc/self/fd")?.flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_inherited = |&number: &RawFd| {
        // SAFETY: only reads the flags.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
        number > 2 && flags >= 0 && flags & libc::FD_CLOEXEC == 0
    };
    Ok(numbers.filter(is_inherited).collect())
}

/// Releases the file descriptors, the terminal and the working directory that this process has from its caller.
pub fn detach_from_caller() {
    let _ = std::env::set_current_dir("/");
    let placeholder = open_placeholder();
    for standard in 0..=2 {
        // SAFETY: a system call on numbers; later writes to these descriptors go nowhere.
        unsafe { libc::dup2(placeholder, standard) };
    }
    for number in inherited_descriptors().unwrap_or_default() {
        // SAFETY: zklock doesn't use what it has inherited.
        unsafe { libc::close(number) };
    }
}

/// Ends this process without the functions that libraries have registered for its end: they clean up nothing that
/// outlives it, and would only touch more of its memory.
pub fn exit_at_once(code: u8) -> ! {
    // SAFETY: a system call on a number; no code of this process runs afterwards.
    unsafe { libc::_exit(code.into()) }
}
