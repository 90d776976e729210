//! Servers as operators run them: what becomes of a holder, of waiters, of a queue that moves and of `status --watch`.

use crate::support::{Case, DEADLINE, Ensemble, History, Running, STEADY, Server, end, wait_until};
use std::time::Duration;

/// How long the last commands may take to run after an operation.
const DRAIN: Duration = Duration::from_mins(3);

/// The options of all contenders.
const OPTIONS: [&str; 3] = ["-v", "--session-timeout", STEADY];
/// How many contenders queue for another lock, one running after the other, and for how many seconds each runs.
const CROWD: usize = 5;
const JOB: f64 = 0.5;

/// Whether an operation costs the locks that are held.
#[derive(Clone, Copy, PartialEq)]
enum Costs {
    Nothing,
    HeldLocks,
}

#[test]
fn restarting_each_server_costs_no_command() {
    try_operation("restart", Costs::Nothing, |ensemble| {
        for server in ensemble.members() {
            server.relaunch();
            wait_until_whole(ensemble);
        }
    });
}

#[test]
fn replacing_each_server_by_an_empty_one_costs_no_command() {
    try_operation("replace", Costs::Nothing, |ensemble| {
        for server in ensemble.members() {
            server.relaunch_empty();
            wait_until_whole(ensemble);
        }
    });
}

#[test]
fn a_server_that_joins_and_a_leader_that_is_removed_cost_no_command() {
    try_operation("reconfigure", Costs::Nothing, |ensemble| {
        let specification = ensemble.launch_another();
        ensemble.reconfigure(&["-add", &specification]);
        wait_until_whole(ensemble);
        let leader = ensemble.leader().port();
        let place = ensemble.members().iter().position(|member| member.port() == leader).expect("a member");
        ensemble.reconfigure(&["-remove", &(place + 1).to_string()]);
        ensemble.members()[place].kill();
        wait_until("another leader", DEADLINE, || modes(ensemble).iter().any(|mode| mode == "leader"));
    });
}

#[test]
fn an_emptied_ensemble_costs_the_lock_and_no_waiter() {
    try_operation("emptied", Costs::HeldLocks, |ensemble| {
        ensemble.members().iter().for_each(Server::kill);
        ensemble.members().iter().for_each(Server::relaunch_empty);
        wait_until_whole(ensemble);
    });
}

/// The modes of the servers that serve clients.
fn modes(ensemble: &Ensemble) -> Vec<String> {
    ensemble.members().iter().filter_map(Server::mode).collect()
}

/// Waits until every server that runs follows or leads.
#[track_caller]
fn wait_until_whole(ensemble: &Ensemble) {
    let running = ensemble.members().iter().filter(|member| member.pid().is_some()).count();
    wait_until("all servers", DRAIN, || modes(ensemble).len() == running);
}

#[track_caller]
fn try_operation(name: &str, costs: Costs, operation: impl FnOnce(&mut Ensemble)) {
    let mut ensemble = Ensemble::builder()
        .tick_ms(500)
        .config("reconfigEnabled=true")
        .config("standaloneEnabled=false")
        // Anyone may change the members.
        .java_option("-Dzookeeper.skipACL=yes")
        .start();
    let case = Case::at(&ensemble.connect_string(), name);
    let (history, others) = (case.history(), History::new(case.dir(), "crowd"));
    let queue = |path: &str, options: &[&str], job: &str| {
        let contender =
            case.zklock().args(OPTIONS).args(options).args([path, "--", "bash", "-c", job]).spawn();
        contender.wait_for_line("queued as", DEADLINE);
        contender
    };
    let holder = queue(case.path(), &[], &history.steady_job("holder"));
    let waiter = queue(case.path(), &[], "echo ran");
    let watch = case.zklock().args(["status", "--watch", "--json", case.path()]).spawn();
    watch.wait_for_stdout("\"locks\":[{", DEADLINE);
    let path = format!("{}-crowd", case.path());
    let member = |number: usize| queue(&path, &[], &others.job(&number.to_string(), JOB));
    let crowd: Vec<Running> = (0..CROWD).map(member).collect();
    let limited = queue(case.path(), &["-w", "5"], "echo no");
    limited.wait_for_line(": position ", DEADLINE);

    operation(&mut ensemble);
    let limited = limited.wait(DRAIN);
    history.finish("holder");
    let holder = holder.wait(DEADLINE);
    assert_eq!(waiter.wait(DRAIN).assert_code(0).stdout, "ran\n");
    let codes: Vec<_> = crowd.into_iter().map(|member| member.wait(DRAIN).code).collect();
    assert!(watch.is_running(), "the watch ended: {}", watch.stderr().text());
    end(watch);
    assert_eq!(others.most_at_once(), 1, "{:#?}", others.sections());
    if costs == Costs::Nothing {
        holder.assert_code(0);
        limited.assert_code(124);
        assert_eq!(codes, [Some(0); CROWD]);
        let order: Vec<_> = others.sections().unwrap().into_iter().map(|section| section.name).collect();
        assert_eq!(order, ["0", "1", "2", "3", "4"], "not in the order of the queue");
        return;
    }
    // Its command may also end within the lease, before zklock has found a server that serves.
    if holder.code == Some(0) {
        holder.assert_stderr("the session has ended, and the node with it");
    } else {
        holder.assert_code(123).assert_stderr("the lock was lost");
    }
    // Who has lost the lock has been stopped, and all others run, perhaps in another order.
    let [lost, done] = [123, 0].map(|code| codes.iter().filter(|found| **found == Some(code)).count());
    assert!(lost <= 1 && lost + done == CROWD, "{codes:?}");
}
