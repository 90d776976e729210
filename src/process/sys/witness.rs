//! A process that does nothing but be in a process group.

use std::io;
use std::mem::MaybeUninit;

use nix::errno::Errno;
use nix::libc;
use nix::unistd::Pid;

use super::fork::die_with;
use super::process::exit_at_once;

/// Aligned as a stack must be, and more than a few system calls need.
type Stack = [u128; 1024];

/// Starts a process in the caller's process group, as a child of the caller's parent, which must be `parent` and whose
/// end also ends it. The signals with which the terminal stops a group stop it, and it takes no others but KILL and
/// STOP. It has no open files. For the child between fork and exec, with every signal blocked.
pub fn start_witness(parent: Pid) -> io::Result<Pid> {
    extern "C" fn watch(parent: *mut libc::c_void) -> libc::c_int {
        let parent = Pid::from_raw(i32::try_from(parent.addr()).unwrap_or_default());
        // Its copies of the caller's files must neither keep pipes open nor touch the dead man's switch.
        // SAFETY: this process uses no file.
        let closed = unsafe { libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) } == 0;
        if !closed || die_with(parent).is_err() {
            exit_at_once(1);
        }
        // SAFETY: system calls; `mask` is initialised by sigfillset before use.
        unsafe {
            let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigfillset(mask.as_mut_ptr());
            for signal in [libc::SIGTTIN, libc::SIGTTOU, libc::SIGTSTP] {
                libc::signal(signal, libc::SIG_DFL);
                libc::sigdelset(mask.as_mut_ptr(), signal);
            }
            libc::sigprocmask(libc::SIG_SETMASK, mask.as_ptr(), std::ptr::null_mut());
            loop {
                libc::pause();
            }
        }
    }

    let mut stack = MaybeUninit::<Stack>::uninit();
    let parent = std::ptr::without_provenance_mut(usize::try_from(parent.as_raw()).unwrap_or_default());
    // SAFETY: without CLONE_VM the child has a copy of this memory, and its stack is in that copy. It makes only system
    // calls, so it doesn't matter which locks other threads held.
    let child = unsafe {
        let top = stack.as_mut_ptr().add(1).cast();
        libc::clone(watch, top, libc::CLONE_PARENT | libc::SIGCHLD, parent)
    };
    Ok(Pid::from_raw(Errno::result(child)?))
}
