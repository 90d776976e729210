//! Connections and links, and how they break.

use std::collections::VecDeque;

use super::Event;
use super::wire::Op;

/// Tells one connection of a client from all others, also from those that had its place before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ConnId {
    pub(super) index: u32,
    pub(super) generation: u32,
}

/// A direction on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    ToServer,
    ToClient,
}

impl Way {
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
    /// Nothing arrives. What does is held back until the end of the hole, as TCP would do.
    pub(super) is_hole: bool,
    /// What a packet takes longer than usual.
    pub(super) delay: u64,
    pub(super) held: VecDeque<Event>,
}

/// Between the clients of one zone and one server.
#[derive(Default)]
pub(super) struct Link {
    pub(super) lanes: [Lane; 2],
    pub(super) is_refusing: bool,
}

/// A request that is not answered yet.
pub(super) struct Waiting {
    pub(super) xid: i32,
    /// A read that waits for the writes before it; nothing for a write or sync, which is under way.
    pub(super) read: Option<Op>,
    pub(super) is_sync: bool,
}

/// A client's connection.
pub(super) struct Conn {
    pub(super) generation: u32,
    pub(super) zone: usize,
    pub(super) server: usize,
    pub(super) is_open_at_client: bool,
    pub(super) is_open_at_server: bool,
    /// When the last packet each way arrives: none overtakes another.
    pub(super) last: [u64; 2],
    /// 0 before there is one.
    pub(super) session: i64,
    pub(super) timeout_ms: i32,
    pub(super) is_established: bool,
    pub(super) waiting: VecDeque<Waiting>,
}

/// All connections, in places that are used again.
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

    /// As the server sees it.
    pub(super) fn at_server(&mut self, id: ConnId) -> Option<&mut Conn> {
        self.get(id).filter(|conn| conn.is_open_at_server)
    }

    /// Frees the place if neither side knows the connection any more.
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
    /// The connections that are open at either end, of a zone and to a server where these are given.
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
