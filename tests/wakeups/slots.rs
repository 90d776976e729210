use super::{Counted, FEW, MANY, Queue};
use crate::support::wait_until;

const SLOTS: usize = 3;
const HAND_OFFS: usize = 5;

/// The costs of `HAND_OFFS` hand-offs of a slot in a queue of `count` contenders.
fn hand_offs(queue: &Queue, count: usize) -> Counted {
    let mut crowd = queue.crowd();
    crowd.join(count, &["--slots", &SLOTS.to_string()]);
    // Each contender watches its own node. The first waiter watches the holders too, and every other waiter its
    // predecessor.
    crowd.wait_for_watches(count + SLOTS + (count - SLOTS - 1));
    crowd.wait_for_running(SLOTS);
    let watches = |left| left + SLOTS + (left - SLOTS - 1);
    crowd.wait_until_told(SLOTS, watches(count));
    let before = queue.counted();
    for turn in 1..=HAND_OFFS {
        crowd.end_holder(turn % SLOTS);
        crowd.wait_for_running(SLOTS);
        let cost = turn * REQUESTS;
        wait_until(&format!("{cost} requests"), super::DEADLINE, || {
            queue.counted().since(before).requests >= cost
        });
    }
    let counted = queue.counted().since(before);
    crowd.end();
    counted
}

/// The old holder sends a delete and a close. The new holder sends a list, shows that it has the slot, and watches its
/// own node again, because it wrote to it. The waiter behind it sends a list and watches each holder. Later the new
/// holder shows since when it holds the slot, which it and the waiter behind it read once.
const REQUESTS: usize = 2 + 3 + 1 + SLOTS + 3;

#[test]
fn a_free_slot_wakes_the_first_waiter_and_the_next_at_the_same_cost_in_any_queue() {
    let queue = Queue::new();
    let (few, many) = (hand_offs(&queue, FEW), hand_offs(&queue, MANY));
    assert_eq!((few.requests, many.requests), (HAND_OFFS * REQUESTS, HAND_OFFS * REQUESTS));
    for counted in [few, many] {
        // Each of the two writes fires the owner's own watch and that of the waiter behind it. A holder that has waited
        // may still watch another one.
        let per_slot = 4..=4 + (SLOTS - 1);
        let all = per_slot.start() * HAND_OFFS..=per_slot.end() * HAND_OFFS;
        assert!(all.contains(&counted.writes), "{counted:?}");
        // The deletion fires the owner's own watch and that of the first waiter. A holder that has waited may still
        // watch another holder: it gets the event, and sends no request.
        let per_release = 2..=2 + (SLOTS - 1);
        let all = per_release.start() * HAND_OFFS..=per_release.end() * HAND_OFFS;
        assert!(all.contains(&counted.deletions), "{counted:?}");
    }
}
