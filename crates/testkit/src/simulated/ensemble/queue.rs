//! Events ordered by time; events due at the same time keep the order in which they were added.

use std::collections::BTreeMap;

pub struct Queue<E> {
    events: BTreeMap<(u64, u64), E>,
    added: u64,
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Self { events: BTreeMap::new(), added: 0 }
    }
}

impl<E> Queue<E> {
    pub fn add(&mut self, time: u64, event: E) {
        self.events.insert((time, self.added), event);
        self.added += 1;
    }

    /// When the next event is due.
    pub fn due(&self) -> Option<u64> {
        self.events.keys().next().map(|(time, _)| *time)
    }

    /// The next event.
    pub fn peek(&self) -> Option<&E> {
        self.events.values().next()
    }

    pub fn pop(&mut self) -> Option<(u64, E)> {
        self.events.pop_first().map(|((time, _), event)| (time, event))
    }
}
