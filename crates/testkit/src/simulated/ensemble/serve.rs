//! A server and its clients: sessions, requests in order, answers.

use std::rc::Rc;

use super::config::nanos;
use super::log::{Origin, Txn};
use super::network::{ConnId, Waiting};
use super::peers::Peer;
use super::tree::Change;
use super::watches::Kind;
use super::wire::{Answer, Code, Op, ToClient, ToServer, WireError};
use super::{Direction, Ensemble, Event, Role};

impl Ensemble {
    /// Whether a server answers clients.
    pub fn is_serving(&self, server: usize) -> bool {
        match &self.servers[server].role {
            Role::Down | Role::Looking => false,
            Role::Following(following) => following.is_serving,
            Role::Leading(_) => true,
        }
    }

    pub(super) fn dialled(&mut self, conn: ConnId) {
        let Some((zone, server)) = self.conns.at_server(conn).map(|conn| (conn.zone, conn.server)) else {
            return;
        };
        if matches!(self.servers[server].role, Role::Down) || self.links[zone][server].is_refusing {
            self.close(conn);
        }
    }

    pub(super) fn hung_up(&mut self, id: ConnId) {
        if self.conns.at_server(id).is_some() {
            self.forget(id);
        }
        self.conns.free_if_unused(id);
    }

    /// Removes the server's end of a connection.
    fn forget(&mut self, id: ConnId) {
        let Some(conn) = self.conns.at_server(id) else {
            return;
        };
        conn.is_open_at_server = false;
        conn.waiting.clear();
        let (server, session) = (conn.server, conn.session);
        let server = &mut self.servers[server];
        server.watches.forget(id);
        if server.by_session.get(&session) == Some(&id) {
            server.by_session.remove(&session);
        }
    }

    /// Closes a connection from the server's side.
    pub(super) fn close(&mut self, id: ConnId) {
        if self.conns.at_server(id).is_some() {
            self.forget(id);
            self.send_event(id, Direction::ToClient, Event::Closed(id));
        }
    }

    fn tell_client(&mut self, id: ConnId, packet: ToClient) {
        self.send_event(id, Direction::ToClient, Event::ToClient(id, packet));
    }

    pub(super) fn heard(&mut self, id: ConnId, packet: ToServer) {
        let Some(conn) = self.conns.at_server(id) else {
            return;
        };
        let (server, session, timeout_ms, is_established) =
            (conn.server, conn.session, conn.timeout_ms, conn.is_established);
        if !self.is_serving(server) {
            return self.close(id);
        }
        match packet {
            ToServer::Connect { session, timeout_ms } => {
                let timeout_ms = self.config.granted(timeout_ms);
                self.connect(id, server, session, timeout_ms);
            }
            ToServer::Request { xid, op } if is_established => {
                if self.touch(server, session, timeout_ms) {
                    self.request(id, server, session, xid, op);
                }
            }
            ToServer::Request { .. } => self.close(id),
        }
    }

    fn connect(&mut self, id: ConnId, server: usize, session: i64, timeout_ms: i32) {
        let Some(conn) = self.conns.at_server(id) else {
            return;
        };
        conn.timeout_ms = timeout_ms;
        if session == 0 {
            let state = &mut self.servers[server];
            state.sessions_made += 1;
            // As in ZooKeeper the time is part of the id, so it differs from every id given out before a crash.
            let session = ((server as i64 + 1) << 56) | (state.sessions_made << 8) | 1;
            conn.session = session;
            let message = Peer::Open { conn: id, session, timeout_ms };
            return self.tell_leader(server, message);
        }
        if let Some(older) = self.servers[server].by_session.get(&session).copied() {
            self.close(older);
        }
        if let Some(conn) = self.conns.at_server(id) {
            conn.session = session;
        }
        self.tell_leader(server, Peer::Revalidate { conn: id, session, timeout_ms });
    }

    /// Sends a message to the server's leader, which may be the server itself.
    fn tell_leader(&mut self, server: usize, message: Peer) {
        match &self.servers[server].role {
            Role::Following(following) => {
                let (leader, link) = (following.leader, following.link);
                self.tell(server, leader, link, message);
            }
            Role::Leading(_) => self.hear_learner(server, server, 0, message),
            _ => {}
        }
    }

    /// Answers a connect request.
    pub(super) fn connected(&mut self, id: ConnId, is_valid: bool) {
        let Some(conn) = self.conns.at_server(id) else {
            return;
        };
        let (server, session, timeout_ms) = (conn.server, conn.session, conn.timeout_ms);
        if !is_valid {
            self.tell_client(id, ToClient::Connected { session: 0, timeout_ms: 0 });
            return self.close(id);
        }
        conn.is_established = true;
        self.servers[server].by_session.insert(session, id);
        self.tell_client(id, ToClient::Connected { session, timeout_ms });
    }

    /// Records that a request touches its session: at the leader immediately, at a follower until the leader asks.
    /// Returns whether the session lives, as far as the server knows.
    fn touch(&mut self, server: usize, session: i64, timeout_ms: i32) -> bool {
        let state = &mut self.servers[server];
        match &mut state.role {
            Role::Following(following) => {
                following.touched.insert(session, timeout_ms);
                true
            }
            Role::Leading(leading) => {
                leading.tracker.touch(session, nanos(timeout_ms), self.now + state.phase)
            }
            _ => false,
        }
    }

