//! What a contender tells of its slot, and when it can't.

use super::{Cause, Queue, THIS};
use crate::support::{At, DEADLINE, op};

/// The write that tells of a slot is lost, or the answer to it.
#[test]
fn a_holder_that_could_not_tell_of_its_slot_at_once_does_so_later() {
    for at in [At::BeforeServer, At::BeforeReply] {
        let mut queue = Queue::new(THIS);
        queue.add_all(&["--slots 2", "--slots 2", "~ --slots 2", "--slots 2"]);
        queue.assert_holders(&[1, 2]);
        queue.proxy().once(op::SET_DATA, at);
        queue.leave(Cause::End, &[1]);
        queue.assert_holders(&[2, 3]);
        queue.proxy().wait_fired(1, DEADLINE);
        queue.leave(Cause::End, &[2]);
        queue.assert_holders(&[3, 4]);
        queue.finish();
    }
}

/// A slot becomes free between two requests of a new contender. That contender was never told to wait, so it had not
/// told of its slot to those behind it, which had seen it without one.
#[test]
fn a_contender_that_never_had_to_wait_tells_those_that_saw_it_wait() {
    let mut queue = Queue::new(THIS);
    queue.add("--slots 2");
    queue.add("--slots 2");
    queue.proxy().once(op::GET_CHILDREN, At::Hold);
    // Its node is created at the second attempt, when no parents have to be created. Its list request waits in the
    // proxy.
    queue.is_cut_off = true;
    queue.add("~ --slots 2");
    queue.add("--slots 2");
    queue.assert_holders(&[1, 2]);
    queue.leave(Cause::End, &[1]);
    queue.proxy().release();
    queue.is_cut_off = false;
    queue.assert_holders(&[2, 3]);
    queue.leave(Cause::End, &[2]);
    queue.assert_holders(&[3, 4]);
    queue.finish();
}
