//! One or two of three servers fail. If the session timeout is long enough, the session continues on the servers that
//! are left, and so does every watch.

use super::holder::{assert_dead_in_time, confirmations, now, steady, wait_for_job};
use super::loan::Loan;
use crate::support::{Case, DEADLINE, Running, Zklock, end, wait_until};
use std::time::Duration;

/// Leader and followers give each other up after 1.25 s, and elect a new leader in about one second more.
const SYNC_LIMIT: u32 = 5;
/// A third of this timeout is long enough for that, and for the clients to notice.
const LONG: [&str; 3] = ["-v", "--session-timeout", "48"];
/// A third of this timeout is long enough to find another server.
const SHORT: [&str; 3] = ["-v", "--session-timeout", "20"];

/// Starts a waiter in the second zone, whose command is `echo ran`.
fn waiter(network: &Loan, case: &Case, options: &[&str]) -> Running {
    let zklock = Zklock::at(&network.connect_string(1), case.marker()).args(options);
    let waiter = zklock.args([case.path(), "--", "echo", "ran"]).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    waiter
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

/// The server that fails.
#[derive(Clone, Copy, PartialEq)]
enum Fails {
    /// The leader stands still; the holder is connected to another server.
    Leader,
    /// The holder's stands still.
    Holders,
    /// The waiter's dies.
    Waiters,
}

#[test]
fn a_command_survives_a_standstill_of_the_leader() {
    survives(Fails::Leader);
}

#[test]
fn a_command_survives_a_standstill_of_its_server() {
    survives(Fails::Holders);
}

#[test]
fn a_waiter_that_moved_to_another_server_is_woken_there() {
    survives(Fails::Waiters);
}

/// Checks that holder and waiter keep their sessions, and that the lock is handed off while the fault lasts.
#[track_caller]
fn survives(fails: Fails) {
    let network = Loan::take(SYNC_LIMIT);
    let (leader, follower) = (network.wait_for_leader(), network.a_follower());
    // The observer's library would stay connected to a frozen server.
    let sound = &network.servers[(leader + 2) % network.servers.len()];
    let case = Case::at(&sound.connect_string(), "failover").through(&network.connect_string(0));
    let history = case.history();
    let is_waiter = fails == Fails::Waiters;
    let options = if fails == Fails::Leader { LONG } else { SHORT };
    network.confine(0, if is_waiter { leader } else { follower });
    let holder = steady(&case, &history, &options, "holder", "true").spawn();
    wait_for_job(&holder, &history, "holder");
    network.pass_zone(0);
    if is_waiter {
        network.confine(1, follower);
    }
    let waiter = waiter(&network, &case, &options);
    network.pass_zone(1);
    let queue = case.wait_for_contenders(2);
    let node = format!("{}/{}", case.path(), queue[usize::from(is_waiter)]);
    let session = case.observer().stat(&node).unwrap().ephemeral_owner;
    assert_eq!(network.server_of(session), follower);
    match fails {
        Fails::Leader => network.servers[leader].freeze(),
        Fails::Holders => network.servers[follower].freeze(),
        Fails::Waiters => network.servers[follower].kill(),
    }
    if is_waiter {
        assert_ne!(network.server_of(session), follower, "the same session");
    } else {
        goes_on(&network, &holder);
    }
    assert_eq!(case.contenders(), queue);
    assert_eq!(waiter.stdout().text(), "");
    assert!(!waiter.stderr().text().contains("queueing again"), "{}", waiter.stderr().text());
    end(holder);
    assert_eq!(waiter.wait(DEADLINE).assert_code(0).stdout, "ran\n");
    case.wait_for_contenders(0);
}

#[test]
fn without_a_quorum_the_command_is_dead_in_time_and_with_it_the_next_one_runs() {
    let network = Loan::take(SYNC_LIMIT);
    let case = Case::at(&network.direct(), "quorum").through(&network.connect_string(0));
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
