//! A zklock is killed: for every kind, its command dies with it, and the next command runs soon.

use super::{KINDS, Kind, end, kill, queued, wait_until_it_runs, wait_until_it_waits};
use crate::support::{Case, DEADLINE, Running, processes_of};

/// Starts contenders that wait for the holder. They run when it is gone.
fn waiters(kind: &Kind, case: &Case) -> Vec<Running> {
    let waiter = |path: &String| {
        let options: &[&str] = if kind.options == ["-s"] { &[] } else { kind.options };
        let words = [options, &[path, "--", "sh", "-c", super::HOLD]].concat();
        let waiter = case.zklock().arg("-v").args(words).spawn();
        wait_until_it_waits(&waiter);
        waiter
    };
    kind.paths(case).iter().map(waiter).collect()
}

#[test]
fn in_every_kind_a_holder_that_is_killed_takes_its_command_along_and_the_next_runs_soon() {
    for kind in KINDS {
        // Longer than any wait in this test, so that it isn't the end of the session that ends the wait.
        let case = Case::new("kinds-killed");
        let holder = kind.holder(&case, &["--session-timeout", "60"]);
        let beside = kind.options.contains(&"--slots").then(|| kind.holder(&case, &[]));
        let waiters = waiters(&kind, &case);
        let job = holder.wait_for_stdout("running", DEADLINE).split_once(' ').unwrap().1.to_owned();
        kill(holder);
        waiters.iter().for_each(wait_until_it_runs);
        let alive = processes_of(case.marker()).iter().any(|(pid, _)| pid.to_string() == job);
        assert!(!alive, "the command is dead before the next runs");
        beside.into_iter().chain(waiters).for_each(end);
    }
}

#[test]
fn a_writer_runs_soon_after_the_last_of_the_readers_before_it_was_killed() {
    let case = Case::new("readers-killed");
    let readers: Vec<Running> = (1..=3).map(|n| queued(&case, &["-s"], n)).collect();
    readers.iter().for_each(wait_until_it_runs);
    let writer = queued(&case, &[], 4);
    wait_until_it_waits(&writer);
    readers.into_iter().for_each(kill);
    wait_until_it_runs(&writer);
    end(writer);
}
