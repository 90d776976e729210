//! The end of the process: by an exit code, or by the signal that ended the command.

use std::process;

use nix::sys::resource::{Resource, setrlimit};

use super::{memory, sys};
use crate::core::exit::Exit;

/// Ends the process.
pub fn end(exit: Exit) -> ! {
    match exit {
        Exit::Code(code) => process::exit(code.into()),
        Exit::Signal(signal) => {
            // The kernel lets no signal kill PID 1 from inside.
            if process::id() != 1 {
                // The command's own core dump is the interesting one; zklock's would only overwrite it. A pattern that
                // pipes core dumps to a program ignores the limit.
                let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
                memory::hide();
                sys::die_of(signal);
            }
            process::exit(128 + signal)
        }
    }
}
