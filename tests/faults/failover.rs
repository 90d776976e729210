//! One or two of three servers fail. If the session timeout is long enough, the session continues on the servers that
//! are left, and so does every watch.

use super::holder::{assert_dead_in_time, confirmations, now, steady, wait_for_job};
use super::loan::Loan;
use crate::support::{Case, DEADLINE, Running, Zklock, end, holder, wait_until};
use std::time::Duration;

/// Leader and followers give each other up after 1.25 s, and elect a new leader in about one second more.
const SYNC_LIMIT: u32 = 5;
/// A third of this timeout is long enough for that, and for the clients to notice.
const LONG: [&str; 3] = ["-v", "--session-timeout", "48"];
/// A third of this timeout is long enough to find another server.
const SHORT: [&str; 3] = ["-v", "--session-timeout", "20"];

/// A case whose zklock is in the first zone, and whose observer connects directly.
fn case(network: &Loan, name: &str) -> Case {
    Case::at(&network.direct(), name).through(&network.connect_string(0))
}

/// Starts a waiter in the second zone, whose command is `echo ran`.
fn waiter(network: &Loan, case: &Case, options: &[&str]) -> Running {
    let zklock = Zklock::at(&network.connect_string(1), case.marker()).args(options);
    let waiter = zklock.args([case.path(), "--", "echo", "ran"]).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    waiter
}

/// The session that owns this node of the queue.
fn session(case: &Case, index: usize) -> i64 {
    let node = format!("{}/{}", case.path(), case.contenders()[index]);
    case.observer().stat(&node).unwrap().ephemeral_owner
}

/// Waits until the holder is connected again and has a new confirmation, without having lost the lock.
#[track_caller]
fn goes_on(network: &Loan, holder: &Running) {
    let is_well = || {
        let stderr = holder.stderr().text();
        assert!(!stderr.contains("lock is lost"), "{stderr}");
        stderr.contains("connected again")
    };
    wait_until("another connection", DEADLINE, is_well);
    let before = confirmations(network.zone(0));
    wait_until("a confirmation", DEADLINE, || is_well() && confirmations(network.zone(0)) > before);
}

/// Ends the holder, and checks that the waiter's command runs.
fn hands_off(holder: Running, waiter: Running) {
    assert!(!waiter.stderr().text().contains("queueing again"), "{}", waiter.stderr().text());
    end(holder);
    assert_eq!(waiter.wait(DEADLINE).assert_code(0).stdout, "ran\n");
}

/// The server that stands still. That one dies is tried in `operations`.
#[derive(Clone, Copy)]
enum Role {
    /// The leader; the holder is connected to another server.
    Leader,
    /// The server that the holder is connected to.
    Own,
}

/// Checks that a command continues when this server stands still, and that the lock is handed off while the fault lasts.
fn survives(name: &str, role: Role) {
    let network = Loan::take(SYNC_LIMIT);
    let (leader, follower) = (network.wait_for_leader(), network.a_follower());
    // The observer's library would stay connected to a frozen server.
    let sound = (leader + 2) % network.servers.len();
    let case = Case::at(&network.servers[sound].connect_string(), name).through(&network.connect_string(0));
    let history = case.history();
    network.confine(0, follower);
    let (options, server) = match role {
        Role::Leader => (LONG, leader),
        Role::Own => (SHORT, follower),
    };
    let holder = steady(&case, &history, &options, "holder", "true").spawn();
    wait_for_job(&holder, &history, "holder");
    network.pass_zone(0);
    let waiter = waiter(&network, &case, &LONG);
    let queue = case.wait_for_contenders(2);
    network.servers[server].freeze();
    goes_on(&network, &holder);
    assert_eq!(case.contenders(), queue);
    assert_eq!(waiter.stdout().text(), "");
    hands_off(holder, waiter);
    assert!(case.contenders().is_empty());
}

#[test]
fn a_command_survives_a_standstill_of_the_leader() {
    survives("leader-frozen", Role::Leader);
}

#[test]
fn a_command_survives_a_standstill_of_its_server() {
    survives("own-frozen", Role::Own);
}

#[test]
fn a_waiter_that_moved_to_another_server_is_woken_there() {
    let network = Loan::take(SYNC_LIMIT);
    let case = case(&network, "watches");
    let (leader, follower) = (network.wait_for_leader(), network.a_follower());
    network.confine(0, leader);
    network.confine(1, follower);
    let holder = holder(&case, &SHORT);
    let waiter = waiter(&network, &case, &SHORT);
    let before = session(&case, 1);
    assert_eq!(network.server_of(before), follower);
    network.pass_zone(1);
    network.servers[follower].kill();
    waiter.wait_for_line(": position ", DEADLINE);
    assert_ne!(network.server_of(before), follower, "the same session");
    assert_eq!(waiter.stdout().text(), "");
    end(holder);
    let output = waiter.wait(DEADLINE);
    assert_eq!(output.assert_code(0).stdout, "ran\n");
    assert!(!output.stderr.contains("queueing again"), "{output}");
}

#[test]
fn without_a_quorum_the_command_is_dead_in_time_and_with_it_the_next_one_runs() {
    let network = Loan::take(SYNC_LIMIT);
    let case = case(&network, "quorum");
    let history = case.history();
    let session_timeout = Duration::from_secs(5);
    let options = ["-v", "--session-timeout", "5"];
    // The holder connects to the server that will be left.
    let left = network.wait_for_leader();
    network.confine(0, left);
    let holder = steady(&case, &history, &options, "holder", "true").spawn();
    wait_for_job(&holder, &history, "holder");
    network.pass_zone(0);
    let job = history.job("next", 0.1);
    let next = Zklock::at(&network.connect_string(1), case.marker()).args(options);
    let next = next.args([case.path(), "--", "bash", "-c", &job]).spawn();
    next.wait_for_line(": position ", DEADLINE);
    network.wait_until_steady();
    for (_, server) in network.servers.iter().enumerate().filter(|(index, _)| *index != left) {
        server.kill();
    }
    // Confirmations that were sent before the second server was dead may have been answered.
    let since = now();
    holder.wait_for_line("the lock is lost", DEADLINE);
    // No server can confirm the release.
    holder.wait(DEADLINE).assert_code(123);
    assert_dead_in_time(&history, "holder", since, session_timeout);
    assert_eq!(history.sections().unwrap().len(), 1, "nobody else can have it");
    network.heal();
    next.wait(2 * DEADLINE).assert_code(0);
    assert_eq!(history.exclusive_order(), ["holder", "next"]);
}

#[test]
fn a_request_to_give_up_reaches_a_holder_that_moved_to_another_server() {
    let network = Loan::take(SYNC_LIMIT);
    let case = case(&network, "own-watch");
    let follower = network.a_follower();
    network.confine(0, follower);
    let holder = holder(&case, &SHORT);
    network.pass_zone(0);
    network.servers[follower].kill();
    holder.wait_for_line("connected again", DEADLINE);
    let node = format!("{}/{}", case.path(), case.wait_for_contenders(1)[0]);
    // This changes the data of the node, which confirmations don't check.
    case.observer().set_data(&node, "__REVOKE__");
    holder.wait(DEADLINE).assert_code(123).assert_stderr("revoked");
}
