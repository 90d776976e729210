use super::{Counted, FEW, MANY, Queue};

const HAND_OFFS: usize = 5;

/// The costs of every hand-off in a queue of `count` contenders.
fn hand_offs(queue: &Queue, count: usize) -> Vec<Counted> {
    let mut crowd = queue.crowd();
    crowd.join(count, &[]);
    let hand_off = |left| {
        // Each contender watches its own node and its predecessor's.
        crowd.wait_for_watches(2 * left - 1);
        crowd.wait_for_running(1);
        crowd.wait_until_told(1, 2 * left - 1);
        let before = queue.counted();
        crowd.end_holder(0);
        crowd.wait_for_running(1);
        crowd.wait_until_told(1, 2 * (left - 1) - 1);
        queue.counted().since(before)
    };
    let counted = (count - HAND_OFFS..=count).rev().map(hand_off).collect();
    crowd.end();
    counted
}

#[test]
fn a_release_wakes_the_next_alone_at_the_same_cost_in_any_queue() {
    let queue = Queue::new();
    let (few, many) = (hand_offs(&queue, FEW), hand_offs(&queue, MANY));
    assert_eq!(few, many);
    for (turn, counted) in many.iter().enumerate() {
        assert_eq!((counted.deletions, counted.writes), (2, 2), "its own watch, and the next one's");
        // The old holder sends a delete and a close. The new holder sends a list, unless it knows that it is the only
        // one left. Later the new holder shows since when it holds the lock: it writes to its node, and the contender
        // behind it reads the node and watches it again, as the new holder itself does. Nothing is listed for that.
        let list = usize::from(turn > 0);
        assert_eq!(counted.requests, 2 + list + 3, "{counted:?}");
    }
}
