//! Events ordered by time; events due at the same time keep the order in which they were added.

use std::collections::BTreeMap;

pub(crate) struct Queue<E> {
    events: BTreeMap<(u64, u64), E>,
    added: u64,
}

impl<E> Queue<E> {
    pub(crate) fn new() -> Self {
        Self { events: BTreeMap::new(), added: 0 }
    }

    pub(crate) fn add(&mut self, time: u64, event: E) {
        self.events.insert((time, self.added), event);
        self.added += 1;
    }

    /// When the next event is due.
    pub(crate) fn due(&self) -> Option<u64> {
        self.events.keys().next().map(|(time, _)| *time)
    }

    /// The next event.
    pub(crate) fn peek(&self) -> Option<&E> {
        self.events.values().next()
    }

    pub(crate) fn pop(&mut self) -> Option<(u64, E)> {
        self.events.pop_first().map(|((time, _), event)| (time, event))
    }
}
