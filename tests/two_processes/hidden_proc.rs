//! `/proc` hides the processes of other users (`hidepid`, `ProtectProc`), and a process with secrets counts as another
//! user's.

use super::{HAND_OFF, worker_of};
use crate::support::{
    Case, DEADLINE, children_of, has_namespaces, processes_of, skip, status_of, wait_for, wait_until,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

/// Root and its group see all processes, unless they lack `CAP_SYS_PTRACE`.
const HIDDEN: &str = "exec unshare --mount --pid --fork --mount-proc sh -c \
    'mount -t proc -o hidepid=2 proc /proc && setpriv --regid 65534 --clear-groups --bounding-set=-sys_ptrace \"$0\" \"$@\"' \"$0\" \"$@\"";

fn find(below: Pid, name: &str) -> Option<Pid> {
    children_of(below).into_iter().find_map(|(pid, _)| {
        if status_of(pid, "Name").as_deref() == Some(name) { Some(pid) } else { find(pid, name) }
    })
}

/// Only root can become a user that sees no other processes.
#[test]
fn with_a_hidden_proc_the_exit_code_is_the_command_s_and_a_killed_worker_s_command_is_killed() {
    if !geteuid().is_root() {
        return skip("it needs root");
    }
    if !has_namespaces("--mount --pid --fork --mount-proc", "mount -t proc -o hidepid=2 proc /proc") {
        return;
    }
    let case = Case::new("unseen");
    let auth = case.dir().join("auth");
    fs::write(&auth, "digest:alice:secret\n").expect("a file");
    fs::set_permissions(&auth, Permissions::from_mode(0o600)).expect("a mode");
    let auth = auth.display().to_string();
    let options = ["--auth-file", &auth, "--acl", "open"];
    let start = |script| case.lock(&options, ["bash", "-c", script]).prelude(HIDDEN).spawn();
    start("exit 7").wait(DEADLINE).assert_code(7);
    let running = start("echo ready; sleep 61 & setsid sleep 62 & wait");
    running.wait_for_stdout("ready", DEADLINE);
    let monitor = wait_for("zklock", DEADLINE, || find(running.pid(), "zklock"));
    kill(worker_of(monitor), Signal::SIGKILL).expect("a worker");
    running.wait(HAND_OFF).assert_code(123);
    case.wait_for_contenders(0);
    wait_until("the end of all", HAND_OFF, || processes_of(case.marker()).is_empty());
}
