//! Starts the command: in zklock's process group if there is a terminal, else in a session of its own, with its own
//! environment, and otherwise in the state in which zklock was started.

use std::ffi::{NulError, OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::unistd::{Pid, getpid, setsid};
use thiserror::Error;
use zklock_core::exit;
use zklock_core::signal::{SIGTSTP, SIGTTIN, SIGTTOU};
use zklock_core::text::escaped;
use zklock_core::time::BootTime;

use crate::files::is_program;
use crate::link::InheritedState;
use crate::plan::Invocation;
use crate::process::clock;
use crate::process::priority::set_nice;
use crate::process::sys::{self, DeadMansSwitch, Image, Spawned};
use crate::process::system_error::describe;

/// The command to start.
#[derive(Debug)]
pub struct Launch {
    /// The program, looked up in `PATH` unless it contains a slash.
    pub program: OsString,
    /// The program with its arguments and environment, if they can be passed on.
    image: Result<Image, NulError>,
    /// What zklock was started with, restored for the command.
    pub inherited: InheritedState,
}

/// Why the command didn't start.
#[derive(Debug, Error)]
pub enum SpawnError {
    /// There is no such program.
    #[error("'{}' was not found: {}", escaped(.0.as_encoded_bytes()), .1)]
    NotFound(OsString, &'static str),
    /// It exists but can't be run.
    #[error("'{}' can't be run: {}", escaped(.0.as_encoded_bytes()), .1)]
    CannotRun(OsString, String),
    /// The lease was over just before the exec.
    #[error(
        "the command was not started: zklock hung just before (stopped, or starved of processor time), and \
         its lease ran out"
    )]
    TooLate,
    /// The zklock around this one that held this lock has ended meanwhile.
    #[error(
        "the command was not started: {0} was held by a surrounding zklock, which has ended since; run it again"
    )]
    NotHeld(String),
    /// The monitor is ending: the worker learns that by the socket only when all of its threads have ended.
    #[error("the command was not started: zklock's first process was killed")]
    MonitorEnding,
    /// The system can't create another process.
    #[error("can't start a process for '{}': {}", escaped(.0.as_encoded_bytes()), .1)]
    NoProcess(OsString, String),
}

impl Launch {
    /// The start of this command in zklock's environment.
    pub fn new(invocation: &Invocation, inherited: InheritedState) -> Self {
        let Invocation { program, arguments, .. } = invocation;
        let image = Image::new(program, arguments);
        Self { program: program.clone(), image, inherited }
    }

    /// Checks that there is such a program and that this user may run it, before anything waits for a lock.
    pub fn find(program: &OsStr) -> Result<(), SpawnError> {
        let mut found = None;
        for path in candidates(program) {
            if is_program(&path) {
                return Ok(());
            }
            found.get_or_insert(path);
        }
        Err(match found {
            None => SpawnError::NotFound(program.to_owned(), how_to_find(program)),
            Some(first) => SpawnError::CannotRun(program.to_owned(), why_denied(&first).to_owned()),
        })
    }

    /// The image to exec, with these variables added.
    pub fn image(&mut self, variables: &[(String, String)]) -> Result<&Image, SpawnError> {
        let image = self.image.as_mut().map_err(|error| error.clone());
        let added = image.and_then(|image| image.add(variables).map(|()| &*image));
        added.map_err(|error| SpawnError::CannotRun(self.program.clone(), error.to_string()))
    }

    /// The error for a failed fork or exec.
    pub fn explain(&self, error: &io::Error) -> SpawnError {
        let program = &self.program;
        let not_found = || SpawnError::NotFound(program.clone(), how_to_find(program));
        let cannot_run = |why: &str| SpawnError::CannotRun(program.clone(), why.to_owned());
        match error.raw_os_error() {
            Some(nix::libc::ETIME) => SpawnError::TooLate,
            Some(nix::libc::ENOENT | nix::libc::ENOTDIR) if !is_there(program) => not_found(),
            Some(nix::libc::ENOENT) if has_carriage_return(program) => cannot_run(
                "its first line ends with a carriage return, as Windows writes it: sed -i 's/\\r$//' FILE removes that",
            ),
            Some(nix::libc::ENOENT) => cannot_run(
                "the interpreter that its first line names, or the dynamic loader that it was built for, was not found",
            ),
            // A directory of PATH that may not be searched hides from the system that the program isn't in the others.
            Some(nix::libc::EACCES) if !program.as_encoded_bytes().contains(&b'/') && !is_there(program) => {
                not_found()
            }
            Some(nix::libc::E2BIG) => cannot_run(
                "its arguments and its environment, with zklock's variables, are longer than the system allows: shorten \
                 them or the lock paths, or raise the limit (a quarter of 'ulimit -s')",
            ),
            Some(nix::libc::EACCES) => cannot_run(why_denied(Path::new(program))),
            Some(nix::libc::EAGAIN | nix::libc::ENOMEM | nix::libc::EMFILE | nix::libc::ENFILE) => {
                SpawnError::NoProcess(program.clone(), describe(error))
            }
            _ => SpawnError::CannotRun(program.clone(), describe(error)),
        }
    }
}

