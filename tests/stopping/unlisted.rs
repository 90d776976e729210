//! A kernel that doesn't list the children of a process (built without `CONFIG_PROC_CHILDREN`).

use crate::support::{
    Case, DEADLINE, Running, children_of, is_alive, processes_of, wait_for, wait_until, without_lists,
    worker_of,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::Path;

/// A job whose first process has a child in a session of its own, which has a child in another one. All go on after TERM,
/// and report it.
fn deep_job(dir: &Path) -> String {
    let told = dir.join("told");
    let process = |name: &str, child: &str| {
        let script = dir.join(name);
        let trap = format!("trap 'echo {name} >>{}' TERM", told.display());
        let text = format!("{trap}; {child}\necho {name}; while :; do sleep 0.05; done\n");
        fs::write(&script, text).expect("a script");
        script.display().to_string()
    };
    let last = process("last", "");
    let middle = process("middle", &format!("setsid bash '{last}' &"));
    process("first", &format!("setsid bash '{middle}' &"))
}

#[test]
fn a_forced_stop_reaches_every_descendant() {
    for kills_the_worker in [false, true] {
        let case = Case::new("unlisted");
        let library = without_lists(case.dir());
        let job = deep_job(case.dir());
        // On a busy machine it takes a while until all three have reported TERM.
        let kill_after = if kills_the_worker { "3" } else { "5" };
        let zklock = case.lock(&["--kill-after", kill_after], ["bash", &job]);
        let running = zklock.env("LD_PRELOAD", library).spawn();
        for name in ["first", "middle", "last"] {
            running.wait_for_stdout(name, DEADLINE);
        }
        if kills_the_worker {
            kill(worker_of(running.pid()), Signal::SIGKILL).expect("a worker");
        } else {
            case.zklock().args(["revoke", case.path()]).run().assert_code(0);
            wait_until("TERM to all three", DEADLINE, || {
                let told = fs::read_to_string(case.dir().join("told")).unwrap_or_default();
                ["first", "middle", "last"].iter().all(|name| told.contains(name))
            });
        }
        running.wait(DEADLINE).assert_code(123);
        assert_eq!(processes_of(case.marker()), []);
    }
}

/// Starts zklock as a process that has a child already. Returns that child, too.
fn start_with_child(case: &Case, variable: &str, value: &str) -> (Running, Pid) {
    let file = case.dir().join("child");
    let prelude = format!("sleep 301 </dev/null >/dev/null 2>&1 & echo $! >'{}'", file.display());
    let zklock = case.lock(&[], ["sh", "-c", "echo ready; exec sleep 61"]).prelude(&prelude);
    let running = zklock.env("LD_PRELOAD", without_lists(case.dir())).env(variable, value).spawn();
    let child = wait_for("the child", DEADLINE, || {
        fs::read_to_string(&file).ok().and_then(|text| text.trim_end().parse().ok())
    });
    (running, Pid::from_raw(child))
}

/// Kills the worker, which has the command's processes below it, and checks that the other child of zklock survives.
fn assert_survives_the_worker(child: Pid, running: Running) {
    let children = children_of(running.pid()).into_iter().map(|(pid, _)| pid);
    for worker in children.filter(|&pid| pid != child) {
        kill(worker, Signal::SIGKILL).expect("a worker");
    }
    running.wait(DEADLINE).assert_code(123);
    assert!(is_alive(child));
    kill(child, Signal::SIGKILL).expect("the child");
}

/// A list that can't be read isn't an empty one. While nothing is known, nothing is started.
#[test]
fn unrelated_children_survive_although_a_scan_has_failed() {
    let case = Case::new("unlisted-first");
    let (running, child) = start_with_child(&case, "FAILING_SCAN", "1");
    running.wait(DEADLINE).assert_code(125).assert_stderr("can't list the children of this process");
    assert!(is_alive(child));
    kill(child, Signal::SIGKILL).expect("the child");
    for scan in ["2", "3", "4", "5"] {
        let case = Case::new("unlisted-once");
        let (running, child) = start_with_child(&case, "FAILING_SCAN", scan);
        running.wait_for_stdout("ready", DEADLINE);
        assert_survives_the_worker(child, running);
    }
}

#[test]
fn unrelated_children_survive_a_worker_that_is_killed_before_the_monitor_has_looked() {
    let case = Case::new("unlisted-late");
    let (running, child) = start_with_child(&case, "LATE_SCAN", "1");
    running.wait_for_stdout("ready", DEADLINE);
    assert_survives_the_worker(child, running);
}
