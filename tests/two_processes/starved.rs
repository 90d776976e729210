//! zklock gets little processor time: whatever it has to do, it does late.

use crate::support::{
    Case, DEADLINE, History, Output, Running, pass_time, skip, try_for, wait_until, worker_of,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

/// A holder whose lease is short, and a waiter behind it.
fn queue(case: &Case, history: &History) -> (Running, Running) {
    let options = ["--session-timeout", "6", "--kill-after", "1"];
    let first = case.lock(&options, ["bash", "-c", &history.steady_job("first")]).spawn();
    wait_until("the first command to run", DEADLINE, || history.sections().unwrap().len() == 1);
    let next = case.lock(&[], ["bash", "-c", &history.job("next", 0.2)]).spawn();
    case.wait_for_contenders(2);
    (first, next)
}

#[track_caller]
fn assert_blames_the_host(output: &Output) {
    output.assert_code(123).assert_stderr("starved of processor time");
    assert!(!output.stderr.contains("confirmed nothing"), "{output}");
}

/// No delay is as long as a lease tolerates. But the confirmations are so far apart then that each is lost before the
/// next: one counts T/3 before another that was answered before the newest was sent.
#[test]
fn a_worker_that_is_late_again_and_again_loses_the_lock_and_says_so() {
    let case = Case::new("late-again");
    let history = case.history();
    let (first, next) = queue(&case, &history);
    let worker = worker_of(first.pid());
    let lost = || !first.is_running() || first.stderr().count("is lost") > 0;
    let delay = || {
        // The monitor may have ended it meanwhile.
        kill(worker, Signal::SIGSTOP).ok();
        pass_time(Duration::from_millis(1_335));
        kill(worker, Signal::SIGCONT).ok();
        pass_time(Duration::from_millis(15));
    };
    try_for(DEADLINE, || {
        delay();
        lost().then_some(())
    });
    let output = first.wait(DEADLINE);
    assert_blames_the_host(&output);
    next.wait(DEADLINE).assert_code(0);
    assert_eq!(history.exclusive_order(), ["first", "next"]);
}

/// A cgroup whose processes together get three hundredths of a processor, and a process that uses them up.
struct Quota {
    directory: PathBuf,
    came_from: PathBuf,
    hog: Child,
}

impl Quota {
    /// `None` if no cgroup can be made here.
    fn new() -> Option<Self> {
        let name = format!("zklock-test-{}", std::process::id());
        let (v1, v2) = (Path::new("/sys/fs/cgroup/cpu").join(&name), Path::new("/sys/fs/cgroup").join(&name));
        let kinds: [(&Path, &[(&str, &str)]); 2] = [
            (&v1, &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "3000")]),
            (&v2, &[("cpu.max", "3000 100000")]),
        ];
        let directory = kinds.into_iter().find_map(|(directory, limits)| {
            fs::create_dir(directory).ok()?;
            let is_limited =
                limits.iter().all(|(file, limit)| fs::write(directory.join(file), limit).is_ok());
            if !is_limited {
                fs::remove_dir(directory).ok();
            }
            is_limited.then(|| directory.to_owned())
        })?;
        let hog =
            Command::new("timeout").args(["60", "sh", "-c", "while :; do :; done"]).spawn().expect("a hog");
        let came_from = directory.parent().expect("a hierarchy").join("cgroup.procs");
        let quota = Self { directory, came_from, hog };
        quota.limit(Pid::from_raw(quota.hog.id().try_into().expect("a pid")));
        Some(quota)
    }

    /// Puts a process into the cgroup, with all its threads and the children that it will have.
    fn limit(&self, pid: Pid) {
        fs::write(self.directory.join("cgroup.procs"), pid.to_string()).expect("a process to limit");
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // `timeout` forwards it.
        let hog = Pid::from_raw(self.hog.id().try_into().expect("a pid"));
        kill(hog, Signal::SIGTERM).ok();
        self.hog.wait().ok();
        // The others go back to where they came from.
        try_for(DEADLINE, || {
            let left = fs::read_to_string(self.directory.join("cgroup.procs")).unwrap_or_default();
            for process in left.lines() {
                fs::write(&self.came_from, process).ok();
            }
            fs::remove_dir(&self.directory).ok()
        });
    }
}

#[test]
fn a_zklock_with_a_small_quota_keeps_the_lock_or_blames_the_host() {
    let case = Case::new("small-quota");
    let history = case.history();
    let (first, next) = queue(&case, &history);
    let Some(quota) = Quota::new() else { return skip("no cgroup with a quota can be made") };
    for process in [first.pid(), worker_of(first.pid())] {
        quota.limit(process);
    }
    try_for(Duration::from_secs(12), || (!first.is_running()).then_some(()));
    drop(quota);
    history.finish("first");
    let output = first.wait(DEADLINE);
    if output.code != Some(0) {
        assert_blames_the_host(&output);
    }
    next.wait(DEADLINE).assert_code(0);
    assert_eq!(history.exclusive_order(), ["first", "next"]);
}
