//! The ACLs of the nodes that zklock creates.

use super::{ALICE, ALICE_ID, BOB, BOB_ID, HOLD, zklock_as};
use crate::support::{Case, DEADLINE, Observer, Server, Zklock, end, end_holder};
use nix::sys::signal::Signal;
use std::process::Command;
use std::time::Duration;
use zookeeper::{Acl, CreateMode, Permission};

/// Queues two users, who can't read each other's nodes, one after the other on `path`.
#[track_caller]
fn queue_behind_each_other(case: &Case, path: &str, options: &[&str]) {
    let first = zklock_as(case, ALICE, options).args([path, "--"]).args(HOLD).spawn();
    first.wait_for_stdout(path, DEADLINE);
    let busy = zklock_as(case, BOB, &[options, &["-n"]].concat()).args([path, "echo", "ran"]).run();
    busy.assert_code(124).assert_stderr("busy: held by");
    let second = zklock_as(case, BOB, &[options, &["-v"]].concat()).args([path, "--"]).args(HOLD).spawn();
    second.wait_for_line("position 2", DEADLINE);
    let third = zklock_as(case, ALICE, &[options, &["-v"]].concat()).args([path, "echo", "ran"]).spawn();
    third.wait_for_line("position 3", DEADLINE);
    end(first);
    second.wait_for_stdout(path, DEADLINE);
    end_holder(second);
    assert_eq!(third.wait(DEADLINE).assert_code(0).stdout, "ran\n");
}

#[test]
fn users_that_cannot_read_each_other_s_nodes_share_a_queue() {
    let case = Case::new("two-users");
    case.observer().mkdirs(case.path());
    queue_behind_each_other(&case, case.path(), &["--acl", "creator"]);
}

/// A contender that can't read another's node can't read either that this one holds a slot.
#[test]
fn users_that_cannot_read_each_other_s_nodes_hand_off_slots() {
    let case = Case::new("two-users-slots");
    case.observer().mkdirs(case.path());
    let start = |user, ahead: usize| {
        let options = ["-v", "--slots", "2", "--acl", "creator", case.path(), "--"];
        let running = zklock_as(&case, user, &options).args(HOLD).spawn();
        case.wait_for_contenders(ahead + 1);
        running
    };
    let [one, two, three, four] =
        [(ALICE, 0), (BOB, 1), (ALICE, 2), (BOB, 3)].map(|(user, ahead)| start(user, ahead));
    for running in [&one, &two] {
        running.wait_for_stdout(case.path(), DEADLINE);
    }
    for (leaving, next) in [(one, &three), (two, &four)] {
        assert_eq!(next.stdout().text(), "");
        end(leaving);
        next.wait_for_stdout(case.path(), DEADLINE);
    }
    for running in [three, four] {
        end(running);
    }
}

#[test]
fn an_acl_list_lets_two_users_share_a_path_that_zklock_creates() {
    let case = Case::new("list").authenticated_as(ALICE);
    let list = format!("{ALICE_ID}:cdrwa,{BOB_ID}:cdrw,world:anyone:r");
    let path = format!("{}/deep", case.path());
    queue_behind_each_other(&case, &path, &["--acl", &list]);
    let holder = zklock_as(&case, ALICE, &["--acl", &list]).args([&path, "--"]).args(HOLD).spawn();
    let node = holder.wait_for_stdout(&path, DEADLINE);
    let expected = [format!("{ALICE_ID}:cdrwa"), format!("{BOB_ID}:cdrw"), "world:anyone:r".to_owned()];
    for node in [&node, &path, case.path()] {
        assert_eq!(case.observer().acl(node), expected, "{node}");
    }
    holder.signal(Signal::SIGTERM);
    holder.wait(DEADLINE);
    case.observer().delete(&path);
}

#[test]
fn without_credentials_or_with_open_the_nodes_are_open_to_everyone() {
    let case = Case::new("open");
    for zklock in [case.zklock(), zklock_as(&case, ALICE, &["--acl", "open"])] {
        let holder = zklock.args([case.path(), "--"]).args(HOLD).spawn();
        let node = holder.wait_for_stdout(case.path(), DEADLINE);
        assert_eq!(case.observer().acl(&node), ["world:anyone:cdrwa"]);
        assert_eq!(case.observer().acl(case.path()), ["world:anyone:cdrwa"]);
        holder.signal(Signal::SIGTERM);
        holder.wait(DEADLINE);
    }
}

#[track_caller]
fn is_refused(zklock: Zklock, reason: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let settings = dir.path().join("zklock.toml");
    // A zklock that tried again would take much longer than it may.
    std::fs::write(&settings, "connect-timeout = 60\n").expect("a file");
    let output = zklock.env("ZKLOCK_CONFIG", settings).run();
    output.assert_code(125).assert_stderr(reason);
    assert_eq!(output.stdout, "");
    assert!(output.elapsed < Duration::from_secs(20), "{output}");
}

