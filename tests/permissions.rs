//! Missing permissions: every call names the permission, and leaves nothing behind.
//!
//! A row is what everyone may do at a node, and the calls at a path there. To add one, write it below.

use crate::support::{Case, DEADLINE, end, holder, shared, wait_until};
use std::time::Duration;
use zookeeper::{Acl, CreateMode, Permission};

/// The permissions, the path behind the node, the calls, their exit code, and what they say; in that, `NODE` is the node. `RUN`
/// is the path and a command.
type Row = (&'static [Permission], &'static str, &'static [&'static str], i32, &'static str);

const READ: &[Permission] = &[Permission::READ];
const READ_CREATE: &[Permission] = &[Permission::READ, Permission::CREATE];
const ALL_BUT_READ: &[Permission] = &[Permission::CREATE, Permission::DELETE];
const WRITE: &[Permission] = &[Permission::WRITE];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    (READ, "", &["RUN", "-n RUN", "-w 60 -E 0 RUN", "-q RUN"], 125, "needs CREATE on NODE;"),
    (READ, "/a/b", &["RUN"], 125, "needs CREATE on NODE;"),
    (READ, "/a/b", &["check PATH"], 125, "no CREATE on NODE, needed to queue"),
    // Since ZooKeeper 3.9 a client needs READ to see whether a node exists.
    (WRITE, "/a/b", &["RUN", "-n RUN"], 125, "needs CREATE on NODE;"),
    (WRITE, "", &["wait -n -E 0 PATH"], 125, "NODE: no permission to see the queue: needs READ"),
    (ALL_BUT_READ, "", &["RUN", "-n RUN", "-n -E 0 RUN"], 125, "needs READ on NODE"),
    (ALL_BUT_READ, "", &["check PATH"], 125, "no READ on"),
    // The end of the session releases the lock.
    (READ_CREATE, "", &["RUN"], 4, ""),
    (READ_CREATE, "", &["check PATH"], 1, "no DELETE on"),
    // zklock creates the lock path, with an ACL of its own.
    (READ_CREATE, "/new", &["check PATH"], 0, "CREATE"),
    (READ_CREATE, "/new", &["-v RUN"], 4, "released"),
];

#[test]
fn each_call_names_the_permission_that_it_lacks_and_leaves_no_node() {
    for (permissions, below, calls, code, says) in ROWS {
        // The observer authenticates as a user that may do everything.
        let case = Case::new("lacks").authenticated_as("observer:secret");
        let node = format!("{}-guarded", case.path());
        let open = permissions.iter().map(|permission| Acl::new(*permission, "world", "anyone"));
        let acl = open.chain([Acl::new(Permission::ALL, "auth", "")]).collect();
        case.observer().create_with_acl(&node, "", CreateMode::Persistent, acl).unwrap();
        let path = format!("{node}{below}");
        for call in *calls {
            let run = [path.as_str(), "--", "sh", "-c", "echo ran; exit 4"];
            let words = call.split(' ').flat_map(|word| match word {
                "RUN" => run.to_vec(),
                "PATH" => vec![path.as_str()],
                _ => vec![word],
            });
            let output = case.zklock().args(words).run();
            let said = if call.starts_with("check") { &output.stdout } else { &output.stderr };
            assert_eq!(output.code, Some(*code), "{call} {permissions:?}: {output}");
            assert!(said.contains(&says.replace("NODE", &node)), "{call}: no {says:?}: {output}");
            assert_eq!(output.stdout.contains("ran"), *code == 4, "{output}");
            assert!(output.elapsed < Duration::from_secs(25), "{:?}", output.elapsed);
            // The lock path that zklock creates, but no lock node.
            let left = case.observer().children(&node);
            assert_eq!(left.len(), usize::from(*below == "/new" && *code == 4), "{call}: {left:?}");
        }
        case.observer().delete_if_there(&path);
    }
}

#[test]
fn a_contender_that_cannot_be_read_is_waited_for() {
    let case = Case::new("unreadable");
    let ahead = case.observer().contend(case.path(), "", Permission::WRITE);
    let waiter = case.lock(&["-v", "-w", "60"], ["echo", "ran"]).spawn();
    waiter.wait_for_line("position 2", DEADLINE);
    // Servers since 3.8.4 and 3.9.2 (CVE-2024-23944) send no events about a node to clients that may not read it.
    case.observer().delete(&ahead);
    assert_eq!(waiter.wait(DEADLINE).assert_code(0).stdout, "ran\n");
}

#[test]
fn an_ephemeral_node_can_hold_no_lock() {
    let case = Case::new("ephemeral");
    case.observer().mkdirs("/t");
    let ephemeral = format!("{}-ephemeral", case.path());
    case.observer().create(&ephemeral, "", CreateMode::Ephemeral);
    for path in [ephemeral.clone(), format!("{ephemeral}/a"), format!("{ephemeral}/a/b")] {
        for options in [&[][..], &["-n"]] {
            let output = case.zklock().args(options).args([&path, "--", "echo", "ran"]).run();
            output
                .assert_code(125)
                .assert_stderr(&path)
                .assert_stderr("ephemeral node, which can't have children: use another path");
            assert_eq!(output.stdout, "");
        }
    }
    case.observer().delete(&ephemeral);
}

/// Sets an ACL on the last contender's node that denies reading it.
fn forbid_the_last_contender(case: &Case) {
    let node = format!("{}/{}", case.path(), case.contenders().pop().unwrap());
    case.observer().restrict(&node, Permission::WRITE);
}

#[test]
fn a_waiter_that_loses_read_on_its_own_node_leaves_the_queue() {
    let case = Case::new("forbidden-waiter");
    let holder = case.holder();
    let waiter = case.lock(&["-v", "--session-timeout", "6"], ["echo", "ran"]).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    forbid_the_last_contender(&case);
    let output = waiter.wait(DEADLINE);
    output.assert_code(125).assert_stderr("zklock can't read its own node");
    assert_eq!(output.stdout, "");
    end(holder);
}

#[test]
fn a_holder_that_loses_read_on_its_own_node_reports_it_when_it_stops() {
    let case = Case::new("forbidden-holder");
    let holder = holder(&case, &["--session-timeout", "10"]);
    // From then on it doesn't read its node, which would show the same.
    case.wait_for_held_since(1);
    let node = format!("{}/{}", case.path(), case.contenders()[0]);
    wait_until("it to watch its node again", DEADLINE, || shared().watchers_of(&node) == 1);
    forbid_the_last_contender(&case);
    holder.wait(DEADLINE).assert_code(123).assert_stderr("the lock is lost: no answer for ");
}
