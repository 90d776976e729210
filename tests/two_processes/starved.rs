//! zklock gets little processor time: whatever it has to do, it does late.

use crate::support::{
    Case, Cgroup, DEADLINE, Proxy, Zklock, command_of, shared, skip, wait_until, worker_of,
};

/// The command has as little: zklock must be scheduled no worse than its command.
#[test]
fn with_a_small_quota_zklock_stops_its_command_before_the_next_begins() {
    let link = Proxy::to(shared());
    let case = Case::new("small-quota").through(&link.connect_string());
    let history = case.history();
    let options = ["--session-timeout", "6", "--kill-after", "1"];
    let first = case.lock(&options, ["bash", "-c", &history.steady_job("first")]).spawn();
    wait_until("the first command to run", DEADLINE, || history.sections().unwrap().len() == 1);
    let next = Zklock::at(&shared().connect_string(), case.marker());
    let next = next.args([case.path(), "--", "bash", "-c", &history.job("next", 0.2)]).spawn();
    case.wait_for_contenders(2);
    let Some(quota) = Cgroup::with_quota(DEADLINE) else { return skip("no cgroup with a quota can be made") };
    for process in [first.pid(), worker_of(first.pid()), command_of(first.pid())] {
        quota.limit(process);
    }
    link.blackhole();
    next.wait(DEADLINE).assert_code(0);
    link.pass();
    drop(quota);
    // Whichever of the two processes gets time first does it, and says why.
    let output = first.wait(DEADLINE);
    let whys = ["the lock is lost", "hung until the lease was nearly over"];
    assert!(whys.iter().any(|why| output.assert_code(123).stderr.contains(why)), "{output}");
    assert_eq!(history.exclusive_order(), ["first", "next"]);
}
