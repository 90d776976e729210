//! A number of slots: as many contenders hold at the same time, and all of them must use the same number.

use super::{contender, end, queued, runs, wait_until_it_runs, wait_until_it_waits};
use crate::support::{Case, DEADLINE, Running, wait_for};

const TWO: &[&str] = &["--slots", "2"];
const THREE: &[&str] = &["--slots", "3"];

#[test]
fn as_many_run_at_once_as_there_are_slots() {
    let case = Case::new("slots");
    let history = case.history();
    let job = |name: usize| history.steady_job(&name.to_string());
    let all: Vec<Running> = (0..7).map(|n| case.lock(THREE, ["bash", "-c", &job(n)]).spawn()).collect();
    // The next job ends only when all slots are taken.
    for ended in 0..all.len() {
        let begun = wait_for("a job for each slot", DEADLINE, || {
            Some(history.sections().unwrap()).filter(|begun| begun.len() == (ended + 3).min(all.len()))
        });
        history.finish(&begun[ended].name);
    }
    for running in all {
        running.wait(DEADLINE).assert_code(0);
    }
    assert_eq!(history.sections().unwrap().len(), 7);
    assert_eq!(history.most_at_once(), 3);
}

#[test]
fn one_slot_is_the_same_as_a_lock_without_slots() {
    let case = Case::new("one-slot");
    let first = queued(&case, &["--slots", "1"], 1);
    wait_until_it_runs(&first);
    let second = queued(&case, &[], 2);
    let third = queued(&case, &["--slots", "1"], 3);
    [&second, &third].into_iter().for_each(wait_until_it_waits);
    end(first);
    wait_until_it_runs(&second);
    assert!(!runs(&third));
    end(second);
    wait_until_it_runs(&third);
    end(third);
}

/// The message names the kind of the contender ahead that differs, and the requested kind.
#[test]
fn a_contender_with_another_number_of_slots_is_refused_before_waiting() {
    for (theirs, ours, words) in [
        (TWO, THREE, ["for one of 2 slots", "this is for one of 3 slots"]),
        (THREE, TWO, ["for one of 3 slots", "this is for one of 2 slots"]),
        (TWO, &[], ["for one of 2 slots", "this is for an exclusive lock"]),
        (TWO, &["-s"], ["for one of 2 slots", "this is for a shared lock"]),
        (&[], TWO, ["for an exclusive lock", "this is for one of 2 slots"]),
        (&["-s"], TWO, ["for a shared lock", "this is for one of 2 slots"]),
    ] {
        let case = Case::new("disagree");
        let holder = contender(&case, theirs);
        wait_until_it_runs(&holder);
        for more in [&[][..], &["-n", "-E", "0"], &["-w", "30"]] {
            let refused = case.lock(&[more, ours].concat(), ["echo", "must not run"]).run();
            refused.assert_code(125);
            refused.assert_stderr(words[0]).assert_stderr(words[1]);
            refused.assert_stderr(&case.contenders()[0]).assert_stderr(case.path());
            assert_eq!(refused.stdout, "");
        }
        assert!(holder.is_running());
        end(holder);
    }
}

#[test]
fn slots_that_make_no_sense_are_refused_at_once() {
    let case = Case::new("senseless").through("127.0.0.1:1");
    for options in [
        &["--slots", "0"][..],
        &["--slots", "many"],
        &["--slots", "2", "-s"],
        &["-s", "--slots", "2"],
        &["--slots", "2", "--naming", "kazoo"],
        &["--slots", "2", "--naming", "curator-rw"],
    ] {
        case.lock(options, ["true"]).run().assert_code(125).assert_stderr("slots");
    }
}

/// A waiter that gave up doesn't block those behind it.
#[test]
fn waiters_that_leave_the_middle_of_the_queue_block_no_slot() {
    let case = Case::new("leavers");
    let holders: Vec<Running> = (1..=2).map(|n| queued(&case, TWO, n)).collect();
    holders.iter().for_each(wait_until_it_runs);
    let mut waiters: Vec<Running> = (3..=6).map(|n| queued(&case, TWO, n)).collect();
    waiters.iter().for_each(wait_until_it_waits);
    // The first waiter, and one in the middle.
    for index in [2, 0] {
        end(waiters.remove(index));
    }
    holders.into_iter().for_each(end);
    waiters.iter().for_each(wait_until_it_runs);
    waiters.into_iter().for_each(end);
}
