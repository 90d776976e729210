//! Several paths: the variables for the command, and messages.

use crate::support::{Case, DEADLINE, Running, end};
use serde_json::Value;

const NO_CONTENDERS: [String; 0] = [];

fn beside(case: &Case, name: &str) -> String {
    format!("{}-{name}", case.path())
}

/// A command that prints its variables, and continues.
const PRINT_VARIABLES: &str =
    "env | grep ^ZKLOCK_ | grep -v TEST; echo $ZKLOCK_LOCKS > locks; echo told; exec sleep 60";

/// The value of a variable that this command has printed.
fn variable(running: &Running, name: &str) -> String {
    let line = running.wait_for_stdout(&format!("{name}="), DEADLINE);
    line.split_once('=').unwrap().1.to_owned()
}

#[test]
fn the_variables_describe_the_lock() {
    let case = Case::new("environment");
    let running = case.lock(&[], ["sh", "-c", PRINT_VARIABLES]).dir(case.dir()).spawn();
    running.wait_for_stdout("told", DEADLINE);
    let node = format!("{}/{}", case.path(), case.wait_for_contenders(1)[0]);
    let token = case.observer().stat(&node).unwrap().czxid;
    assert_eq!(variable(&running, "ZKLOCK_PATH"), case.path());
    assert_eq!(variable(&running, "ZKLOCK_NODE"), node);
    assert_eq!(variable(&running, "ZKLOCK_FENCING_TOKEN"), token.to_string());
    let locks: Value = serde_json::from_str(&variable(&running, "ZKLOCK_LOCKS")).unwrap();
    let lock = serde_json::json!({
        "path": case.path(), "node": node, "mode": "exclusive", "fencing_token": token,
    });
    assert_eq!(locks, Value::Array(vec![lock]));
    end(running);
}

#[test]
fn the_variables_for_one_lock_describe_the_first_path_given() {
    let case = Case::new("first");
    // In sorted order it is the last.
    let (first, second) = (beside(&case, "z"), beside(&case, "a"));
    let words = [&first, &second, &first, "--", "sh", "-c", PRINT_VARIABLES];
    let running = case.zklock().args(words).dir(case.dir()).spawn();
    running.wait_for_stdout("told", DEADLINE);
    assert_eq!(variable(&running, "ZKLOCK_PATH"), first);
    let node = format!("{first}/{}", case.observer().children(&first)[0]);
    assert_eq!(variable(&running, "ZKLOCK_NODE"), node);
    let token = case.observer().stat(&node).unwrap().czxid;
    assert_eq!(variable(&running, "ZKLOCK_FENCING_TOKEN"), token.to_string());
    let locks: Value = serde_json::from_str(&variable(&running, "ZKLOCK_LOCKS")).unwrap();
    assert_eq!(locks.as_array().unwrap().len(), 2, "each lock once");
    for path in [&first, &second] {
        assert_eq!(case.observer().children(path).len(), 1, "{path}");
    }
    end(running);
    for path in [&first, &second] {
        assert_eq!(case.observer().children(path), NO_CONTENDERS, "{path}");
    }
}

#[test]
fn the_first_lock_is_released_if_the_second_is_busy() {
    let case = Case::new("all-or-none");
    let first = beside(&case, "");
    // The case's own path sorts before it, so the busy lock is the second.
    let holder = case.zklock().args([&first, "--", "sh", "-c", "echo holding; exec sleep 60"]).spawn();
    holder.wait_for_stdout("holding", DEADLINE);
    for options in [&["-n"][..], &["-w", "5"], &["-w", "0"]] {
        let words = [case.path(), &first, "--", "echo", "ran"];
        let output = case.zklock().args(options).args(words).run();
        output.assert_code(124).assert_stderr(&format!("{first}: busy"));
        assert_eq!(output.stdout, "");
        assert_eq!(case.contenders(), NO_CONTENDERS);
        assert_eq!(case.observer().children(&first).len(), 1, "the holder's");
    }
    end(holder);
}

/// Starts a holder of two locks; the case's own path is the second on the command line.
fn holder_of_two(case: &Case) -> (Running, String) {
    let first = beside(case, "z");
    let words = [&first, case.path(), "--", "sh", "-c", "echo holding; exec sleep 60"];
    let holder = case.zklock().args(words).spawn();
    holder.wait_for_stdout("holding", DEADLINE);
    (holder, first)
}

#[test]
fn the_message_names_the_lost_lock_and_not_the_first_one() {
    let case = Case::new("lost-second");
    for (options, reason) in [(&[][..], "revoked by"), (&["--force"], "its node was deleted")] {
        let (holder, first) = holder_of_two(&case);
        case.zklock().args(["revoke", case.path()]).args(options).run().assert_code(0);
        let output = holder.wait(DEADLINE);
        output.assert_code(123).assert_stderr(reason);
        let is_of_it = |line: &str| line.starts_with(&format!("zklock: {}: ", case.path()));
        assert!(output.stderr.lines().all(is_of_it), "{first}: {output}");
    }
}

#[test]
fn the_message_names_the_refused_lock_and_not_the_first_one() {
    let case = Case::new("refused-second");
    let of_it = format!("zklock: {}: ", case.path());
    let first = beside(&case, "z");
    let both = [first.as_str(), case.path(), "--", "echo", "ran"];
    let kazoo = case.lock(&["--naming", "kazoo"], ["sh", "-c", "echo holding; exec sleep 60"]).spawn();
    kazoo.wait_for_stdout("holding", DEADLINE);
    for options in [&[][..], &["-n"]] {
        let refused = case.zklock().args(options).args(both).run();
        refused.assert_code(125).assert_stderr(&format!("{of_it}{}", case.contenders()[0]));
    }
    end(kazoo);
    let holder = case.holder();
    for options in [&[][..], &["--force"]] {
        let waiter = case.zklock().args(both).spawn();
        let node = case.wait_for_contenders(2).pop().unwrap();
        let revoke = ["revoke", case.path(), "--node", &node];
        case.zklock().args(revoke).args(options).run().assert_code(0);
        waiter.wait(DEADLINE).assert_code(125).assert_stderr(&of_it);
    }
    end(holder);
}
