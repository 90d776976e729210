//! A named pipe that the test reads.

use super::lines::Lines;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A small named pipe. Until [`Pipe::read`] nothing reads from it.
pub struct Pipe {
    path: PathBuf,
    end: File,
}

impl Pipe {
    pub fn new(dir: &Path) -> Self {
        let path = dir.join("stderr");
        std::fs::remove_file(&path).ok();
        mkfifo(&path, Mode::S_IRWXU).expect("a pipe");
        let flags = OFlag::O_NONBLOCK.bits();
        let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&path);
        let end = opened.expect("a pipe");
        fcntl(&end, FcntlArg::F_SETPIPE_SZ(4096)).expect("a small pipe");
        Self { path, end }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fills the pipe to the last byte.
    pub fn fill(&self) {
        for size in [4096, 1] {
            loop {
                match (&self.end).write(&vec![b'\n'; size]) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => panic!("the pipe: {error}"),
                }
            }
        }
    }

    /// Starts to read.
    pub fn read(self) -> Lines {
        Lines::read("stderr", File::open(&self.path).expect("a pipe that zklock writes to"))
    }
}
