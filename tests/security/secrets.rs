//! Where secrets must not turn up.

use super::file;
use crate::support::{Case, Running, SOON, Zklock, command_of, status_of, worker_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Nothing else on the machine looks like that.
const SECRET: &str = "xyzzy-8c1f-plugh";

fn lines() -> String {
    format!("digest:alice:{SECRET}\nother:{SECRET}\n")
}

/// What the kernel shows of a process to everybody, or with `environ` to its user.
fn shown(pid: Pid, names: &[&str]) -> String {
    let read = |name: &&str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    names.iter().map(read).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

const HOLD: &str = "env; echo ready; exec sleep 60";

fn hold(zklock: Zklock, case: &Case) -> Running {
    let running = zklock.args(["--acl", "open", case.path(), "--", "sh", "-c", HOLD]).spawn();
    running.wait_for_stdout("ready", SOON);
    running
}

#[test]
fn a_secret_of_a_file_is_in_no_argument_no_environment_no_node_and_no_log() {
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
        let output = running.wait(SOON);
        output.assert_signal(Signal::SIGTERM);
        assert!(!output.stdout.contains(SECRET) && !output.stderr.contains(SECRET), "{output}");
    }
}

#[test]
fn everything_that_is_logged_at_trace_level_hides_them() {
    let case = Case::new("secret-trace");
    let run = |case: &Case, auth: &str| {
        let zklock = case.zklock().env("ZKLOCK_AUTH", auth).env("RUST_LOG", "trace");
        zklock.args(["-vvvv", "--acl", "open", case.path(), "true"]).run()
    };
    // Bytes are shown as numbers, too.
    let numbers = SECRET.as_bytes()[..4].iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
    for auth in [lines(), format!("digest:alice:{SECRET}"), format!("sasl-digest-md5:alice:{SECRET}")] {
        let output = run(&case, &auth);
        output.assert_stderr("trace");
        assert!(!output.stderr.contains(SECRET) && !output.stderr.contains(&numbers), "{output}");
    }
}

/// A lock in a lock inherits what the user put there, and nothing else is added.
#[test]
fn the_command_sees_the_variable_as_the_user_set_it_and_no_other() {
    let case = Case::new("secret-environment");
    let running = hold(case.zklock().env("ZKLOCK_AUTH", format!("digest:alice:{SECRET}")), &case);
    let text = running.stdout().text();
    let with: Vec<_> = text.lines().filter(|line| line.contains(SECRET)).collect();
    assert_eq!(with, [format!("ZKLOCK_AUTH=digest:alice:{SECRET}")], "{text}");
    running.signal(Signal::SIGTERM);
    running.wait(SOON);
}

/// Whether nobody but root may look into it. The kernel shows that by giving its files in `/proc` to root.
fn is_hidden(pid: Pid) -> bool {
    let environment = fs::metadata(format!("/proc/{pid}/environ")).expect("a process");
    let ids = status_of(pid, "Uid").expect("a process");
    assert!(!ids.starts_with("0\t"), "of root's processes it can't be seen");
    environment.uid() == 0
}

/// Puts a copy of zklock where everybody can reach it.
fn copy_of_zklock(case: &Case) -> PathBuf {
    let program = case.dir().join("zklock");
    // By another process: a test that forks meanwhile would keep the file open for writing, and it couldn't be run.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_zklock")).arg(&program).status();
    assert!(copied.expect("cp").success());
    fs::set_permissions(case.dir(), fs::Permissions::from_mode(0o755)).expect("a mode");
    program
}

/// zklock as somebody who isn't root.
fn zklock_of_no_root(case: &Case, program: &Path) -> Zklock {
    let root = nix::unistd::geteuid().is_root();
    let user = if root { "setpriv --reuid=65534 --regid=65534 --clear-groups" } else { "" };
    case.zklock().prelude(&format!("exec {user} {} \"$@\"", program.display()))
}

#[test]
fn memory_with_secrets_is_hidden_and_the_command_s_is_as_it_was() {
    let case = Case::new("secret-memory");
    let program = copy_of_zklock(&case);
    for hidden in [false, true] {
        let zklock = zklock_of_no_root(&case, &program);
        let zklock =
            if hidden { zklock.env("ZKLOCK_AUTH", format!("digest:alice:{SECRET}")) } else { zklock };
        let running = hold(zklock, &case);
        let zklock = running.pid();
        let worker = worker_of(zklock);
        let found = [zklock, worker, command_of(zklock)].map(is_hidden);
        assert_eq!(found, [hidden, hidden, false], "monitor, worker, command");
        let title = shown(worker, &["cmdline"]);
        assert!(title.starts_with(&format!("zklock: worker of {zklock}\0")), "{title}");
        // All that the worker has to do without the monitor it still can.
        running.signal(Signal::SIGKILL);
        case.wait_for_contenders(0);
        running.wait(SOON).assert_signal(Signal::SIGKILL);
        // And the monitor without the worker.
        let zklock = zklock_of_no_root(&case, &program);
        let zklock =
            if hidden { zklock.env("ZKLOCK_AUTH", format!("digest:alice:{SECRET}")) } else { zklock };
        let running = hold(zklock, &case);
        kill(worker_of(running.pid()), Signal::SIGKILL).expect("a worker");
        case.wait_for_contenders(0);
        running.wait(SOON).assert_code(123);
    }
}
