//! Children of the lock path that zklock didn't create: which are contenders, which are ignored, and which are refused.
//! Locks of other libraries are in [`crate::queues`].
//!
//! A row is one child and the calls that meet it. To add one, write it below: `UUID` stands for a uuid in a name, and `ID` for
//! one without hyphens.

use crate::support::{Case, DEADLINE, try_rows};
use zookeeper::CreateMode::{self, Container, EphemeralSequential, Persistent, PersistentSequential};

/// The child, the calls, their exit code, and what they say; in that, `NAME` is the child's name.
type Row = (&'static str, CreateMode, &'static [&'static str], i32, &'static [&'static str]);

const RUN: &[&str] = &["-w 60", "-n -w 60"];
const ALL: &[&str] = &["", "-w 60 -E 0", "-n -E 0"];
/// No session's end deletes it, so a contender would wait forever.
const NOT_EPHEMERAL: &[&str] = &[
    "/NAME has a contender's name but isn't ephemeral",
    "delete it if it is a leftover, or use another lock path",
];
const KAZOO: &[&str] = &["NAME", "--naming kazoo queues with it"];
const CURATOR_RW: &[&str] = &["NAME", "--naming curator-rw queues with it"];
const CALLS: &[&str] = &["", "-n -E 0", "-s", "wait", "wait -n -E 0"];
const AT_THE_END: &[&str] = &["NAME", "near its end", "delete the path"];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // No contenders.
    ("config-", PersistentSequential, RUN, 0, &[]),
    ("-", Persistent, RUN, 0, &[]),
    ("0000000000", Persistent, RUN, 0, &[]),
    ("lock", Persistent, RUN, 0, &[]),
    ("lock-", Persistent, RUN, 0, &[]),
    ("lock-12", Persistent, RUN, 0, &[]),
    ("_c_-lock-x", Persistent, RUN, 0, &[]),
    ("lock-00000000000", Persistent, RUN, 0, &[]),
    ("\u{e4}-0000000000", Persistent, RUN, 0, &[]),
    ("slots3-lock-0000000100", Persistent, &["", "-n", "-n --slots 2"], 0, &[]),
    // Older clients of the same naming are queued behind.
    ("lock-", EphemeralSequential, &["-n", "-w 9"], 124, &["NAME"]),
    ("_c_ID-lock-", EphemeralSequential, &["-n", "-w 9"], 124, &["NAME"]),
    ("_c_UUID-read-lock-", EphemeralSequential, &["-n", "-w 9"], 124, &["NAME"]),
    // Contenders that would not see zklock's nodes, or that use another number of slots.
    ("ID__lock__", EphemeralSequential, ALL, 125, KAZOO),
    ("ID__rlock__", EphemeralSequential, ALL, 125, KAZOO),
    ("_c_UUID-__WRIT__", EphemeralSequential, ALL, 125, CURATOR_RW),
    ("_c_UUID-__READ__", EphemeralSequential, ALL, 125, CURATOR_RW),
    ("_c_UUID-slots3-lock-", EphemeralSequential, ALL, 125, &["NAME", "3 slots", "all contenders of a path must agree"]),
    ("latch-", EphemeralSequential, &["wait -n"], 125, &["choose another path"]),
    ("lock-0000000000", Persistent, CALLS, 125, NOT_EPHEMERAL),
    ("lock-0000000000", Container, CALLS, 125, NOT_EPHEMERAL),
    // The sequence numbers of a path come to an end.
    ("_c_UUID-lock-2147483646", Persistent, &["-w 60"], 125, AT_THE_END),
    ("_c_UUID-lock-2147483647", Persistent, &["-w 60"], 125, AT_THE_END),
    ("_c_UUID-lock--2147483648", Persistent, &["-w 60"], 125, AT_THE_END),
    ("_c_UUID-lock--000000001", Persistent, &["-w 60"], 125, AT_THE_END),
    // The path's first child: zklock's node gets the same number.
    ("_c_UUID-lock-0000000001", Persistent, &[""], 125, &["the same number", "delete the stale one", "NAME"]),
];

/// Creates a child of the lock path, and returns its path.
fn child(case: &Case, name: &str, mode: CreateMode) -> String {
    case.observer().mkdirs(case.path());
    let path = format!("{}/{name}", case.path());
    case.observer().create(&path, "", mode)
}

fn try_row((name, mode, calls, code, says): Row) {
    let case = Case::new("foreign");
    let name = name.replace("UUID", case.marker()).replace("ID", &case.marker().replace('-', ""));
    let node = child(&case, &name, mode);
    let name = node.rsplit('/').next().unwrap();
    for call in calls {
        let zklock = case.zklock().args(call.split_whitespace()).arg(case.path());
        let waits = call.starts_with("wait");
        let zklock = if waits { zklock } else { zklock.args(["--", "echo", "ran"]) };
        let output = zklock.spawn().wait(DEADLINE);
        assert_eq!(output.code, Some(code), "{call}: {output}");
        assert_eq!(output.stdout, if code == 0 && !waits { "ran\n" } else { "" }, "{call}: {output}");
        for text in says {
            output.assert_stderr(&text.replace("NAME", name)).assert_stderr(case.path());
        }
        assert_eq!(case.observer().children(case.path()), [name], "zklock's node is deleted");
    }
    case.observer().delete(&node);
}

#[test]
fn each_child_of_another_program_is_ignored_or_queued_behind_or_refused() {
    try_rows(ROWS.iter().copied(), try_row);
}

/// A contender waits only for lower numbers, so such a node is an obstacle once the counter has reached its number.
#[test]
fn a_persistent_node_is_an_obstacle_only_to_contenders_behind_it() {
    for mode in [Persistent, Container] {
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