    fn request(&mut self, id: ConnId, server: usize, session: i64, xid: i32, op: Op) {
        let Some(conn) = self.conns.at_server(id) else {
            return;
        };
        let is_leading = matches!(self.servers[server].role, Role::Leading(_));
        if op.is_for_leader() {
            let is_multi = matches!(op, Op::Multi(_));
            conn.waiting.push_back(Waiting { xid, read: None, is_sync: false, is_multi });
            return self.tell_leader(server, Peer::Forward { conn: id, session, xid, op });
        }
        if matches!(op, Op::Sync) && !is_leading {
            conn.waiting.push_back(Waiting { xid, read: None, is_sync: true, is_multi: false });
            return self.tell_leader(server, Peer::Sync { conn: id, xid });
        }
        if conn.waiting.is_empty() {
            self.read(id, server, xid, op);
        } else {
            conn.waiting.push_back(Waiting { xid, read: Some(op), is_sync: false, is_multi: false });
        }
    }

    /// Answers a request that had to go to the leader, and the reads that waited behind it.
    pub(super) fn answer_write(&mut self, id: ConnId, xid: i32, result: Result<Answer, WireError>) {
        let Some(conn) = self.conns.at_server(id) else {
            return;
        };
        let is_next = |waiting: &mut Waiting| waiting.xid == xid && waiting.read.is_none();
        let Some(Waiting { is_multi, .. }) = conn.waiting.pop_front_if(is_next) else {
            return;
        };
        let server = conn.server;
        let closes = self.config.version >= [3, 6] || !is_multi;
        if closes && matches!(result, Err(WireError { code: Code::SessionMoved, .. })) {
            return self.close(id);
        }
        self.tell_client(id, ToClient::Answer { xid, result });
        while let Some(conn) = self.conns.at_server(id)
            && let Some(Waiting { xid, read: Some(op), .. }) =
                conn.waiting.pop_front_if(|waiting| waiting.read.is_some())
        {
            self.read(id, server, xid, op);
        }
    }

    pub(super) fn synced(&mut self, id: ConnId, xid: i32) {
        let is_next = |waiting: &Waiting| waiting.is_sync && waiting.xid == xid;
        if self.conns.at_server(id).is_some_and(|conn| conn.waiting.front().is_some_and(is_next)) {
            self.answer_write(id, xid, Ok(Answer::Done));
        }
    }

    fn read(&mut self, id: ConnId, server: usize, xid: i32, op: Op) {
        let result = self.look(id, server, op);
        self.tell_client(id, ToClient::Answer { xid, result: result.map_err(WireError::from) });
    }

    fn look(&mut self, id: ConnId, server: usize, op: Op) -> Result<Answer, Code> {
        let super::Server { tree, watches, .. } = &mut self.servers[server];
        match op {
            Op::Ping | Op::Sync => Ok(Answer::Done),
            Op::Exists { path } => tree.get(&path).map(|node| Answer::Stat(node.stat())).ok_or(Code::NoNode),
            Op::GetData { path, watch } => {
                let node = tree.get(&path).ok_or(Code::NoNode)?;
                if watch {
                    watches.add(Kind::Data, &path, id);
                }
                Ok(Answer::Data(Rc::clone(&node.data), node.stat()))
            }
            Op::GetChildren { path, watch } => {
                let node = tree.get(&path).ok_or(Code::NoNode)?;
                if watch {
                    watches.add(Kind::Child, &path, id);
                }
                Ok(Answer::Children(node.children.iter().cloned().collect(), node.stat()))
            }
            _ => Err(Code::BadArguments),
        }
    }

    /// Applies a committed transaction at one server.
    pub(super) fn apply(&mut self, at: usize, txn: &Txn) {
        let mut fired = std::mem::take(&mut self.fired);
        let super::Server { tree, watches, .. } = &mut self.servers[at];
        for change in &txn.changes {
            tree.apply(change, txn.at, |path, happened| {
                watches.fire(path, happened, |conn, path, happened| {
                    fired.push((conn, Rc::clone(path), happened));
                });
            });
        }
        tree.zxid = txn.zxid();
        for (conn, path, happened) in fired.drain(..) {
            self.tell_client(conn, ToClient::Event { path, happened });
        }
        self.fired = fired;
        if let Some(Origin { conn, xid, .. }) = txn.origin.filter(|origin| origin.server == at) {
            if matches!(txn.changes.first(), Some(Change::Open { .. })) {
                self.connected(conn, true);
            } else {
                self.answer_write(conn, xid, txn.result.clone());
            }
        }
        match (txn.changes.first(), &mut self.servers[at].role) {
            // Every follower touches a new session once.
            (Some(Change::Open { session, timeout_ms }), Role::Following(following)) => {
                following.touched.insert(*session, *timeout_ms);
            }
            (Some(Change::Close { session }), _) => self.closed_session(at, *session),
            _ => {}
        }
    }

    fn closed_session(&mut self, at: usize, session: i64) {
        let server = &mut self.servers[at];
        match &mut server.role {
            Role::Following(following) => drop(following.touched.remove(&session)),
            Role::Leading(leading) => leading.tracker.remove(session),
            _ => {}
        }
        if let Some(conn) = server.by_session.get(&session).copied() {
            self.close(conn);
        }
    }
}
