//! Nobody notices the guard: not the command, not whoever looks at the machine, not its memory.
#![allow(clippy::print_stdout, reason = "what was measured is shown with --nocapture")]

use super::start;
use crate::support::{Case, SOON, children_of, guard_of, is_alive, status_of, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{getpgid, getsid};
use std::fs;

#[test]
fn the_command_sees_the_descriptors_that_zklock_was_given_and_no_other() {
    let case = Case::new("descriptors");
    let show = "ls /proc/self/fd";
    let prelude = "exec 7</dev/null 9</dev/zero";
    let bare = case.lock(&[], ["false"]).prelude(&format!("{prelude}; exec {show}")).run();
    bare.assert_code(0);
    assert!(bare.stdout.contains("7\n9\n"), "{bare}");
    let wrapped = case.lock(&[], show.split(' ')).prelude(prelude).run();
    assert_eq!(wrapped.assert_code(0).stdout, bare.stdout);
}

#[test]
fn the_guard_holds_nothing_that_was_the_caller_s() {
    let case = Case::new("guard-holds");
    let file = case.dir().join("open");
    fs::write(&file, "").expect("a file");
    let script = "echo ready; exec sleep 60";
    let running = case.lock(&[], ["sh", "-c", script]).dir(case.dir()).prelude("exec 7<open").spawn();
    running.wait_for_stdout("ready", SOON);
    let guard = guard_of(running.pid());
    let links = fs::read_dir(format!("/proc/{guard}/fd")).expect("its descriptors");
    let targets: Vec<_> = links
        .flatten()
        .filter_map(|link| fs::read_link(link.path()).ok())
        .map(|target| target.display().to_string())
        .collect();
    let pipes = targets.iter().filter(|target| target.starts_with("pipe:"));
    assert_eq!(pipes.count(), 0, "{targets:?}");
    assert!(!targets.contains(&file.display().to_string()), "{targets:?}");
    let environment = fs::read(format!("/proc/{guard}/environ")).expect("its environment");
    assert_eq!(String::from_utf8_lossy(&environment), "");
    let directory = fs::read_link(format!("/proc/{guard}/cwd")).expect("its directory");
    assert_eq!(directory.display().to_string(), "/");
    running.signal(Signal::SIGTERM);
    running.wait(SOON);
}

#[test]
fn there_is_one_and_it_has_a_session_of_its_own() {
    let case = Case::new("guard-session");
    let running = start(&case, &[], "echo ready; sleep 60; :");
    let guard = guard_of(running.pid());
    assert_eq!((getsid(Some(guard)), getpgid(Some(guard))), (Ok(guard), Ok(guard)));
    let children = children_of(running.pid());
    assert_eq!(children.len(), 2, "the guard and the command: {children:?}");
    running.signal(Signal::SIGTERM);
    running.wait(SOON);
}

#[test]
fn it_takes_next_to_no_memory() {
    let case = Case::new("guard-memory");
    let running = start(&case, &[], "echo ready; sleep 60; :");
    let guard = guard_of(running.pid());
    let rollup = fs::read_to_string(format!("/proc/{guard}/smaps_rollup")).expect("its memory");
    let kilobytes = |line: &str| line.split_whitespace().nth(1)?.parse::<u64>().ok();
    let private = rollup.lines().filter(|line| line.starts_with("Private_"));
    let private: u64 = private.filter_map(kilobytes).sum();
    println!("private memory of the guard: {private} KiB");
    assert!((1..2048).contains(&private), "{rollup}");
    running.signal(Signal::SIGTERM);
    running.wait(SOON);
}

#[test]
fn it_is_gone_and_reaped_when_zklock_is() {
    let case = Case::new("guard-gone");
    for (script, code) in [("echo ready; read -r line; exit 0", 0), ("echo ready; exec no-such", 127)] {
        let running = case.lock(&["-v"], ["bash", "-c", &format!("sleep 0.3; {script}")]).spawn();
        let guard = guard_of(running.pid());
        running.wait(SOON).assert_code(code);
        assert_eq!(status_of(guard, "State"), None, "no zombie either");
    }
    let running = case.lock(&["-n"], ["/no/such/program"]).spawn();
    running.wait(SOON).assert_code(127);
}

/// As a service manager or a shutdown does to every process.
#[test]
fn it_stays_at_its_post_when_everybody_is_told_to_end() {
    let case = Case::new("guard-ignores");
    let running = start(&case, &[], "echo ready; sleep 60; :");
    let guard = guard_of(running.pid());
    for signal in
        [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGTSTP]
    {
        kill(guard, signal).expect("a guard");
    }
    assert_eq!(guard_of(running.pid()), guard);
    assert!(is_alive(guard));
    running.signal(Signal::SIGKILL);
    case.wait_for_contenders(0);
    wait_until("its end", SOON, || !is_alive(guard));
}
