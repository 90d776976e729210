//! The notices: zklock's state, and more time for the start and the stop of the service.

use super::Manager;
use crate::support::{Case, DEADLINE, WORKER, end, host, wait_until, worker_of};
use nix::sys::signal::{Signal, kill};
use std::time::Duration;

/// A command that sends these notices, says `ready`, and waits for a signal.
fn service(notices: &str) -> [String; 3] {
    let script = format!(
        "import os, signal, socket
name = os.environ['NOTIFY_SOCKET']
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.connect('\\0' + name[1:] if name[0] == '@' else name)
manager.send(b'{notices}')
print('ready', name, flush=True)
signal.pause()"
    );
    ["python3".to_owned(), "-c".to_owned(), script]
}

/// What a notice says of zklock's state.
fn status(notice: &str) -> Option<&str> {
    notice.lines().find_map(|line| line.strip_prefix("STATUS="))
}

#[test]
fn a_standby_tells_its_state_and_the_command_that_it_is_ready() {
    let case = Case::new("notices");
    for manager in [Manager::new(&case), Manager::abstractly(&case)] {
        let holder = case.holder();
        case.wait_for_held_since(1);
        let lock = case.lock(&["--label", "standby"], service("READY=1\\nSTATUS=serving"));
        let running = lock.env("NOTIFY_SOCKET", &manager.name).spawn();
        let waits = manager.wait_for("position 2");
        let behind = format!("{}: position 2, behind {}:{} (", case.path(), host(), holder.pid());
        assert!(status(&waits).unwrap().starts_with(&behind), "{waits}");
        end(holder);
        running.wait_for_stdout(&format!("ready {}", manager.name.display()), DEADLINE);
        manager.wait_for(&format!("STATUS={}: acquired\n", case.path()));
        manager.wait_for("serving");
        running.signal(Signal::SIGTERM);
        running.wait(DEADLINE).assert_signal(Signal::SIGTERM);
        let told = manager.told();
        assert_eq!(told.last().map(String::as_str), Some("READY=1\nSTATUS=serving"), "{told:?}");
        for notice in &told[..told.len() - 1] {
            assert!(notice.contains("EXTEND_TIMEOUT_USEC="), "{notice}");
            assert!(!notice.contains("READY") && !notice.contains("MAINPID"), "{notice}");
        }
    }
}

/// Nobody reads the socket, or it is gone before the start or later.
#[test]
fn a_manager_that_takes_no_notices_holds_nothing_up() {
    let case = Case::new("notices-unread");
    let full = Manager::new(&case);
    let sender = std::os::unix::net::UnixDatagram::unbound().unwrap();
    sender.set_nonblocking(true).unwrap();
    while sender.send_to(b"STATUS=x", &full.name).is_ok() {}
    let nowhere = case.dir().join("nowhere");
    for name in [full.name.as_os_str(), nowhere.as_os_str(), "relative".as_ref(), "vsock:2:1".as_ref()] {
        let lock = case.lock(&[], ["sh", "-c", "echo \"$NOTIFY_SOCKET\""]);
        let output = lock.env("NOTIFY_SOCKET", name).run();
        output.assert_code(0);
        assert_eq!((output.stdout.trim(), output.stderr.as_str()), (name.to_str().unwrap(), ""));
        assert!(output.elapsed < Duration::from_secs(20), "{output}");
    }

    let manager = Manager::abstractly(&case);
    let running =
        case.lock(&[], ["sh", "-c", "echo up; sleep 60"]).env("NOTIFY_SOCKET", &manager.name).spawn();
    running.wait_for_stdout("up", DEADLINE);
    drop(manager);
    running.signal(Signal::SIGTERM);
    running.wait(DEADLINE).assert_signal(Signal::SIGTERM);
    case.wait_for_contenders(0);
}

/// A line break would begin another assignment.
#[test]
fn another_contender_can_not_speak_for_zklock() {
    let case = Case::new("notices-forged");
    let manager = Manager::new(&case);
    let node = case.add_contender("somebody\nREADY=1\nMAINPID=1");
    let waiter = case.lock(&[], ["true"]).env("NOTIFY_SOCKET", &manager.name).spawn();
    let told = manager.wait_for("position 2");
    assert!(status(&told).unwrap().contains("behind somebody?READY=1?MAINPID=1"), "{told}");
    case.observer().delete(&node);
    waiter.wait(DEADLINE).assert_code(0);
}

#[test]
fn the_manager_gives_time_to_clean_up_after_a_killed_worker() {
    let case = Case::new("notices-killed");
    let manager = Manager::new(&case);
    let lock = case.lock(&["--session-timeout", "12"], ["sh", "-c", "echo up; sleep 60"]);
    let running = lock.env("NOTIFY_SOCKET", &manager.name).spawn();
    running.wait_for_stdout("up", DEADLINE);
    manager.wait_for("acquired");
    kill(worker_of(running.pid()), Signal::SIGKILL).expect(WORKER);
    assert_eq!(manager.wait_for("EXTEND_TIMEOUT_USEC="), "EXTEND_TIMEOUT_USEC=27000000\n");
    running.wait(DEADLINE).assert_code(123);
    wait_until("the lock to be free", DEADLINE, || case.contenders().is_empty());
}