#[test]
fn the_missing_permission_is_reported_with_its_lock() {
    let case = Case::new("of-two").authenticated_as(ALICE);
    case.observer().mkdirs(case.path());
    let closed = format!("{}/b", case.path());
    let mine = vec![Acl::new(Permission::ALL, "auth", "")];
    case.observer().create_with_acl(&closed, "", CreateMode::Persistent, mine).unwrap();
    let free = format!("{}/a", case.path());
    let both = [free.as_str(), closed.as_str(), "--", "echo", "ran"];
    is_refused(zklock_as(&case, BOB, &[]).args(both), &format!("needs CREATE on {closed};"));
    // As Bob, who owns the node: since ZooKeeper 3.9 other users may not read its stat.
    let bob = Observer::with_digest(case.hosts(), BOB);
    assert_eq!(bob.stat(&free).expect("a node that zklock created").num_children, 0);
    case.observer().delete(&closed);
    case.observer().delete(&free);
}

/// Nothing runs, whether zklock would be alone or waits: it could never confirm the lock.
#[test]
fn an_acl_that_excludes_zklock_runs_nothing_and_leaves_no_lock_node() {
    let case = Case::new("left-out").authenticated_as(BOB);
    let list = format!("{BOB_ID}:cdrwa");
    let excluded = |path: &str| {
        zklock_as(&case, ALICE, &["--acl", &list, "--session-timeout", "6"]).args([path, "echo", "ran"])
    };
    case.observer().mkdirs(case.path());
    let own = format!("{}: zklock can't read its own node", case.path());
    is_refused(excluded(case.path()), &own);
    let holder = zklock_as(&case, BOB, &["--acl", &list]).args([case.path(), "--"]).args(HOLD).spawn();
    holder.wait_for_stdout(case.path(), DEADLINE);
    is_refused(excluded(case.path()), &own);
    assert_eq!(case.contenders().len(), 1);
    end(holder);
    assert_eq!(case.contenders(), Vec::<String>::new());
    // Of a path that zklock creates, it may not use the highest new node.
    let made = format!("{}/made", case.path());
    for path in [&made, &format!("{made}/deeper/lock")] {
        is_refused(excluded(path), &format!("needs CREATE on {made};"));
        assert_eq!(case.observer().children(&made), Vec::<String>::new());
        let check = zklock_as(&case, ALICE, &["--acl", &list]).args(["check", path]).run();
        check.assert_code(125).assert_stdout("needed to queue");
        case.observer().delete(&made);
    }
}

#[test]
fn an_acl_that_the_server_rejects_is_reported() {
    let case = Case::new("invalid");
    let options = ["--acl", "nosuch:id:cdrwa"];
    is_refused(case.lock(&options, ["echo", "ran"]), "rejects the ACL");
    case.observer().mkdirs(case.path());
    is_refused(case.lock(&options, ["echo", "ran"]), "rejects the ACL");
}

/// `digestAlg` exists since ZooKeeper 3.7. The hash is made by the command in zklock's message.
#[test]
fn a_digest_of_another_algorithm_of_the_servers_admits_its_user() {
    for (algorithm, option) in [("SHA-256", "-sha256"), ("SHA3-384", "-sha3-384"), ("SHA-512", "-sha512")] {
        let setting = format!("-Dzookeeper.DigestAuthenticationProvider.digestAlg={algorithm}");
        let server = Server::builder().java_option(&setting).start();
        let case = Case::on(&server, "digest-algorithm").authenticated_as(ALICE);
        let message = case.zklock().args(["--acl", "digest:alice:wonder:cdrwa", case.path(), "true"]).run();
        message.assert_code(125).assert_stderr("zookeeper.DigestAuthenticationProvider.digestAlg");
        let remedy = message.stderr.split("The hash: ").nth(1).unwrap().split(" (").next().unwrap();
        let remedy = remedy.replace("USER:PASSWORD", ALICE).replace("-sha1", option);
        let hash = Command::new("sh").args(["-c", &remedy]).output().unwrap().stdout;
        let hash = String::from_utf8(hash).unwrap().trim().to_owned();
        let acl = format!("digest:alice:{hash}:cdrwa");
        let output = zklock_as(&case, ALICE, &["--acl", &acl]).args([case.path(), "echo", "ran"]).run();
        assert_eq!(output.assert_code(0).stdout, "ran\n", "{algorithm}: {}", output.stderr);
        // Another user is excluded, so the servers do use this hash.
        zklock_as(&case, BOB, &["--acl", &acl]).args([case.path(), "true"]).run().assert_code(125);
    }
}
