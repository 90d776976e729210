//! No slot stays free while a contender waits.

use super::{end, queued, runs, wait_until_it_runs, wait_until_it_waits};
use crate::support::{At, Case, DEADLINE, Proxy, Running, op, shared};

fn queue(case: &Case, slots: usize, count: usize) -> Vec<Running> {
    let slots = slots.to_string();
    let queue: Vec<Running> = (1..=count).map(|n| queued(case, &["--slots", &slots], n)).collect();
    wait_until_settled(&queue, slots.parse().unwrap());
    queue
}

fn wait_until_settled(queue: &[Running], slots: usize) {
    for (place, running) in queue.iter().enumerate() {
        if place < slots { wait_until_it_runs(running) } else { wait_until_it_waits(running) }
    }
}

#[test]
fn holders_that_leave_one_after_the_other_each_admit_one() {
    for order in [[0, 0], [1, 0]] {
        let case = Case::new("two-and-two");
        let mut queue = queue(&case, 2, 4);
        end(queue.remove(order[0]));
        wait_until_it_runs(&queue[1]);
        assert!(!runs(&queue[2]), "{order:?}");
        end(queue.remove(order[1]));
        queue.iter().for_each(wait_until_it_runs);
        queue.into_iter().for_each(end);
    }
}

/// A slot becomes free again before the contender that acquired the previous one has announced that to the contender
/// behind it.
#[test]
fn slots_that_are_given_back_all_at_once_admit_as_many() {
    for slots in 2..=4 {
        let case = Case::new("all-at-once");
        let mut queue = queue(&case, slots, 2 * slots + 1);
        let last = queue.pop().unwrap();
        let next = queue.split_off(slots);
        for holder in &queue {
            holder.signal(nix::sys::signal::Signal::SIGTERM);
        }
        next.iter().for_each(wait_until_it_runs);
        assert!(!runs(&last));
        for holder in queue {
            holder.wait(DEADLINE).assert_signal(nix::sys::signal::Signal::SIGTERM);
        }
        next.into_iter().for_each(end);
        wait_until_it_runs(&last);
        end(last);
    }
}

#[test]
fn a_whole_queue_passes_through_the_slots() {
    let case = Case::new("pass");
    let mut queue = queue(&case, 3, 9);
    // The oldest and the youngest holder leave in turn.
    for turn in 0..6 {
        let leaver = queue.remove(if turn % 2 == 0 { 0 } else { 2 });
        end(leaver);
        wait_until_it_runs(&queue[2]);
        assert!(queue.get(3).is_none_or(|next| !runs(next)));
    }
    queue.into_iter().for_each(end);
}

/// A slot becomes free between two requests of a new contender. That contender was never told to wait, so it had not
/// announced its slot to those behind it, which had seen it without one.
#[test]
fn a_contender_that_never_had_to_wait_tells_those_that_saw_it_wait() {
    let proxy = Proxy::to(shared());
    let case = Case::new("never-waited");
    let mut holders = queue(&case, 2, 2);
    proxy.once(op::GET_CHILDREN, At::Hold);
    // Its node is created at the second attempt, when no parents have to be created. Its list request waits in the
    // proxy.
    let options = ["-z", &proxy.connect_string(), "--slots", "2"];
    let lucky = queued(&case, &options, 3);
    let behind = queued(&case, &["--slots", "2"], 4);
    wait_until_it_waits(&behind);
    end(holders.remove(0));
    proxy.release();
    wait_until_it_runs(&lucky);
    assert!(!runs(&behind));
    end(holders.remove(0));
    wait_until_it_runs(&behind);
    [lucky, behind].into_iter().for_each(end);
}
