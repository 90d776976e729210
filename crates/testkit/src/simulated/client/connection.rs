//! One connection of a client: the requests under way, when to ping, and when the server's silence is too long.

use std::collections::VecDeque;

use super::step::Work;
use crate::simulated::ensemble::wire::{Op, ToServer};
use crate::simulated::ensemble::{ConnId, Ensemble};

/// A request that was sent, and its number.
pub(super) struct Flight {
    pub(super) number: usize,
    pub(super) work: Work,
}

/// One connection. Times are those of the host's monotonic clock.
pub(super) struct Connection {
    pub(super) conn: ConnId,
    /// The interval at which the client checks its timers.
    tick: u64,
    began: u64,
    last_recv: u64,
    last_send: u64,
    is_pinged: bool,
    xid: i32,
    pub(super) flights: VecDeque<Flight>,
}

const PING_XID: i32 = -2;
const LONGEST_PING: u64 = 10_000_000_000;

impl Connection {
    /// The state of a new connection. `patience` is the connection timeout given to the client library.
    pub(super) fn new(conn: ConnId, timeout: u64, patience: u64, now: u64) -> Self {
        let tick = Self::tick(timeout, patience);
        Self {
            conn,
            tick,
            began: now,
            last_recv: now,
            last_send: now,
            is_pinged: false,
            xid: 0,
            flights: VecDeque::new(),
        }
    }

    fn tick(timeout: u64, patience: u64) -> u64 {
        let tick = if patience > timeout * 3 / 5 { timeout / 20 } else { patience / 8 };
        tick.max(1_000_000)
    }

    pub(super) fn send(&mut self, ensemble: &mut Ensemble, now: u64, flight: Flight, op: Op) {
        self.xid += 1;
        self.last_send = now;
        self.flights.push_back(flight);
        ensemble.send(self.conn, ToServer::Request { xid: self.xid, op });
    }

    pub(super) fn ping(&mut self, ensemble: &mut Ensemble, now: u64) {
        self.is_pinged = true;
        self.last_send = now;
        ensemble.send(self.conn, ToServer::Request { xid: PING_XID, op: Op::Ping });
    }

    pub(super) fn heard(&mut self, now: u64) {
        self.last_recv = now;
    }

    /// Whether an answer with this xid is for a ping.
    pub(super) fn takes_ping(&mut self, xid: i32) -> bool {
        let is_ping = xid == PING_XID;
        self.is_pinged &= !is_ping;
        is_ping
    }

    /// When the client next checks a timer that may be due.
    pub(super) fn due(&self, may_ping: bool) -> u64 {
        let silence = self.last_recv + 8 * self.tick;
        let ping = self.last_send + (3 * self.tick).min(LONGEST_PING);
        let first = if may_ping && !self.is_pinged { silence.min(ping) } else { silence };
        let ticks = first.saturating_sub(self.began).div_ceil(self.tick).max(1);
        self.began + ticks * self.tick
    }

    /// Whether the server has been silent for too long. If not, pings it when a ping is due.
    pub(super) fn is_silent(&mut self, ensemble: &mut Ensemble, now: u64, may_ping: bool) -> bool {
        if now >= self.last_recv + 8 * self.tick {
            return true;
        }
        if may_ping && !self.is_pinged && now >= self.last_send + (3 * self.tick).min(LONGEST_PING) {
            self.ping(ensemble, now);
        }
        false
    }
}
