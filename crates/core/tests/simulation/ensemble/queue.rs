//! Events ordered by time; events due at the same time keep the order in which they were added.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The queue. Its heap moves only small keys; the events themselves stay in place.
pub(crate) struct Queue<E> {
    heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
    events: Vec<Option<E>>,
    free: Vec<u32>,
    added: u64,
}

impl<E> Queue<E> {
    pub(crate) fn new() -> Self {
        Self { heap: BinaryHeap::new(), events: vec![], free: vec![], added: 0 }
    }

    pub(crate) fn add(&mut self, time: u64, event: E) {
        let slot = if let Some(slot) = self.free.pop() {
            self.events[slot as usize] = Some(event);
            slot
        } else {
            self.events.push(Some(event));
            u32::try_from(self.events.len() - 1).expect("fewer events than that")
        };
        self.heap.push(Reverse((time, self.added, slot)));
        self.added += 1;
    }

    /// When the next event is due.
    pub(crate) fn due(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((time, ..))| *time)
    }

    /// The next event.
    pub(crate) fn peek(&self) -> Option<&E> {
        let Reverse((_, _, slot)) = self.heap.peek()?;
        self.events[*slot as usize].as_ref()
    }

    pub(crate) fn pop(&mut self) -> Option<(u64, E)> {
        let Reverse((time, _, slot)) = self.heap.pop()?;
        self.free.push(slot);
        self.events[slot as usize].take().map(|event| (time, event))
    }
}
