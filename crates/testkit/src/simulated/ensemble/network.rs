//! Connections and links, and how they break.

use std::collections::{BTreeMap, VecDeque};

use super::Event;
use super::wire::Op;

/// Identifies a client's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnId(u64);

/// A direction on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
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

/// All connections that are open at either end.
#[derive(Default)]
pub(super) struct Conns {
    all: BTreeMap<ConnId, Conn>,
    added: u64,
}

impl Conns {
    pub(super) fn add(&mut self, zone: usize, server: usize, now: u64) -> ConnId {
        let conn = Conn {
            zone,
            server,
            is_open_at_client: true,
            is_open_at_server: true,
            last: [now; 2],
            session: 0,
            timeout_ms: 0,
            is_established: false,
            waiting: VecDeque::new(),
        };
        self.added += 1;
        self.all.insert(ConnId(self.added), conn);
        ConnId(self.added)
    }

    pub(super) fn get(&mut self, id: ConnId) -> Option<&mut Conn> {
        self.all.get_mut(&id)
    }

    pub(super) fn server_of(&self, id: ConnId) -> Option<usize> {
        self.all.get(&id).map(|conn| conn.server)
    }

    /// The connection, if it is open at the server.
    pub(super) fn at_server(&mut self, id: ConnId) -> Option<&mut Conn> {
        self.get(id).filter(|conn| conn.is_open_at_server)
    }

    /// Forgets the connection once it is closed at both ends.
    pub(super) fn free_if_unused(&mut self, id: ConnId) {
        if self.get(id).is_some_and(|conn| !conn.is_open_at_client && !conn.is_open_at_server) {
            self.all.remove(&id);
        }
    }

    /// The connections to a server, or of a zone to it if one is given.
    pub(super) fn open(&self, zone: Option<usize>, server: usize) -> Vec<ConnId> {
        let wanted = |conn: &Conn| conn.server == server && zone.is_none_or(|zone| conn.zone == zone);
        self.all.iter().filter(|(_, conn)| wanted(conn)).map(|(id, _)| *id).collect()
    }
}
