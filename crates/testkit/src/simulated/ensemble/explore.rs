//! Steps through single events, for a search that chooses their order.

use super::network::ConnId;
use super::{Ensemble, Event, Output};

/// What the next event concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upcoming {
    /// A packet from a client of this zone arrives at its server.
    ToServer(usize),
    /// A packet arrives at a client of this zone.
    ToClient(usize),
    /// Something else of the servers.
    Other,
    /// A host.
    Host,
}

impl Ensemble {
    /// When the next event is due, and what it concerns.
    pub fn upcoming(&mut self) -> Option<(u64, Upcoming)> {
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

    /// Returns what came out of the last event, or else processes the next one.
    pub fn step(&mut self) -> Option<Output> {
        let output = self.outputs.pop_front();
        if output.is_none()
            && let Some((time, event)) = self.queue.pop()
        {
            self.now = self.now.max(time);
            self.deliver(event);
        }
        output
    }

    /// Lets time pass in which nothing happens.
    pub fn pass(&mut self, until: u64) {
        self.now = self.now.max(until);
    }

    /// Sets the offset of a server's ticks.
    pub fn set_phase(&mut self, server: usize, phase: u64) {
        self.servers[server].phase = phase;
    }
}
