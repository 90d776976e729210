//! zklock doesn't queue for a lock that a zklock around it holds.

use super::{HOLD, end, inner, outer, shell, start, through_a_shell, value};
use crate::support::{Case, DEADLINE, WORKER, processes_of};
use nix::sys::signal::Signal;

#[test]
fn the_same_path_runs_at_once_at_any_depth_and_through_shells() {
    let case = Case::new("depth");
    let parts = [
        inner(&case, &[]),
        through_a_shell(),
        inner(&case, &["-n"]),
        inner(&case, &["-w", "5"]),
        through_a_shell(),
        inner(&case, &[]),
        shell("env; exit 7"),
    ];
    let output = outer(&case, &[], &parts).run();
    output.assert_code(7);
    assert_eq!(value(&output.stdout, "ZKLOCK_PATH"), case.path());
}

#[test]
fn nested_zklocks_have_one_node_and_one_process_pair() {
    let case = Case::new("one-node");
    let running = start(outer(&case, &[], &[inner(&case, &[]), inner(&case, &[]), shell(HOLD)]));
    assert_eq!(case.contenders().len(), 1);
    let processes = processes_of(case.marker());
    let with = |part: &str| processes.iter().filter(|(_, line)| line.contains(part)).count();
    assert_eq!((with("zklock"), with(&format!("{WORKER} of "))), (1, 1), "the outer one: {processes:#?}");
    end(running);
}

#[test]
fn the_variables_of_the_innermost_command_describe_the_outer_lock() {
    let case = Case::new("seen");
    let running = start(outer(&case, &[], &[inner(&case, &[]), shell("env; echo inside; exec sleep 60")]));
    let printed = running.stdout().text();
    let node = format!("{}/{}", case.path(), case.contenders()[0]);
    let token = case.observer().stat(&node).unwrap().czxid.to_string();
    assert_eq!(value(&printed, "ZKLOCK_NODE"), node);
    assert_eq!(value(&printed, "ZKLOCK_FENCING_TOKEN"), token);
    let locks: serde_json::Value = serde_json::from_str(value(&printed, "ZKLOCK_LOCKS")).unwrap();
    assert_eq!(locks.as_array().unwrap().len(), 1);
    assert_eq!(locks[0]["node"], node.as_str());
    end(running);
}

#[test]
fn a_reader_inside_a_writer_and_a_slot_inside_the_same_slots_run_at_once() {
    for (around, within) in [
        (&[][..], &["-s"][..]),
        (&[], &["--slots", "1"]),
        (&["-s"], &["-s"]),
        (&["--slots", "2"], &["--slots", "2"]),
        (&["--slots", "1"], &[]),
        (&["--naming", "kazoo"], &["--naming", "kazoo", "-s"]),
    ] {
        let case = Case::new("weaker");
        let output = outer(&case, around, &[inner(&case, within), shell("echo ran; exit 3")]).run();
        output.assert_code(3);
        assert_eq!(output.stdout, "ran\n");
    }
}

/// The inner writer would wait for the outer reader, which waits for it.
#[test]
fn a_stronger_inner_lock_would_wait_for_itself_and_is_refused() {
    for (around, within, words) in [
        (
            &["-s"][..],
            &[][..],
            "the surrounding command holds a shared lock, and this asks for an exclusive lock",
        ),
        (&["-s"], &["-n", "-E", "0"], "holds a shared lock"),
        (&["-s"], &["-w", "30"], "holds a shared lock"),
        (&["-s"], &["--slots", "2"], "holds a shared lock, and this asks for one of 2 slots"),
        (&["--slots", "2"], &[], "holds one of 2 slots, and this asks for an exclusive lock"),
        (&["--slots", "2"], &["-s"], "holds one of 2 slots, and this asks for a shared lock"),
        (&["--slots", "2"], &["--slots", "3"], "holds one of 2 slots, and this asks for one of 3 slots"),
        (&[], &["--slots", "2"], "holds an exclusive lock"),
    ] {
        let case = Case::new("stronger");
        let output = outer(&case, around, &[inner(&case, within), shell("echo must not run")]).run();
        output.assert_code(125).assert_stderr(words).assert_stderr(case.path());
        assert_eq!(output.stdout, "");
    }
}

/// The inner reader shares the outer one's node, and doesn't queue behind the waiting writer.
#[test]
fn a_reader_inside_a_reader_runs_although_a_writer_waits() {
    let case = Case::new("writer-between");
    let go = case.dir().join("go");
    let wait = format!("echo inside; until [ -e {} ]; do sleep 0.01; done; exec \"$@\"", go.display());
    let wait = ["sh", "-c", &wait, "sh"].map(str::to_owned).to_vec();
    let reader = start(outer(&case, &["-s"], &[wait, inner(&case, &["-s"]), shell("echo ran")]));
    let writer = case.lock(&["-v"], ["true"]).spawn();
    writer.wait_for_line(": position ", DEADLINE);
    std::fs::write(go, "").unwrap();
    reader.wait_for_stdout("ran", DEADLINE);
    reader.wait(DEADLINE).assert_code(0);
    writer.wait(DEADLINE).assert_code(0);
}

#[test]
fn the_innermost_command_gets_each_signal_once() {
    let case = Case::new("nested-signals");
    let printer = crate::support::signal_printer(&["TERM=3"]);
    let running = outer(&case, &[], &[inner(&case, &[]), inner(&case, &[]), printer]).spawn();
    running.wait_for_stdout("ready", DEADLINE);
    running.signal(Signal::SIGUSR1);
    running.wait_for_stdout("got USR1", DEADLINE);
    running.signal(Signal::SIGTERM);
    let output = running.wait(DEADLINE);
    output.assert_code(3);
    assert_eq!(output.stdout.matches("got TERM").count(), 1);
}

#[test]
fn a_missing_inner_command_is_reported_as_usual() {
    let case = Case::new("nested-missing");
    let missing = vec!["no-such-command-here".to_owned()];
    outer(&case, &[], &[inner(&case, &[]), missing]).run().assert_code(127).assert_stderr("no-such-command");
}
