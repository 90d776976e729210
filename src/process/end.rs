//! Ends the process with an exit code, or by the signal that ended the command.

use std::process;

use nix::sys::resource::{Resource, setrlimit};
use zklock_core::exit::Exit;

use super::{memory, sys};

/// Ends the process with this code or by this signal. As PID 1, which signals from inside can't kill, it exits with
/// 128+n.
pub fn end(exit: Exit) -> ! {
    match exit {
        // Everything that was written is flushed: nothing has to be done at exit.
        Exit::Code(code) => sys::exit_at_once(code),
        Exit::Signal(signal) => {
            // The kernel doesn't let a signal from inside kill PID 1.
            if process::id() != 1 {
                // The command's own core dump is the useful one, and zklock's would overwrite it. The limit has no
                // effect where core dumps are piped to a program.
                let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
                memory::hide();
                sys::die_of(signal);
            }
            process::exit(128 + signal)
        }
    }
}
