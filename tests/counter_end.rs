//! The end of the counter from which a server numbers the contenders of a path. The server is real, but its counter was
//! set, because 2^31 creates take days.

use crate::support::{Case, DEADLINE, Server};
use zklock_core::queue::order::SEQUENCE_LIMIT;
use zookeeper::CreateMode;

/// A case whose path gives the next contender this number.
fn worn(server: &Server, number: i32) -> Case {
    let case = Case::on(server, "worn");
    case.observer().mkdirs(case.path());
    case.observer().disconnect();
    server.set_counter(case.path(), number);
    case
}

fn assert_refused(case: &Case, options: &[&str]) {
    let refused = case.lock(options, ["echo", "must not run"]).run();
    refused.assert_code(125).assert_stderr("the sequence counter of this path is near its end");
    refused.assert_stderr("delete the path when the queue is empty");
    assert_eq!(refused.stdout, "");
    assert!(case.contenders().is_empty(), "nothing is left in the queue");
}

#[test]
fn long_before_the_end_contenders_are_refused_with_a_remedy_that_works() {
    let server = Server::start();
    let case = worn(&server, SEQUENCE_LIMIT - 2);
    let holder = case.holder();
    assert!(case.contenders()[0].ends_with(&(SEQUENCE_LIMIT - 2).to_string()), "the last but one");
    let waiter = case.lock(&["-v"], ["true"]).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    let refused = case.lock(&[], ["echo", "must not run"]).run();
    refused.assert_code(125).assert_stderr("the sequence counter of this path is near its end");
    holder.signal(nix::sys::signal::Signal::SIGTERM);
    holder.wait(DEADLINE);
    waiter.wait(DEADLINE).assert_code(0);
    for options in [&[][..], &["-n", "-E", "0"], &["-w", "30"], &["-s"], &["--slots", "2"]] {
        assert_refused(&case, options);
    }
    case.observer().delete(case.path());
    case.lock(&[], ["sh", "-c", "case $ZKLOCK_NODE in *0000000000) exit 0;; esac; exit 1"])
        .run()
        .assert_code(0);
}

/// Since 3.6 the counter stops, and each further contender gets the last number. Up to 3.5 it went on below zero, where the
/// numbers are in reverse order as text.
#[test]
fn at_the_end_and_beyond_it_no_command_runs() {
    let server = Server::start();
    let case = worn(&server, i32::MAX);
    let numbered = |uuid: &str| {
        let path = format!("{}/_c_{uuid}-lock-", case.path());
        case.observer().create(&path, "", CreateMode::EphemeralSequential)
    };
    let uuids = ["0a2c3f60-7a5e-4d5b-8a67-0123456789ab", "9a2c3f60-7a5e-4d5b-8a67-0123456789ab"];
    for node in uuids.map(numbered) {
        assert!(node.ends_with("-2147483647"), "{node}");
        case.observer().delete(&node);
    }
    assert_refused(&case, &[]);
    assert_refused(&case, &["--naming", "kazoo"]);
    let case = worn(&server, -5);
    for options in [&[][..], &["-n"], &["--naming", "curator-rw", "-s"]] {
        assert_refused(&case, options);
    }
}
