//! systemd's variables for one process, and its sockets: they are meant for the command.

use super::gunicorn::{answer, request, socket};
use super::{go, has, python, with_helpers};
use crate::support::{Case, DEADLINE, Zklock, command_of, skip, wait_until};
use nix::sys::signal::Signal;
use std::process::Command;

/// zklock's prelude: it runs under `systemd-socket-activate`, which listens on the case's socket and passes these
/// variables on. `None`, with a skip, if the program isn't there.
fn activated(case: &Case, names: &[&str]) -> Option<String> {
    if !Command::new("systemd-socket-activate").arg("--version").output().is_ok_and(|it| it.status.success())
    {
        skip("systemd-socket-activate is not installed");
        return None;
    }
    let passed: String = ["ZKLOCK_TEST_RUN", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "WORK"]
        .iter()
        .chain(names)
        .fold(String::new(), |words, name| words + &format!(" --setenv={name}"));
    Some(format!(
        "exec systemd-socket-activate --listen={} --fdname=web{passed} -- \"$0\" \"$@\"",
        socket(case).display()
    ))
}

/// Prints what the variables say to the process that runs it: whose they are, and which descriptors it inherited.
const SHOWS: &str = r#"
import os
def own(name):
    value = os.environ.get(name)
    return value if value is None else "own" if value == str(os.getpid()) else value
print("listen", own("LISTEN_PID"), os.environ.get("LISTEN_FDS"), os.environ.get("LISTEN_FDNAMES"),
      os.environ.get("LISTEN_PIDFDID"), flush=True)
print("watchdog", own("WATCHDOG_PID"), os.environ.get("WATCHDOG_USEC"), flush=True)
print("open", *(fd for fd in range(10) if os.path.exists(f"/proc/self/fd/{fd}")), flush=True)
"#;

/// zklock whose command shows its variables. `set` is run before in a shell, whose pid zklock gets.
fn shows(case: &Case, inside: bool, set: &str) -> String {
    let zklock = [env!("CARGO_BIN_EXE_zklock"), "-z", case.hosts(), case.path(), "--"];
    let words = [if inside { &zklock[..] } else { &[] }, &["python3", "-c", SHOWS]].concat();
    let output = case.lock(&[], words).prelude(set).run();
    output.assert_code(0).stdout.clone()
}

#[test]
fn what_is_meant_for_zklock_is_meant_for_the_command() {
    let case = Case::new("listen-pid");
    let set = "export LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=a:b LISTEN_PIDFDID=7 WATCHDOG_PID=$$ \
               WATCHDOG_USEC=30000000; exec 3</dev/null 4</dev/zero";
    // The inner zklock becomes its command.
    for inside in [false, true] {
        let shown = shows(&case, inside, set);
        assert!(shown.contains("listen own 2 a:b None\nwatchdog own 30000000\nopen 0 1 2 3 4\n"), "{shown}");
    }
}

#[test]
fn what_is_meant_for_another_process_is_left_as_it_is() {
    let case = Case::new("listen-other");
    for pid in ["1", "0", "", "x", "2147483647", "-1", "007"] {
        let set = format!("export LISTEN_PID='{pid}' LISTEN_FDS=1 LISTEN_PIDFDID=7 WATCHDOG_PID='{pid}'");
        for inside in [false, true] {
            let shown = shows(&case, inside, &set);
            let expected = format!("listen {pid} 1 None 7\nwatchdog {pid} None\n");
            assert!(shown.contains(&expected), "{shown}");
        }
    }
    // Each variable for itself, and none if there was none.
    let shown = shows(&case, false, "export WATCHDOG_PID=$$ LISTEN_PID=1 LISTEN_PIDFDID=7");
    assert!(shown.contains("listen 1 None None 7\nwatchdog own None\n"), "{shown}");
    let shown = shows(&case, false, "");
    assert!(shown.contains("listen None None None None\nwatchdog None None\n"), "{shown}");
}

