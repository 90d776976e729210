//! The identity of a process, and the description of this zklock that is stored in its lock nodes.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use nix::unistd::{Pid, Uid, User};
use zklock_core::queue::name::Mode;
use zklock_core::queue::record::{Process, Record};

use super::{proc_file, proc_stat};

use crate::process::thread;

/// The longest wait for a service that knows the name of the user.
const LONGEST_LOOK_UP: Duration = Duration::from_millis(500);

/// How often something else is done meanwhile.
const PAUSE: Duration = Duration::from_millis(5);

/// The name of this host, as recorded in lock nodes.
pub fn host() -> String {
    nix::unistd::gethostname().map_or_else(|_| "?".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The record of the zklock with this `pid` on this host, which is about to contend in `mode` for `program`. While a name
/// service is asked for the user, `meanwhile` is done now and then.
pub fn record(
    pid: Pid,
    program: &Path,
    label: Option<String>,
    mode: Mode,
    meanwhile: impl FnMut(),
) -> Record {
    let uid = Uid::current();
    let user =
        user_in_file(uid).or_else(|| user_of_service(uid, meanwhile)).unwrap_or_else(|| uid.to_string());
    let program = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    Record {
        version: 1,
        host: host(),
        pid: u32::try_from(pid.as_raw()).unwrap_or_default(),
        user,
        program,
        label,
        mode: mode.word().to_owned(),
        slots: mode.slots(),
        has_slot: false,
        stopped: false,
        held_after_ms: None,
        process: process(pid).map(Box::new),
        revoked_by: None,
    }
}

/// The name of the user with this number in `/etc/passwd`.
fn user_in_file(uid: Uid) -> Option<String> {
    let users = fs::read("/etc/passwd").ok()?;
    let (users, uid) = (String::from_utf8_lossy(&users), uid.to_string());
    let mut users = users.lines().map(|line| line.split(':'));
    users.find_map(|mut fields| fields.next().filter(|_| fields.nth(1) == Some(&*uid)).map(str::to_owned))
}

/// The name of the user with this number, as the services of `/etc/nsswitch.conf` know it. `None` if there is none, or no
/// answer in time.
fn user_of_service(uid: Uid, mut meanwhile: impl FnMut()) -> Option<String> {
    let (sender, receiver) = mpsc::channel();
    // In a thread that isn't waited for, because a service can hang, and zklock must not.
    let look_up = move || sender.send(User::from_uid(uid).ok().flatten().map(|user| user.name));
    thread::builder().name("user name".to_owned()).spawn(look_up).ok()?;
    let until = Instant::now() + LONGEST_LOOK_UP;
    loop {
        meanwhile();
        match receiver.recv_timeout(PAUSE) {
            Ok(name) => return name,
            Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
            Err(_) => return None,
        }
    }
}

/// The identity of the process with this pid, different from that of every other process. `None` if `/proc` doesn't
/// provide it.
pub fn process(pid: Pid) -> Option<Process> {
    let started = proc_stat::of(pid)?.started;
    let boot = proc_file::read("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?.to_string_lossy().into_owned();
    Some(Process { boot, namespace, started })
}

#[cfg(test)]
mod tests {
    use nix::unistd::{getpid, getppid};

    use super::*;

    #[test]
    fn this_process_differs_from_its_parent() {
        let own = process(getpid());
        assert!(own.is_some());
        assert_ne!(own, process(getppid()));
        assert_eq!(process(Pid::from_raw(i32::MAX)), None);
    }
}
