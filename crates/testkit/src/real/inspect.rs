//! What the kernel reports about a process.

use super::processes::state;
use super::wait::{DEADLINE, wait_for, wait_until};
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use rustix::process::{Resource, Rlimit};
use std::cell::RefCell;
use std::fs;
use std::io;
use std::process::Command;

/// The value of a line of `/proc/PID/status`; `None` once the process is reaped.
pub fn status_of(pid: Pid, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.map(|value| value.trim().to_owned())
}

/// Whether the process exists and isn't a zombie.
pub fn is_alive(pid: Pid) -> bool {
    !matches!(state(pid), None | Some('Z' | 'X'))
}

/// Whether the process is stopped, as by SIGSTOP or Ctrl-Z.
pub fn is_stopped(pid: Pid) -> bool {
    state(pid) == Some('T')
}

/// The children of `parent`, zombies included, each with its arguments.
pub fn children_of(parent: Pid) -> Vec<(Pid, String)> {
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .map(Pid::from_raw)
        .filter(|pid| status_of(*pid, "PPid") == Some(parent.to_string()))
        .map(|pid| {
            let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            (pid, String::from_utf8_lossy(&bytes).replace('\0', " "))
        })
        .collect()
}

/// How many children of this process are dead and not reaped.
pub fn zombies_below(pid: Pid) -> usize {
    let children = children_of(pid).into_iter();
    children.filter(|(child, _)| state(*child) == Some('Z')).count()
}

/// The name of workers.
pub const WORKER: &str = "lease-guard";

/// Waits until a zklock has a worker that has set its process name, and returns the worker. The worker's parent is the
/// monitor, which is the process that was started.
#[track_caller]
pub fn worker_of(zklock: Pid) -> Pid {
    wait_for("the worker", DEADLINE, || {
        let mut children = children_of(zklock).into_iter().map(|(pid, _)| pid);
        children.find(|pid| status_of(*pid, "Name").is_some_and(|name| name == WORKER))
    })
}

/// The processes of this zklock that an operator finds by zklock's name or by its lock path.
pub fn found_by_name(zklock: Pid, path: &str) -> Vec<Pid> {
    let pgrep = |arguments: &[&str]| Command::new("pgrep").args(arguments).output().expect("pgrep").stdout;
    let printed = [pgrep(&["zklock"]), pgrep(&["-f", "zklock"]), pgrep(&["-f", path])].concat();
    let printed = String::from_utf8(printed).expect("UTF-8");
    let found: Vec<&str> = printed.lines().collect();
    let own = [zklock].into_iter().chain(children_of(zklock).into_iter().map(|(pid, _)| pid));
    // A worker that has just begun may have got its own name since. pkill doesn't look so long before it kills.
    own.filter(|pid| found.contains(&pid.to_string().as_str()))
        .filter(|pid| *pid == zklock || status_of(*pid, "Name").is_none_or(|name| name != WORKER))
        .collect()
}

/// Waits until a zklock has started its command, which is a child of the worker, and returns the command.
#[track_caller]
pub fn command_of(zklock: Pid) -> Pid {
    let worker = worker_of(zklock);
    wait_for("the command", DEADLINE, || children_of(worker).first().map(|(pid, _)| *pid))
}

/// The processes that a test froze. They are continued even if the test fails.
struct Frozen(Vec<Pid>);

impl Drop for Frozen {
    fn drop(&mut self) {
        for pid in &self.0 {
            kill(*pid, Signal::SIGCONT).ok();
        }
    }
}

thread_local! {
    static FROZEN: RefCell<Frozen> = const { RefCell::new(Frozen(Vec::new())) };
}

/// Stops a process (SIGSTOP), and returns when it is stopped. It is continued at the end of the test at the latest.
#[track_caller]
pub fn freeze(pid: Pid) {
    kill(pid, Signal::SIGSTOP).expect("a process to freeze");
    FROZEN.with_borrow_mut(|frozen| frozen.0.push(pid));
    wait_until("it to stand still", DEADLINE, || is_stopped(pid));
}

/// Keeps a killed process in the state just before its end, in which it still has its children, until this value is
/// dropped, as a dying process can by itself for seconds.
pub struct Held(Pid);

impl Held {
    #[track_caller]
    pub fn at_its_end(pid: Pid) -> Self {
        ptrace::seize(pid, ptrace::Options::PTRACE_O_TRACEEXIT).expect("a process to hold");
        Self(pid)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        ptrace::detach(self.0, None).ok();
    }
}

/// Stops a process in its first thread alone, as a system call that doesn't return would, until this value is dropped.
/// Its other threads run on, and it can be killed.
pub struct Hung(Pid);

impl Hung {
    #[track_caller]
    pub fn in_its_first_thread(pid: Pid) -> Self {
        ptrace::seize(pid, ptrace::Options::empty()).expect("a thread to stop");
        ptrace::interrupt(pid).expect("the thread");
        waitpid(pid, Some(WaitPidFlag::__WALL)).expect("its stop");
        Self(pid)
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        // If the process is dead, its tracer reaps it first.
        if ptrace::detach(self.0, None).is_err() {
            waitpid(self.0, Some(WaitPidFlag::__WALL)).ok();
        }
    }
}

/// Sets how many files this process may have open from now on. Those that are open stay so, but `poll` fails if it has
/// more of them to watch.
pub fn limit_open_files(pid: Pid, limit: u64) -> io::Result<()> {
    let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
    let pid = rustix::process::Pid::from_raw(pid.as_raw());
    rustix::process::prlimit(pid, Resource::Nofile, limit)?;
    Ok(())
}

/// Continues a frozen process.
#[track_caller]
pub fn thaw(pid: Pid) {
    kill(pid, Signal::SIGCONT).expect("a process to thaw");
}
