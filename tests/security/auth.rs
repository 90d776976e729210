//! Authentication with credentials from files and variables.

use super::{ALICE, ALICE_ID, BOB, BOB_ID, HOLD, zklock_as};
use crate::support::{Case, DEADLINE, Ensemble, Server, end, wait_until, worker_of};
use nix::sys::signal::{Signal, kill};
use std::time::Duration;

#[test]
fn with_credentials_all_nodes_belong_to_that_user_only() {
    let case = Case::new("creator").authenticated_as(ALICE);
    let path = format!("{}/a/b", case.path());
    let holder = zklock_as(&case, ALICE, &[]).args([&path, "--"]).args(HOLD).spawn();
    let node = holder.wait_for_stdout(&path, DEADLINE);
    for node in [&node, &path, &format!("{}/a", case.path()), case.path()] {
        assert_eq!(case.observer().acl(node), [format!("{ALICE_ID}:cdrwa")], "{node}");
    }
    end(holder);
    assert!(!case.observer().exists(&node));
    for path in [&path, &format!("{}/a", case.path())] {
        case.observer().delete(path);
    }
}

#[test]
fn several_credentials_can_come_from_the_environment() {
    let case = Case::new("environment-auth").authenticated_as(ALICE);
    let lines = format!("digest:{BOB}\n\n# and\ndigest:{ALICE}\n");
    let holder = case.lock(&[], HOLD).env("ZKLOCK_AUTH", lines).spawn();
    let node = holder.wait_for_stdout(case.path(), DEADLINE);
    let expected = [format!("{ALICE_ID}:cdrwa"), format!("{BOB_ID}:cdrwa")];
    assert_eq!(case.observer().acl(&node), expected);
    end(holder);
}

#[test]
fn credentials_of_an_unknown_scheme_are_refused() {
    let case = Case::new("no-provider");
    for options in [&[][..], &["-n"], &["-w", "60", "-E", "0"], &["-q"]] {
        let options = [options, &["--connect-timeout", "60"]].concat();
        let output = case.lock(&options, ["echo", "ran"]).env("ZKLOCK_AUTH", "nosuch:s3cret").run();
        output
            .assert_code(125)
            .assert_stderr("refused the credentials: check the lines of --auth-file and ZKLOCK_AUTH");
        output.assert_stderr("and whether the server knows their scheme");
        assert_eq!(output.stdout, "");
        assert!(output.elapsed < Duration::from_secs(20), "{output}");
        assert!(!output.stderr.contains("s3cret"), "{output}");
    }
    assert!(!case.observer().exists(case.path()));
}

#[test]
fn a_server_that_demands_credentials_is_reported() {
    let server = Server::builder()
        .java_option("-Dzookeeper.enforce.auth.enabled=true")
        .java_option("-Dzookeeper.enforce.auth.schemes=digest")
        .start();
    let case = Case::on(&server, "enforced").authenticated_as(ALICE);
    let output = case.lock(&["--connect-timeout", "60"], ["echo", "ran"]).run();
    output.assert_code(125).assert_stderr("demands credentials").assert_stderr("--auth-file");
    assert!(output.elapsed < Duration::from_secs(20), "{output}");
    for (words, credentials, reason) in [
        (&["status"][..], None, "demands credentials: give them with --auth-file"),
        (&["status", case.path()], None, "demands credentials"),
        (&["revoke", case.path()], None, "demands credentials"),
        (&["forget", case.path()], None, "demands credentials"),
        (&["forget", case.path()], Some("nosuch:s3cret"), "refused the credentials: check the lines"),
    ] {
        let zklock = credentials.map_or(case.zklock(), |value| case.zklock().env("ZKLOCK_AUTH", value));
        let output = zklock.args(words).run();
        output.assert_code(125).assert_stderr(&format!("{} {reason}", server.connect_string()));
    }
    let output = zklock_as(&case, ALICE, &[]).args([case.path(), "echo", "ran"]).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}

/// Authentication belongs to a connection: another server needs the credentials again.
#[test]
fn credentials_are_sent_again_to_another_server() {
    let ensemble = Ensemble::start();
    let case = Case::at(&ensemble.connect_string(), "failover-auth").authenticated_as(ALICE);
    let options = ["-v", "--session-timeout", "30"];
    let holder = zklock_as(&case, ALICE, &options).args([case.path(), "--"]).args(HOLD).spawn();
    let node = holder.wait_for_stdout(case.path(), DEADLINE);
    let owner = case.observer().stat(&node).expect("the holder's node").ephemeral_owner;
    let is_on = |server: &&Server| server.four_letter("cons").contains(&format!("sid=0x{owner:x}"));
    let server = ensemble.members().iter().find(is_on).expect("the server that it is connected to");
    server.kill();
    holder.wait_for_line("connected again", DEADLINE);
    let waiter = zklock_as(&case, ALICE, &["-v"]).args([case.path(), "echo", "ran"]).spawn();
    waiter.wait_for_line("position 2", DEADLINE);
    holder.signal(Signal::SIGTERM);
    let output = holder.wait(DEADLINE);
    output.assert_signal(Signal::SIGTERM).assert_stderr("released");
    assert_eq!(waiter.wait(DEADLINE).assert_code(0).stdout, "ran\n");
}

#[test]
fn monitor_and_worker_delete_the_node_with_the_same_credentials() {
    let case = Case::new("half-auth").authenticated_as(ALICE);
    let hold = || zklock_as(&case, ALICE, &[]).args([case.path(), "--"]).args(HOLD).spawn();
    // Long before the end of the session, which takes 30 s.
    let assert_deleted =
        |node: &str| wait_until("the node's end", Duration::from_secs(20), || !case.observer().exists(node));

    let holder = hold();
    let node = holder.wait_for_stdout(case.path(), DEADLINE);
    kill(worker_of(holder.pid()), Signal::SIGKILL).expect("a worker");
    assert_deleted(&node);
    holder.wait(DEADLINE).assert_code(123);

    let holder = hold();
    let node = holder.wait_for_stdout(case.path(), DEADLINE);
    holder.signal(Signal::SIGKILL);
    assert_deleted(&node);
    holder.wait(DEADLINE).assert_signal(Signal::SIGKILL);
}

#[test]
fn a_nested_zklock_without_credentials_recognises_the_outer_lock() {
    let case = Case::new("nested-auth").authenticated_as(ALICE);
    case.observer().mkdirs(case.path());
    let inner =
        [env!("CARGO_BIN_EXE_zklock"), "-v", "-w", "10", "-z", case.hosts(), case.path(), "echo", "ran"];
    let output = zklock_as(&case, ALICE, &[]).args([case.path(), "--"]).args(inner).run();
    output.assert_code(0).assert_stderr("already held");
    assert_eq!(output.stdout, "ran\n");
}
