//! Connections and links, and how they break.

use std::collections::VecDeque;

use super::Event;
use super::wire::Op;

/// Identifies a client's connection, also among those that used the same slot before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ConnId {
    pub(super) index: u32,
    pub(super) generation: u32,
}

/// A direction on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    ToServer,
    ToClient,
}

impl Direction {
    pub(super) fn index(self) -> usize {
        match self {
            Self::ToServer => 0,
            Self::ToClient => 1,
        }
    }
}

/// One direction of a link, for all connections that use it.
#[derive(Default)]
pub(super) struct Lane {
    /// Packets don't arrive but are held until the hole ends, as TCP would do.
    pub(super) is_hole: bool,
    /// How much longer than usual a packet takes, in nanoseconds.
    pub(super) delay: u64,
    pub(super) held: VecDeque<Event>,
}

/// The link between the clients of one zone and one server.
#[derive(Default)]
pub(super) struct Link {
    pub(super) lanes: [Lane; 2],
    pub(super) is_refusing: bool,
}

/// A request that is not answered yet.
pub(super) struct Waiting {
    pub(super) xid: i32,
    /// A read that waits for the writes before it; `None` for a write or sync that is under way.
    pub(super) read: Option<Op>,
    pub(super) is_sync: bool,
    pub(super) is_multi: bool,
}

/// A client's connection.
pub(super) struct Conn {
    pub(super) generation: u32,
    pub(super) zone: usize,
    pub(super) server: usize,
    pub(super) is_open_at_client: bool,
    pub(super) is_open_at_server: bool,
    /// When the last packet in each direction arrives, so that none overtakes another.
    pub(super) last: [u64; 2],
    /// The session's id; 0 before there is a session.
    pub(super) session: i64,
    pub(super) timeout_ms: i32,
    pub(super) is_established: bool,
    pub(super) waiting: VecDeque<Waiting>,
}

/// All connections, in reused slots.
#[derive(Default)]
pub(super) struct Conns {
    all: Vec<Conn>,
    free: Vec<u32>,
}

impl Conns {
    pub(super) fn add(&mut self, zone: usize, server: usize, now: u64) -> ConnId {
        let conn = |generation, waiting| Conn {
            generation,
            zone,
            server,
            is_open_at_client: true,
            is_open_at_server: true,
            last: [now; 2],
            session: 0,
            timeout_ms: 0,
            is_established: false,
            waiting,
        };
        if let Some(index) = self.free.pop() {
            let place = &mut self.all[index as usize];
            let mut waiting = std::mem::take(&mut place.waiting);
            waiting.clear();
            *place = conn(place.generation + 1, waiting);
            return ConnId { index, generation: place.generation };
        }
        let index = u32::try_from(self.all.len()).expect("fewer connections than that");
        self.all.push(conn(0, VecDeque::new()));
        ConnId { index, generation: 0 }
    }

    pub(super) fn get(&mut self, id: ConnId) -> Option<&mut Conn> {
        self.all.get_mut(id.index as usize).filter(|conn| conn.generation == id.generation)
    }

    pub(super) fn server_of(&self, id: ConnId) -> Option<usize> {
        let conn = self.all.get(id.index as usize).filter(|conn| conn.generation == id.generation);
        conn.map(|conn| conn.server)
    }

    /// The connection, if it is open at the server.
    pub(super) fn at_server(&mut self, id: ConnId) -> Option<&mut Conn> {
        self.get(id).filter(|conn| conn.is_open_at_server)
    }

    /// Frees the slot once the connection is closed at both ends.
    pub(super) fn free_if_unused(&mut self, id: ConnId) {
        if let Some(conn) = self.get(id)
            && !conn.is_open_at_client
            && !conn.is_open_at_server
        {
            conn.generation += 1;
            self.free.push(id.index);
        }
    }
}

impl Conns {
    /// The connections to a server, or of a zone to it if one is given, that are open at either end.
    pub(super) fn open(&self, zone: Option<usize>, server: usize) -> Vec<ConnId> {
        let wanted = |conn: &Conn| {
            conn.server == server
                && zone.is_none_or(|zone| conn.zone == zone)
                && (conn.is_open_at_client || conn.is_open_at_server)
        };
        let found = self.all.iter().enumerate().filter(|(_, conn)| wanted(conn));
        found.map(|(index, conn)| ConnId { index: index as u32, generation: conn.generation }).collect()
    }
}
