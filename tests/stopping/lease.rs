//! Confirmations stop: the command is dead before another contender can hold the lock.

use crate::support::{Case, DEADLINE, freeze, is_alive, is_stopped, start, thaw, wait_until, worker_of};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// The pid that a script prints after `ready`.
fn pid_of(line: &str) -> Pid {
    Pid::from_raw(line["ready ".len()..].parse().expect("a pid"))
}

/// Other contenders don't have to wait until the monitor is continued.
#[test]
fn a_frozen_monitor_blocks_no_other_contender() {
    let case = Case::new("frozen-monitor-end");
    let go = case.dir().join("go");
    let script = format!("echo ready; until [ -e {} ]; do sleep 0.02; done; exit 3", go.display());
    let running = start(&case, &[], &script);
    let next = case.lock(&["-v"], ["echo", "ran"]).spawn();
    next.wait_for_line(": position ", DEADLINE);
    freeze(running.pid());
    std::fs::write(go, "").expect("a file");
    assert_eq!(next.wait(DEADLINE).assert_code(0).stdout, "ran\n");
    assert!(is_stopped(running.pid()));
    thaw(running.pid());
    running.wait(DEADLINE).assert_code(3);
}

/// As when a container is paused or a laptop sleeps: neither process could act in time. The result doesn't depend on
/// which of them continues first.
#[test]
fn a_frozen_command_is_killed_before_it_can_continue_without_the_lock() {
    for monitor_first in [true, false] {
        let case = Case::new("all-frozen");
        let file = case.dir().join("writes");
        let script = format!(
            "trap 'echo TERM >> {0}' TERM; trap 'echo CONT >> {0}' CONT; echo alive >> {0}; echo ready $$; \
             while :; do echo alive >> {0}; done",
            file.display()
        );
        let running = start(&case, &["--session-timeout", "3", "--kill-after", "1"], &script);
        let command = pid_of(&running.wait_for_stdout("ready", DEADLINE));
        let worker = worker_of(running.pid());
        for pid in [running.pid(), worker, command] {
            freeze(pid);
        }
        let writes = || std::fs::read_to_string(&file).expect("the file");
        let before = writes();
        let frozen_since = Instant::now();
        wait_until("the session's end", DEADLINE, || {
            frozen_since.elapsed() > Duration::from_secs(3) && case.contenders().is_empty()
        });
        if !monitor_first {
            thaw(worker);
            wait_until("the end of the command", DEADLINE, || !is_alive(command));
        }
        thaw(running.pid());
        let output = running.wait(DEADLINE);
        output.assert_code(123);
        assert_eq!(writes().len(), before.len(), "it continued after the lock was lost: {output}");
    }
}
