//! A command that doesn't end immediately when the lock is lost: its node stays until it is dead.

use super::holder::{section, wait_for_job, wait_until_steady};
use crate::support::{Case, DEADLINE, History, Proxy, Running, Zklock, shared, wait_until};
use nix::unistd::Pid;
use std::fs;
use std::path::Path;

/// How the command reacts to TERM.
const STUBBORN: [(&str, &str); 2] = [
    ("deaf", "trap '' TERM"),
    ("slow", "trap 'for i in {1..70}; do mark alive; read -rt 0.02 -u 9; done; exit 0' TERM"),
];

/// Starts a holder whose job prints its process id.
fn holder(case: &Case, history: &History, options: &[&str], trap: &str) -> (Running, Pid) {
    let job = format!("{trap}; echo pid $$; {}", history.steady_job("holder"));
    let running = case.lock(&[&["-v"], options].concat(), ["bash", "-c", &job]).spawn();
    wait_for_job(&running, history, "holder");
    let line = running.wait_for_stdout("pid ", DEADLINE);
    let pid = Pid::from_raw(line["pid ".len()..].trim().parse().unwrap());
    (running, pid)
}

/// Starts the next contender, with a connection that works.
fn next(case: &Case, history: &History) -> Running {
    let zklock = Zklock::at(&shared().connect_string(), case.marker());
    zklock.args([case.path(), "--", "bash", "-c", &history.job("next", 0.0)]).spawn()
}

fn lives(pid: Pid) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

/// Checks from outside that the command is dead when the node is gone.
fn node_outlives(case: &Case, node: &str, pid: Pid) {
    wait_until("the node to go", DEADLINE, || {
        let there = case.observer().exists(node);
        assert!(there || !lives(pid), "the node is gone and the command lives");
        !there
    });
}

#[test]
fn the_node_of_a_revoked_holder_stays_until_the_command_is_dead() {
    for (name, trap) in STUBBORN {
        let case = Case::new(name);
        let history = case.history();
        let (holder, pid) = holder(&case, &history, &["--kill-after", "3"], trap);
        let next = next(&case, &history);
        let node = format!("{}/{}", case.path(), case.wait_for_contenders(2)[0]);
        case.observer().set_data(&node, "__REVOKE__");
        holder.wait_for_line("revoked", DEADLINE);
        assert!(lives(pid), "{name}: it takes its time");
        node_outlives(&case, &node, pid);
        holder.wait(DEADLINE).assert_code(123);
        next.wait(DEADLINE).assert_code(0);
        assert_eq!(history.exclusive_order(), ["holder", "next"], "{name}");
        assert!(!section(&history, "holder").ended);
    }
}

#[test]
fn the_node_of_a_holder_that_hears_too_late_stays_until_the_command_is_dead() {
    let proxy = Proxy::to(shared());
    let case = Case::new("unheard").through(&proxy.connect_string());
    let history = case.history();
    let options = ["--session-timeout", "6", "--kill-after", "9"];
    let (holder, pid) = holder(&case, &history, &options, "trap '' TERM");
    let next = next(&case, &history);
    let node = format!("{}/{}", case.path(), case.wait_for_contenders(2)[0]);
    wait_until_steady(&proxy, 1);
    proxy.blackhole();
    holder.wait_for_line("the lock is lost", DEADLINE);
    // This is too late for the lease, but a delete request would arrive now.
    proxy.pass();
    node_outlives(&case, &node, pid);
    next.wait(DEADLINE).assert_code(0);
    holder.wait(DEADLINE).assert_code(123);
    assert_eq!(history.exclusive_order(), ["holder", "next"]);
}

/// The client gives a session up after a while of silence. The servers may still have it, and keep the node.
#[test]
fn nothing_is_called_released_that_no_server_has_confirmed() {
    let proxy = Proxy::to(shared());
    let case = Case::new("given-up").through(&proxy.connect_string());
    let history = case.history();
    let job = history.steady_job("holder");
    let options = ["-v", "--session-timeout", "3"];
    let holder = case.lock(&options, ["bash", "-c", &job]).spawn();
    wait_for_job(&holder, &history, "holder");
    proxy.blackhole();
    let output = holder.wait(DEADLINE);
    output.assert_code(123).assert_stderr("no server confirmed the release");
    assert!(!output.stderr.contains("released") && !output.stderr.contains("gone with it"), "{output}");
    proxy.pass();
}
