//! A zklock of one version inside a command of the other.

use super::{in_both_orders, lock};
use crate::queues::Queue;
use crate::support::Version::{Other, This};
use crate::support::{Case, DEADLINE, Version, has_other_version};
use nix::sys::signal::Signal;
use serde_json::Value;

/// The command line of a zklock of this version on the case's path, for a shell.
fn inner(version: Version, case: &Case, options: &str) -> String {
    format!("{} -z {} {options} {} --", version.program().display(), case.hosts(), case.path())
}

#[test]
fn the_inner_one_runs_at_once_under_the_outer_one_s_lock_unless_it_asks_for_more() {
    in_both_orders(|[outer, within]| {
        let case = Case::new("upgrade-nested");
        let script = format!("{} {} echo inside", inner(within, &case, "-w 20"), inner(outer, &case, "-n"));
        for (options, code, printed) in [(&[][..], 0, "inside\n"), (&["-s"], 125, "")] {
            let output = lock(outer, &case, options, &script).run();
            assert_eq!(output.assert_code(code).stdout, printed);
        }
    });
}

/// A daemon inherits the variables, and outlives the lock that they name.
#[test]
fn variables_of_a_released_lock_are_not_believed() {
    in_both_orders(|[outer, within]| {
        let mut queue = Queue::new([outer, within]);
        let printed = lock(outer, &queue.case, &[], "printenv ZKLOCK_HELD").run();
        let stale = printed.assert_code(0).stdout.trim_end().to_owned();
        queue.add("zklock");
        let inside = lock(within, &queue.case, &["-n"], "echo must not run").env("ZKLOCK_HELD", stale).run();
        assert_eq!(inside.assert_code(124).stdout, "");
        queue.finish();
    });
}

#[test]
fn losing_or_killing_the_outer_one_stops_the_inner_command() {
    in_both_orders(|[outer, within]| {
        for is_killed in [false, true] {
            let case = Case::new("upgrade-nested-lost");
            let script = format!("{} sh -c 'echo running; exec sleep 60'", inner(within, &case, ""));
            let running = lock(outer, &case, &[], &script).spawn();
            running.wait_for_stdout("running", DEADLINE);
            if is_killed {
                running.signal(Signal::SIGKILL);
                running.wait(DEADLINE).assert_signal(Signal::SIGKILL);
            } else {
                case.delete_node(0);
                running.wait(DEADLINE).assert_code(123);
            }
        }
    });
}

/// Variables and JSON fields may be added, and each of the earlier version is still there.
#[test]
fn the_command_of_this_version_finds_every_variable_of_the_other() {
    if !has_other_version() {
        return;
    }
    let case = Case::new("upgrade-variables");
    let variables = |version: Version| {
        let printed = lock(version, &case, &[], "env").run().assert_code(0).stdout.clone();
        let ours = printed.lines().filter_map(|line| line.strip_prefix("ZKLOCK_")?.split_once('='));
        let ours: Vec<_> = ours.filter(|(name, _)| *name != "TEST_RUN").collect();
        ours.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>()
    };
    let (before, after) = (variables(Other), variables(This));
    assert!(before.iter().any(|(name, _)| name == "HELD"), "{before:?}");
    for (name, old) in &before {
        let new = after.iter().find(|(other, _)| other == name).map(|(_, value)| value);
        let new = new.unwrap_or_else(|| panic!("no ZKLOCK_{name} in {after:?}"));
        let fields = |text: &str| {
            let json: Value = serde_json::from_str(text).unwrap_or_default();
            json[0].as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
        };
        let (old, new): (Vec<String>, Vec<String>) = (fields(old), fields(new));
        assert!(old.iter().all(|field| new.contains(field)), "ZKLOCK_{name}: {old:?}, now {new:?}");
    }
}
