//! Output to stdout, by the subcommands and by help. With a command, stdout belongs to the command.

use std::io::{self, ErrorKind, Write};

use anyhow::{Result, bail};
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use nix::sys::signal::Signal;
use zklock_core::exit::Exit;

use crate::process::system_error::describe;

/// Why nothing can be written.
const CLOSED: &str = "it is closed, or open for reading only";

/// Writes to stdout. If the reader is gone (`| head`), zklock dies of SIGPIPE like other programs.
///
/// # Errors
/// If stdout can't be written to.
pub fn print(bytes: &[u8]) -> Result<Exit> {
    if bytes.is_empty() {
        return Ok(Exit::Code(0));
    }
    print_by(|| io::stdout().write_all(bytes))
}

/// Like [`print()`], for something that writes to stdout itself.
///
/// # Errors
/// If stdout can't be written to.
pub fn print_by(write: impl FnOnce() -> io::Result<()>) -> Result<Exit> {
    // Messages stay before what is printed after them.
    super::drain(super::BRIEFLY);
    // The standard library takes a write to a closed descriptor for a success.
    if !is_open_for_writing() {
        bail!(unwritable(CLOSED));
    }
    match write().and_then(|()| io::stdout().flush()) {
        Ok(()) => Ok(Exit::Code(0)),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Exit::Signal(Signal::SIGPIPE as i32)),
        // In place of a stdout that was closed at the start, there is a file to which nothing can be written.
        Err(error) if error.kind() == ErrorKind::InvalidInput => bail!(unwritable(CLOSED)),
        Err(error) => bail!(unwritable(&describe(&error))),
    }
}

fn is_open_for_writing() -> bool {
    fcntl(io::stdout(), FcntlArg::F_GETFL).is_ok_and(|flags| flags & (libc::O_WRONLY | libc::O_RDWR) != 0)
}

fn unwritable(why: &str) -> String {
    format!("can't write to stdout: {why}; redirect it to a file, or to /dev/null to discard the output")
}
