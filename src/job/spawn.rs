//! Starts the command: in its own process group, with its own environment, and otherwise in the state in which zklock
//! was started.

use std::ffi::{NulError, OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpid, setpgid, tcsetpgrp};
use thiserror::Error;
use zklock_core::exit;
use zklock_core::text::escaped;
use zklock_core::time::BootTime;

use super::terminal::Terminal;
use super::witness::Witness;
use crate::link::{InheritedState, Page};
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
            Self::NoProcess(..) | Self::TooLate | Self::MonitorEnding => exit::FAILURE,
        }
    }
}

/// Starts the command with these variables added, unless `latest` has passed by the time of its exec. With
/// `foreground`, it starts in that terminal's foreground; with `witnessed`, its process group has a witness. The
/// `switch` is armed for the group.
pub fn spawn(
    mut launch: Launch,
    variables: &[(String, String)],
    foreground: Option<&Terminal>,
    witnessed: bool,
    latest: Option<BootTime>,
    page: Page,
    switch: Option<&DeadMansSwitch>,
) -> Result<(Pid, Option<Witness>), SpawnError> {
    let InheritedState { mask, ignores_children, nice, .. } = launch.inherited;
    let worker = getpid();
    let before_exec = mask | Signal::SIGTSTP;
    let latest = latest.map(clock::on_clocks);
    let tty = foreground.and_then(Terminal::tty);
    let witness = AtomicI32::new(0);
    let started = sys::spawn(launch.image(variables)?, || {
        setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
        page.set_group(getpid());
        // These end the command if both of zklock's processes are killed at once: the switch its process group, and
        // the signal its first process, whatever group that joins.
        sys::die_with(worker)?;
        let _ = switch.map(|switch| switch.arm(getpid()));
        if witnessed && let Ok(pid) = sys::start_witness(worker) {
            witness.store(pid.as_raw(), Ordering::Relaxed);
        }
        if let Some(tty) = &tty {
            // Not essential: a job that finds itself in the background is given the terminal when it asks.
            let _ = tcsetpgrp(tty, getpid());
        }
        sys::restore_ignored(ignores_children);
        // A child that Ctrl-Z stopped before its exec would never be continued, because zklock waits for that exec.
        sys::ignore_until_exec(nix::libc::SIGTSTP);
        before_exec.thread_set_mask()?;
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
    let witness = Witness::new(witness.into_inner());
    let Some(error) = failed else { return Ok((pid, witness)) };
    if let Some(terminal) = foreground {
        terminal.take_back(pid);
    }
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

/// The directories in which programs are looked up.
fn path() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|directory| directory.join(".")).collect::<Vec<_>>().into_iter()
}

/// Whether the program exists although the system reports that something wasn't found.
fn is_there(program: &OsStr) -> bool {
    if program.as_encoded_bytes().contains(&b'/') {
        return Path::new(program).exists();
    }
    path().any(|directory| directory.join(program).is_file())
}
