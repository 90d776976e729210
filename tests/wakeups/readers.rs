use super::{Counted, FEW, MANY, Queue};

const BEHIND: usize = 6;

/// Queues a writer, `count` readers, a writer and some more readers. Returns what the end of the first writer, of a
/// reader in the middle, and of the last reader cost.
fn stages(queue: &Queue, count: usize) -> [Counted; 3] {
    let mut crowd = queue.crowd();
    crowd.join(1, &[]);
    crowd.join(count, &["-s"]);
    crowd.join(1, &[]);
    crowd.join(BEHIND, &["-s"]);
    let all = 1 + count + 1 + BEHIND;
    crowd.wait_for_watches(2 * all - 1);
    crowd.wait_for_running(1);
    crowd.wait_until_told(1, 2 * all - 1);

    let mut before = queue.counted();
    let mut stage = || {
        let now = queue.counted();
        let counted = now.since(before);
        before = now;
        counted
    };
    crowd.end_holder(0);
    crowd.wait_for_running(count);
    // Each of these readers now watches only its own node; those behind watch two nodes.
    crowd.wait_until_told(count, count + 2 * (1 + BEHIND));
    let released = stage();

    // The second writer watches the reader with the highest number, which is one of the readers that run.
    let last = &crowd.case.contenders()[count - 1];
    let data = crowd.case.observer().data(&format!("{}/{last}", crowd.case.path())).unwrap();
    let is_last = |pid: i32| data.contains(&format!("\"pid\":{pid},"));
    let position = crowd.members.iter().position(|member| is_last(member.pid().as_raw())).unwrap();
    let neighbour = crowd.members.remove(position);

    crowd.end_holder(0);
    crowd.wait_for_watches(count - 1 + 2 * (1 + BEHIND));
    let one_of_many = stage();

    super::end(neighbour);
    crowd.wait_for_watches(count - 2 + 2 * (1 + BEHIND));
    let neighbour = stage();
    assert_eq!(crowd.running(), count - 2, "the writer looked, and went on waiting");
    crowd.end();
    [released, one_of_many, neighbour]
}

#[test]
fn a_writer_that_ends_wakes_the_readers_up_to_the_next_writer_and_each_of_those_at_most_one() {
    let queue = Queue::new();
    let [few, many] = [FEW, MANY].map(|count| stages(&queue, count));
    let own = 1;
    for ([released, one_of_many, neighbour], count) in [(few, FEW), (many, MANY)] {
        let counted = |deletions, requests| Counted { deletions, writes: 0, requests };
        // The old holder sends a delete and a close. No reader sends a request before it runs. Then each shows in its
        // node since when it holds the lock, with a write and a watch of its own node. The writer watches one of them.
        let told = Counted { writes: count + 1, ..counted(own + count, 2 + 2 * count + 1) };
        assert_eq!(released, told, "all readers ahead of the writer, and no other");
        assert_eq!(one_of_many, counted(own, 2), "nobody");
        assert_eq!(neighbour, counted(own + 1, 4), "the writer, which looks and watches another");
    }
}
