//! Children of the lock path that zklock didn't create: which are contenders, which are ignored, and which are refused.

use crate::support::{Case, DEADLINE};
use zookeeper::CreateMode;

/// The name of a lock node of Curator's mutex with the marker as uuid, without its sequence number.
fn curator(case: &Case) -> String {
    format!("_c_{}-lock-", case.marker())
}

/// Creates a child of the lock path, and returns its path.
fn child(case: &Case, name: &str, mode: CreateMode) -> String {
    case.observer().mkdirs(case.path());
    let path = format!("{}/{name}", case.path());
    case.observer().create(&path, "", mode)
}

#[test]
fn children_that_are_no_contenders_are_ignored() {
    let case = Case::new("foreign");
    let mut children = vec![child(&case, "config-", CreateMode::PersistentSequential)];
    for name in
        ["-", "0000000000", "lock", "lock-", "lock-12", "_c_-lock-x", "lock-00000000000", "\u{e4}-0000000000"]
    {
        children.push(child(&case, name, CreateMode::Persistent));
    }
    for options in [&[][..], &["-n"]] {
        let output = case.lock(&[&["-w", "60"], options].concat(), ["echo", "ran"]).run();
        assert_eq!(output.assert_code(0).stdout, "ran\n");
    }
    for path in children {
        case.observer().delete(&path);
    }
}

/// No session's end deletes it, so a contender would wait forever.
#[test]
fn a_persistent_node_with_a_contenders_name_is_refused() {
    for mode in [CreateMode::Persistent, CreateMode::Container] {
        let case = Case::new("not-ephemeral");
        let node = child(&case, "lock-0000000000", mode);
        let says = format!("{node} has a contender's name but isn't ephemeral");
        for options in [&[][..], &["-n", "-E", "0"], &["-s"]] {
            let output = case.lock(options, ["echo", "must not run"]).run();
            assert_eq!(output.assert_code(125).assert_stderr(&says).stdout, "");
        }
        assert_eq!(case.observer().children(case.path()), ["lock-0000000000"]);
        case.observer().delete(&node);
    }
}

/// A contender waits only for lower numbers, so such a node is an obstacle once the counter has reached its number.
#[test]
fn a_persistent_node_is_an_obstacle_only_to_contenders_behind_it() {
    for mode in [CreateMode::Persistent, CreateMode::Container] {
        let case = Case::new("persistent-behind");
        let lock = |options: &[&str]| case.lock(options, ["echo", "ran"]).run();
        // The path's first child has taken number 0, whatever its name says.
        let node = child(&case, "lock-0000000006", mode);
        for options in [&[][..], &["-n"], &["-n", "-s"], &[], &[]] {
            assert_eq!(lock(options).assert_code(0).stdout, "ran\n");
        }
        // The next contender has the node's own number.
        for options in [&[][..], &["-n", "-E", "0"]] {
            lock(options).assert_code(125).assert_stderr("lock-0000000006");
        }
        assert_eq!(case.observer().children(case.path()), ["lock-0000000006"]);
        case.observer().delete(&node);
    }
}

#[test]
fn a_persistent_node_of_another_kind_is_no_obstacle_behind() {
    let case = Case::new("persistent-kind");
    let node = child(&case, "slots3-lock-0000000100", CreateMode::Persistent);
    for options in [&[][..], &["-n"], &["-n", "--slots", "2"]] {
        assert_eq!(case.lock(options, ["echo", "ran"]).run().assert_code(0).stdout, "ran\n");
    }
    case.observer().delete(&node);
}

#[test]
fn older_clients_of_the_same_naming_are_queued_behind() {
    let cases = [(); 3].map(|()| Case::new("family"));
    let names = [
        "lock-".to_owned(),
        format!("_c_{}-lock-", cases[1].marker().replace('-', "")),
        format!("_c_{}-read-lock-", cases[2].marker()),
    ];
    // They run at the same time, so that a busy machine has long to see in each that the lock is busy.
    let mut started = vec![];
    for (case, name) in cases.iter().zip(&names) {
        let ahead = child(case, name, CreateMode::EphemeralSequential);
        let runs = [&["-n"][..], &["-w", "9"]].map(|options| case.lock(options, ["echo", "ran"]).spawn());
        started.push((case, ahead, runs));
    }
    for (case, ahead, runs) in started {
        for run in runs {
            let output = run.wait(DEADLINE);
            output.assert_code(124).assert_stderr(ahead.rsplit('/').next().unwrap());
            assert_eq!(output.stdout, "");
        }
        case.observer().delete(&ahead);
    }
}

/// zklock fails with these reasons, and leaves no node.
fn is_refused(case: &Case, options: &[&str], reasons: &[&str]) {
    let output = case.lock(options, ["echo", "ran"]).run();
    output.assert_code(125).assert_stderr(case.path());
    for reason in reasons {
        output.assert_stderr(reason);
    }
    assert_eq!(output.stdout, "");
    assert_eq!(case.contenders().len(), 1, "zklock's node is deleted");
}

/// Node names of clients that don't recognise zklock's nodes, or that use another number of slots.
fn incompatible_names(case: &Case) -> Vec<(String, &'static str)> {
    let (uuid, id) = (case.marker(), case.marker().replace('-', ""));
    vec![
        (format!("{id}__lock__"), "kazoo"),
        (format!("{id}__rlock__"), "kazoo"),
        (format!("_c_{uuid}-__WRIT__"), "curator-rw"),
        (format!("_c_{uuid}-__READ__"), "curator-rw"),
        (format!("_c_{uuid}-slots3-lock-"), "3 slots"),
    ]
}

#[test]
fn contenders_that_would_not_see_zklock_s_nodes_are_refused() {
    let case = Case::new("strangers");
    for (name, reason) in incompatible_names(&case) {
        let node = child(&case, &name, CreateMode::EphemeralSequential);
        let name = node.rsplit('/').next().unwrap();
        is_refused(&case, &[], &[name, reason]);
        is_refused(&case, &["-w", "60", "-E", "0"], &[name, reason]);
        case.observer().delete(&node);
    }
}

#[test]
fn contenders_that_would_not_see_zklock_s_nodes_are_an_error_and_not_a_conflict() {
    let case = Case::new("strangers-nonblock");
    for (name, reason) in incompatible_names(&case) {
        let node = child(&case, &name, CreateMode::EphemeralSequential);
        is_refused(&case, &["-n", "-E", "0"], &[reason]);
        case.observer().delete(&node);
    }
}

#[test]
fn a_sequence_number_near_its_limit_is_refused() {
    let case = Case::new("end");
    for number in ["2147483646", "2147483647", "-2147483648", "-000000001"] {
        let node = child(&case, &format!("{}{number}", curator(&case)), CreateMode::Persistent);
        is_refused(&case, &["-w", "60"], &[number, "near its end", "delete the path"]);
        case.observer().delete(&node);
    }
}

#[test]
fn two_contenders_with_the_same_number_are_refused() {
    // The path's first child: zklock's node gets the same number.
    let case = Case::new("tie");
    let node = child(&case, &format!("{}0000000001", curator(&case)), CreateMode::Persistent);
    is_refused(&case, &[], &["the same number", &curator(&case)]);
    case.observer().delete(&node);
}
