//! Secrets don't appear in arguments, variables, nodes, logs or readable memory.

use super::file;
use crate::support::{Case, DEADLINE, Running, Zklock, command_of, status_of, worker_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A text that appears nowhere else on the machine.
const SECRET: &str = "xyzzy-8c1f-plugh";

fn lines() -> String {
    format!("digest:alice:{SECRET}\nother:{SECRET}\n")
}

/// The content of these files in `/proc/PID`. The kernel shows `cmdline` to every user, and `environ` to the process's
/// own user.
fn shown(pid: Pid, names: &[&str]) -> String {
    let read = |name: &&str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    names.iter().map(read).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

const HOLD: &str = "env; echo ready; exec sleep 60";

fn hold(zklock: Zklock, case: &Case) -> Running {
    let running = zklock.args(["--acl", "open", case.path(), "--", "sh", "-c", HOLD]).spawn();
    running.wait_for_stdout("ready", DEADLINE);
    running
}

#[test]
fn a_secret_from_a_file_is_in_no_argument_environment_node_or_log() {
    let case = Case::new("secret-file");
    let auth = file(&case, "auth", &format!("digest:alice:{SECRET}\n"), 0o600);
    for verbosity in [&["-vvvv"][..], &["-q"]] {
        let zklock = case.zklock().arg("--auth-file").arg(&auth).args(verbosity);
        let running = hold(zklock.env("RUST_LOG", "trace"), &case);
        for pid in [running.pid(), worker_of(running.pid()), command_of(running.pid())] {
            let shown = shown(pid, &["cmdline", "environ"]);
            assert!(!shown.is_empty() && !shown.contains(SECRET), "{pid}: {shown}");
        }
        let node = &case.contenders()[0];
        let data = case.observer().data(&format!("{}/{node}", case.path())).unwrap();
        assert!(!data.contains(SECRET), "{data}");
        running.signal(Signal::SIGTERM);
        let output = running.wait(DEADLINE);
        output.assert_signal(Signal::SIGTERM);
        assert!(!output.stdout.contains(SECRET) && !output.stderr.contains(SECRET), "{output}");
    }
}

#[test]
fn trace_logs_contain_no_secrets() {
    let case = Case::new("secret-trace");
    let run = |case: &Case, auth: &str| {
        let zklock = case.zklock().env("ZKLOCK_AUTH", auth).env("RUST_LOG", "trace");
        zklock.args(["-vvvv", "--acl", "open", case.path(), "true"]).run()
    };
    // The log may show bytes as numbers.
    let numbers = SECRET.as_bytes()[..4].iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
    for auth in [lines(), format!("digest:alice:{SECRET}"), format!("sasl-digest-md5:alice:{SECRET}")] {
        let output = run(&case, &auth);
        output.assert_stderr("trace");
        assert!(!output.stderr.contains(SECRET) && !output.stderr.contains(&numbers), "{output}");
    }
}

/// A nested zklock inherits the variable that the user set; zklock adds no other.
#[test]
fn the_command_inherits_only_the_secret_that_the_user_set() {
    let case = Case::new("secret-environment");
    let running = hold(case.zklock().env("ZKLOCK_AUTH", format!("digest:alice:{SECRET}")), &case);
    let text = running.stdout().text();
    let secret_lines: Vec<_> = text.lines().filter(|line| line.contains(SECRET)).collect();
    assert_eq!(secret_lines, [format!("ZKLOCK_AUTH=digest:alice:{SECRET}")], "{text}");
    running.signal(Signal::SIGTERM);
    running.wait(DEADLINE);
}

/// Whether only root may read the process's memory: the kernel then makes root the owner of its files in `/proc`.
fn is_hidden(pid: Pid) -> bool {
    let environment = fs::metadata(format!("/proc/{pid}/environ")).expect("a process");
    let ids = status_of(pid, "Uid").expect("a process");
    assert!(!ids.starts_with("0\t"), "the check needs a process of another user than root");
    environment.uid() == 0
}

/// Copies zklock to where every user can run it.
fn copy_of_zklock(case: &Case) -> PathBuf {
    let program = case.dir().join("zklock");
    // Copied by another process: a test that forks meanwhile would keep the file open for writing, and it couldn't be
    // executed.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_zklock")).arg(&program).status();
    assert!(copied.expect("cp").success());
    fs::set_permissions(case.dir(), fs::Permissions::from_mode(0o755)).expect("a mode");
    program
}

/// zklock as a user other than root, who may not be able to enter the home directory of the other tests.
fn zklock_without_root(case: &Case, program: &Path) -> Zklock {
    let root = nix::unistd::geteuid().is_root();
    let user = if root { "setpriv --reuid=65534 --regid=65534 --clear-groups" } else { "" };
    case.zklock().env("HOME", case.dir()).prelude(&format!("exec {user} {} \"$@\"", program.display()))
}

#[test]
fn the_memory_of_zklock_is_protected_if_it_has_secrets() {
    let case = Case::new("secret-memory");
    let program = copy_of_zklock(&case);
    for hidden in [false, true] {
        let zklock = zklock_without_root(&case, &program);
        let zklock =
            if hidden { zklock.env("ZKLOCK_AUTH", format!("digest:alice:{SECRET}")) } else { zklock };
        let running = hold(zklock, &case);
        let zklock = running.pid();
        let worker = worker_of(zklock);
        let found = [zklock, worker, command_of(zklock)].map(is_hidden);
        assert_eq!(found, [hidden, hidden, false], "monitor, worker, command");
        let title = shown(worker, &["cmdline"]);
        assert!(title.starts_with(&format!("lease-guard of {zklock}\0")), "{title}");
        // The worker can still clean up without the monitor.
        running.signal(Signal::SIGKILL);
        case.wait_for_contenders(0);
        running.wait(DEADLINE).assert_signal(Signal::SIGKILL);
        // The monitor can still clean up without the worker.
        let zklock = zklock_without_root(&case, &program);
        let zklock =
            if hidden { zklock.env("ZKLOCK_AUTH", format!("digest:alice:{SECRET}")) } else { zklock };
        let running = hold(zklock, &case);
        kill(worker_of(running.pid()), Signal::SIGKILL).expect("a worker");
        case.wait_for_contenders(0);
        running.wait(DEADLINE).assert_code(123);
    }
}
