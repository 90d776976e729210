//! A zklock of one version inside a command of the other.

use super::{Version, in_both_orders};
use crate::support::{Case, DEADLINE};
use nix::sys::signal::Signal;
use serde_json::Value;

/// The command line of a zklock of this version on the case's path, for a shell.
fn inner(version: Version, case: &Case, options: &str) -> String {
    format!("{} -z {} {options} {}", version.program().display(), case.hosts(), case.path())
}

#[test]
fn the_inner_one_runs_at_once_under_the_outer_one_s_lock() {
    in_both_orders(|outer, within| {
        let case = Case::new("upgrade-nested");
        let innermost = inner(outer, &case, "-n");
        let script = format!("{} -- {innermost} -- echo inside", inner(within, &case, "-w 20"));
        let output = outer.lock(&case, &[], &script).run();
        assert_eq!(output.assert_code(0).stdout, "inside\n");
    });
}

#[test]
fn a_write_lock_inside_a_read_lock_is_refused() {
    in_both_orders(|outer, within| {
        let case = Case::new("upgrade-nested-read");
        let script = format!("{} -- echo must not run", inner(within, &case, "-w 20"));
        let output = outer.lock(&case, &["-s"], &script).run();
        assert_eq!(output.assert_code(125).stdout, "");
    });
}

/// A daemon inherits the variables, and outlives the lock that they name.
#[test]
fn variables_of_a_released_lock_are_not_believed() {
    in_both_orders(|outer, within| {
        let case = Case::new("upgrade-nested-stale");
        let printed = outer.lock(&case, &[], "printenv ZKLOCK_HELD").run();
        let stale = printed.assert_code(0).stdout.trim_end().to_owned();
        let holder = outer.hold(&case, &[]);
        let inside = within.lock(&case, &["-n"], "echo must not run").env("ZKLOCK_HELD", stale).run();
        assert_eq!(inside.assert_code(124).stdout, "");
        super::end(holder);
    });
}

#[test]
fn losing_the_outer_lock_stops_the_inner_command() {
    in_both_orders(|outer, within| {
        let case = Case::new("upgrade-nested-lost");
        let script = format!("{} -- sh -c 'echo running; exec sleep 60'", inner(within, &case, ""));
        let running = outer.lock(&case, &[], &script).spawn();
        super::wait_until_it_runs(&running);
        case.delete_node(0);
        running.wait(DEADLINE).assert_code(123);
    });
}

#[test]
fn killing_the_outer_one_stops_the_inner_command() {
    in_both_orders(|outer, within| {
        let case = Case::new("upgrade-nested-killed");
        let script = format!("{} -- sh -c 'echo running; exec sleep 60'", inner(within, &case, ""));
        let running = outer.lock(&case, &[], &script).spawn();
        super::wait_until_it_runs(&running);
        running.signal(Signal::SIGKILL);
        running.wait(DEADLINE).assert_signal(Signal::SIGKILL);
    });
}

/// Variables and JSON fields may be added, and each of the earlier version is still there.
#[test]
fn the_command_of_this_version_finds_every_variable_of_the_other() {
    in_both_orders(|first, _| {
        let Version::Other = first else { return };
        let case = Case::new("upgrade-variables");
        let variables = |version: Version| {
            let printed = version.lock(&case, &[], "env").run().assert_code(0).stdout.clone();
            let ours = printed.lines().filter_map(|line| line.strip_prefix("ZKLOCK_")?.split_once('='));
            let ours: Vec<_> = ours.filter(|(name, _)| *name != "TEST_RUN").collect();
            ours.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>()
        };
        let (before, after) = (variables(Version::Other), variables(Version::This));
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
    });
}
