//! The holder of a slot crashes, or the next contender for one.

use super::{end, kill, queued, wait_until_it_runs, wait_until_it_waits};
use crate::support::{Case, Running};

/// Two holders, and then this many waiters.
fn queue(case: &Case, waiters: usize) -> (Vec<Running>, Vec<Running>) {
    let queue = |n| queued(case, &["--slots", "2"], n);
    let holders: Vec<Running> = (1..=2).map(queue).collect();
    holders.iter().for_each(wait_until_it_runs);
    let waiters: Vec<Running> = (3..3 + waiters).map(queue).collect();
    waiters.iter().for_each(wait_until_it_waits);
    (holders, waiters)
}

#[test]
fn a_holder_that_is_killed_makes_room_for_one() {
    for victim in [0, 1] {
        let case = Case::new("holder-killed");
        let (mut holders, waiters) = queue(&case, 2);
        kill(holders.remove(victim));
        wait_until_it_runs(&waiters[0]);
        case.wait_for_contenders(3);
        end(holders.remove(0));
        wait_until_it_runs(&waiters[1]);
        waiters.into_iter().for_each(end);
    }
}

#[test]
fn the_first_waiter_that_is_killed_leaves_its_place_to_the_next() {
    let case = Case::new("waiter-killed");
    let (mut holders, mut waiters) = queue(&case, 3);
    kill(waiters.remove(0));
    case.wait_for_contenders(4);
    end(holders.remove(1));
    wait_until_it_runs(&waiters[0]);
    end(holders.remove(0));
    wait_until_it_runs(&waiters[1]);
    waiters.into_iter().for_each(end);
}

#[test]
fn a_holder_and_the_first_waiter_killed_together_leave_no_slot_empty() {
    for victim in [0, 1] {
        let case = Case::new("both-killed");
        let (mut holders, mut waiters) = queue(&case, 3);
        let both = [holders.remove(victim), waiters.remove(0)];
        for running in &both {
            running.signal(nix::sys::signal::Signal::SIGKILL);
        }
        both.into_iter().for_each(kill);
        wait_until_it_runs(&waiters[0]);
        end(holders.remove(0));
        wait_until_it_runs(&waiters[1]);
        waiters.into_iter().for_each(end);
    }
}

#[test]
fn every_holder_that_is_killed_at_once_makes_room() {
    let case = Case::new("all-killed");
    let (holders, waiters) = queue(&case, 2);
    for running in &holders {
        running.signal(nix::sys::signal::Signal::SIGKILL);
    }
    waiters.iter().for_each(wait_until_it_runs);
    holders.into_iter().for_each(kill);
    waiters.into_iter().for_each(end);
}