impl SpawnError {
    /// The exit code for this error.
    pub fn code(&self) -> u8 {
        match self {
            Self::NotFound(..) => exit::NOT_FOUND,
            Self::CannotRun(..) => exit::CANNOT_RUN,
            Self::NoProcess(..) | Self::TooLate | Self::NotHeld(_) | Self::MonitorEnding => exit::FAILURE,
        }
    }
}

/// Starts the command with these variables added, unless `latest` has passed by the time of its exec. Without a
/// terminal, the command gets a session of its own, for whose process group the `switch` is armed.
pub fn spawn(
    mut launch: Launch,
    variables: &[(String, String)],
    latest: Option<BootTime>,
    switch: Option<&DeadMansSwitch>,
) -> Result<Pid, SpawnError> {
    let InheritedState { mask, ignores_children, has_terminal, nice, .. } = launch.inherited;
    let worker = getpid();
    let latest = latest.map(clock::on_clocks);
    let started = sys::spawn(launch.image(variables)?, || {
        // These end the command if both of zklock's processes are killed at once: the signal its first process, and the
        // switch its process group, unless that is zklock's, too.
        sys::die_with(worker)?;
        if has_terminal {
            // zklock waits for the exec, and so must nothing stop this child before.
            [SIGTSTP, SIGTTIN, SIGTTOU].into_iter().for_each(sys::ignore_until_exec);
        } else {
            setsid()?;
            let _ = switch.map(|switch| switch.arm(getpid()));
        }
        sys::restore_ignored(ignores_children);
        // Late, since from here on it may wait for a processor, and the worker waits for it.
        if let Some(nice) = nice {
            set_nice(nice);
        }
        // The last check, in case all of zklock was frozen since it checked its lease.
        if latest.is_some_and(clock::has_come) {
            return Err(Errno::ETIME.into());
        }
        // Only the exec follows.
        Ok(mask.thread_set_mask()?)
    });
    let Spawned { pid, failed } = started.map_err(|error| launch.explain(&error))?;
    let Some(error) = failed else { return Ok(pid) };
    if let Err(error) = sys::reap(pid) {
        log::debug!("can't reap the child that failed: {error}");
    }
    Err(launch.explain(&error))
}

/// Why the system denies to run a program.
fn why_denied(program: &Path) -> &'static str {
    match fs::metadata(program) {
        Ok(metadata) if metadata.is_dir() => "it is a directory",
        Ok(metadata) if metadata.is_file() && metadata.mode() & 0o111 == 0 => {
            "it isn't executable; chmod +x makes it so"
        }
        _ => "Permission denied",
    }
}

/// A hint at what the user may have meant.
fn how_to_find(program: &OsStr) -> &'static str {
    match program.as_encoded_bytes() {
        name if name.contains(&b' ') => "use -c for a shell line, as in zklock PATH -c 'cd /tmp; ls -l'",
        [b'-', ..] => "options go before the lock path",
        [b'/', ..] => "check its name; for several locks put -- before the command",
        name if name.contains(&b'/') => "check its name, and the directory you are in",
        _ => "check its name, and the directories in the variable PATH",
    }
}

/// Where the system looks for a program without a slash in its name, if `PATH` isn't set.
const DEFAULT_PATH: &str = "/usr/local/bin:/bin:/usr/bin";

/// The files that a program of this name may be, in the order of `PATH`; one that can't be looked at may be there.
fn candidates(program: &OsStr) -> impl Iterator<Item = PathBuf> {
    let is_path = program.as_encoded_bytes().contains(&b'/');
    let paths = if is_path {
        vec![program.into()]
    } else {
        let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
        std::env::split_paths(&path).map(|directory| directory.join(".").join(program)).collect()
    };
    paths.into_iter().filter(move |path| match fs::metadata(path) {
        Ok(metadata) => is_path || metadata.is_file(),
        Err(error) => is_path && error.kind() == ErrorKind::PermissionDenied,
    })
}

/// Whether the program exists although the system reports that something wasn't found.
fn is_there(program: &OsStr) -> bool {
    candidates(program).next().is_some()
}

/// Whether this is a script from a system on which lines end with CR LF.
fn has_carriage_return(program: &OsStr) -> bool {
    let mut start = Vec::new();
    let file = candidates(program).next().and_then(|path| fs::File::open(path).ok());
    let read = file.and_then(|file| file.take(256).read_to_end(&mut start).ok());
    let first = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    read.is_some() && first.starts_with(b"#!") && first.ends_with(b"\r")
}
