//! Steps through single events, for a search that chooses their order.

use super::network::ConnId;
use super::{Ensemble, Event, Output};

/// The subject of the next event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upcoming {
    /// A packet from a client of this zone arrives at its server.
    ToServer(usize),
    /// A packet arrives at a client of this zone.
    ToClient(usize),
    /// Any other event.
    Other,
}

impl Ensemble {
    /// When the next event is due, and what it concerns.
    pub(crate) fn upcoming(&mut self) -> Option<(u64, Upcoming)> {
        if !self.outputs.is_empty() {
            return Some((self.now, Upcoming::Other));
        }
        let due = self.queue.due()?.max(self.now);
        let (conn, is_to_server): (ConnId, bool) = match self.queue.peek()? {
            Event::ToServer(conn, _) => (*conn, true),
            Event::ToClient(conn, _) => (*conn, false),
            _ => return Some((due, Upcoming::Other)),
        };
        let Some(conn) = self.conns.get(conn) else { return Some((due, Upcoming::Other)) };
        let what = if is_to_server { Upcoming::ToServer } else { Upcoming::ToClient };
        Some((due, what(conn.zone)))
    }

    /// Processes the next event.
    pub(crate) fn step(&mut self) -> Option<Output> {
        if self.outputs.is_empty()
            && let Some((time, event)) = self.queue.pop()
        {
            self.now = self.now.max(time);
            self.events += 1;
            self.deliver(event);
        }
        self.outputs.pop_front()
    }

    /// Sets the offset of a server's ticks.
    pub(crate) fn set_phase(&mut self, server: usize, phase: u64) {
        self.servers[server].phase = phase;
    }
}