/// The inner zklock of another lock has a command of its own.
#[test]
fn the_command_of_an_inner_zklock_gets_what_was_meant_for_the_outer_one() {
    let case = Case::new("listen-inner");
    let other = format!("{}-other", case.path());
    let inner = [env!("CARGO_BIN_EXE_zklock"), "-z", case.hosts(), &other, "--", "python3", "-c", SHOWS];
    let set = "export LISTEN_PID=$$ LISTEN_FDS=1 WATCHDOG_PID=$$";
    let output = case.lock(&[], inner).prelude(set).run();
    assert!(output.assert_code(0).stdout.contains("listen own 1 None None\nwatchdog own None\n"), "{output}");
}

/// libsystemd itself finds the socket, and no other process of the command does.
#[test]
fn a_program_with_sd_listen_fds_finds_its_socket() {
    let case = Case::new("sd-listen-fds");
    let Some(prelude) = activated(&case, &[]) else { return };
    let script = r#"
import ctypes, os, socket
library = ctypes.CDLL("libsystemd.so.0")
found = library.sd_listen_fds(0)
if os.fork() == 0:
    print("child", library.sd_listen_fds(0), flush=True)
    os._exit(0)
os.wait()
print("found", found, os.environ["LISTEN_FDNAMES"], flush=True)
connection, _ = socket.socket(fileno=3).accept()
connection.sendall(b"served")
"#;
    let running = case.lock(&[], ["python3", "-c", script]).prelude(&prelude).spawn();
    assert!(answer(request(&case)).ends_with("served"));
    let output = running.wait(DEADLINE);
    assert_eq!(output.assert_code(0).stdout, "child 0\nfound 1 web\n", "{output}");
}

#[test]
fn gunicorn_serves_the_socket_that_systemd_opened() {
    let case = Case::new("gunicorn-socket");
    let Some(prelude) = activated(&case, &[]) else { return };
    if !has("gunicorn") {
        return;
    }
    // Without a socket from systemd it would listen on this address.
    let words = ["--bind", "127.0.0.1:1", "--no-control-socket", "gunicorn_app:app"];
    let zklock = case.lock(&["--single-child"], python("gunicorn", &words));
    let running = with_helpers(&case, zklock).prelude(&prelude).spawn();
    go(&case);
    assert!(answer(request(&case)).ends_with("\r\n\r\ndone"));
    running.wait_for_line(&format!("Listening at: unix:{}", socket(&case).display()), DEADLINE);
    running.signal(Signal::SIGTERM);
    running.wait(DEADLINE).assert_code(0);
}

/// Connections wait in the queue of the socket until the command of the next holder takes them.
#[test]
fn a_waiter_keeps_its_socket_for_its_command() {
    let case = Case::new("socket-waits");
    let Some(prelude) = activated(&case, &[]) else { return };
    let holder = case.holder();
    let script =
        "import socket; connection, _ = socket.socket(fileno=3).accept(); connection.sendall(b'served')";
    let running = case.lock(&[], ["python3", "-c", script]).prelude(&prelude).spawn();
    let request = request(&case);
    case.wait_for_contenders(2);
    crate::support::end(holder);
    assert!(answer(request).ends_with("served"));
    running.wait(DEADLINE).assert_code(0);
}

/// An exec of the command keeps its pid: a script may prepare what its server needs.
#[test]
fn the_pid_is_that_of_the_command_in_whatever_way_it_was_started() {
    let case = Case::new("listen-shell");
    let set = "export LISTEN_PID=$$ LISTEN_FDS=1";
    let check = "[ $LISTEN_PID = $$ ] && echo own; exec sleep 60";
    let of = |zklock: Zklock| {
        let running = zklock.prelude(set).spawn();
        running.wait_for_stdout("own", DEADLINE);
        let command = command_of(running.pid());
        let environment = || std::fs::read(format!("/proc/{command}/environ")).unwrap_or_default();
        let named = format!("LISTEN_PID={command}\0");
        wait_until("sleep to have it", DEADLINE, || String::from_utf8_lossy(&environment()).contains(&named));
        crate::support::end(running);
    };
    of(case.zklock().args([case.path(), "-c", check]));
    of(case.lock(&["--slots", "2"], ["sh", "-c", check]));
}
