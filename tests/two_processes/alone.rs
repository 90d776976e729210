//! A worker that continues alone, because no server has confirmed yet that the node is deleted. It doesn't keep the
//! caller's files and directory open.

use super::HAND_OFF;
use crate::support::{At, Case, DEADLINE, Proxy, Running, end, is_alive, op, shared, wait_until, worker_of};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::fs;

/// The caller opens these files before it becomes zklock.
const GIVEN: &str = "exec 7<open 8<>pipe";

/// A waiter that was told to end while its servers don't answer, and its worker. The waiter is queued behind the
/// holder, and runs in the case's directory with files that its caller opened.
fn leaving(case: &Case, proxy: &Proxy) -> (Running, Pid) {
    fs::write(case.dir().join("open"), "").expect("a file");
    nix::unistd::mkfifo(&case.dir().join("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let zklock = case.lock(&["-v", "--session-timeout", "30"], ["echo", "ran"]);
    let waiter = zklock.dir(case.dir()).prelude(GIVEN).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    let worker = worker_of(waiter.pid());
    assert!(held(worker).iter().any(|target| target.ends_with("/pipe")), "{:?}", held(worker));
    proxy.once(op::DELETE, At::Hold);
    waiter.signal(Signal::SIGTERM);
    proxy.wait_fired(1, DEADLINE);
    // The request can't succeed on another connection either.
    proxy.blackhole();
    (waiter, worker)
}

/// The files that its descriptors and its working directory refer to.
fn held(pid: Pid) -> Vec<String> {
    let links = fs::read_dir(format!("/proc/{pid}/fd")).expect("its descriptors").flatten();
    let links = links.map(|link| link.path()).chain([format!("/proc/{pid}/cwd").into()]);
    links.filter_map(|link| fs::read_link(link).ok()).map(|target| target.display().to_string()).collect()
}

/// zklock is told to end at once, or its monitor is killed.
#[test]
fn a_worker_without_its_monitor_deletes_the_node() {
    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        let proxy = Proxy::to(shared());
        let case = Case::new("alone").through(&proxy.connect_string());
        let holder = case.holder();
        let (waiter, worker) = leaving(&case, &proxy);
        waiter.signal(signal);
        let output = waiter.wait(DEADLINE);
        assert!(output.assert_signal(signal).closed, "the pipes of the caller: {output}");
        assert!(is_alive(worker));
        let of_caller = |target: &String| {
            target.starts_with("pipe:") || target.starts_with(&case.dir().display().to_string())
        };
        wait_until("it to let go", DEADLINE, || !held(worker).iter().any(of_caller));
        let directory = fs::read_link(format!("/proc/{worker}/cwd")).expect("a directory");
        assert_eq!(directory.display().to_string(), "/");
        proxy.cut_all();
        proxy.release();
        proxy.pass();
        case.observer().wait_for_contenders(case.path(), 1, HAND_OFF);
        wait_until("the worker's end", DEADLINE, || !is_alive(worker));
        end(holder);
    }
}
