//! The sessions of all zklocks. Each is a simulated client with its own link to the simulated ensemble.

use zklock_core::path::NodePath;
use zklock_core::protocol::{Asker, LockIndex, QuestionIndex, Request, SessionChange, SessionKey};
use zklock_core::time::BootTime;

use super::client::{Client, ClientEvent, HostClock, Settings};
use super::ensemble::{ConnId, Direction, Output};
use super::world::{SessionOwner, World};

/// One session of one process, or the attempt to get one.
pub(crate) struct OwnedSession {
    pub(crate) owner: SessionOwner,
    key: SessionKey,
    client: Client,
    /// Outputs that arrived while its process was frozen.
    deferred: Vec<Output>,
    /// The session's id; 0 before there is a session.
    pub(crate) session: i64,
}

pub(crate) type ClientId = usize;

/// The first number for askers other than locks.
const OTHERS: usize = 1_000;

fn number(asker: Asker) -> usize {
    match asker {
        Asker::Lock(LockIndex(index)) => index,
        Asker::Lease => OTHERS,
        Asker::Once => OTHERS + 1,
        Asker::Question(QuestionIndex(index)) => OTHERS + 2 + index,
    }
}

fn asker(number: usize) -> Asker {
    match number.checked_sub(OTHERS) {
        None => Asker::Lock(LockIndex(number)),
        Some(0) => Asker::Lease,
        Some(1) => Asker::Once,
        Some(index) => Asker::Question(QuestionIndex(index - 2)),
    }
}

/// Shows a request on one line.
fn shown(request: &Request) -> String {
    match request {
        Request::Create { path, .. } => format!("Create {path}"),
        Request::Write(path, _, version) => format!("Write {path} at {version}"),
        Request::RecordSuccess { record, node, .. } => format!("RecordSuccess {record} {node}"),
        request => format!("{request:?}"),
    }
}

impl World {
    /// Opens the session of an operator, who inspects and changes locks by hand.
    pub(crate) fn open_operator(&mut self) {
        self.operator = Some(self.open(SessionOwner::Operator, SessionKey(0), 30_000_000_000, None));
    }

    pub(crate) fn open(
        &mut self,
        owner: SessionOwner,
        key: SessionKey,
        timeout: u64,
        deadline: Option<BootTime>,
    ) -> ClientId {
        let id = self.sessions.len();
        let zone = self.zone(owner);
        let clock = self.host_clock(owner);
        let settings =
            Settings { zone, servers: self.servers(owner), timeout, deadline, clock, seed: self.rng.u64(..) };
        let client = Client::open(&mut self.ensemble, settings, id as u64);
        self.sessions.push(OwnedSession { owner, key, client, deferred: vec![], session: 0 });
        self.dirty.push(id);
        id
    }

    /// The zone of a session. Each zklock has links of its own; the operator's come last.
    fn zone(&self, owner: SessionOwner) -> usize {
        match owner {
            SessionOwner::Operator => self.zklocks.len(),
            owner => owner.zklock(),
        }
    }

    fn servers(&self, owner: SessionOwner) -> Vec<usize> {
        let known = self.zklocks.get(owner.zklock()).and_then(|zklock| zklock.contender.server);
        known.map_or_else(|| (0..self.scenario.servers).collect(), |server| vec![server])
    }

    fn host_clock(&self, owner: SessionOwner) -> HostClock {
        match owner {
            SessionOwner::Operator => HostClock::default(),
            owner => self.zklocks[owner.zklock()].contender.clock,
        }
    }

    pub(crate) fn ask(&mut self, id: ClientId, asker: Asker, request: Request) {
        let line = &self.sessions[id];
        if line.client.is_over() {
            return;
        }
        let owner = line.owner;
        self.trace.print(self.now, || format!("    {owner:?} asks {asker:?} {}", shown(&request)));
        self.sessions[id].client.ask(&mut self.ensemble, number(asker), request);
        self.dirty.push(id);
    }

    pub(crate) fn release(&mut self, id: ClientId, nodes: Vec<NodePath>) {
        let line = &mut self.sessions[id];
        if !line.client.is_over() {
            line.client.release(&mut self.ensemble, nodes);
            self.dirty.push(id);
        }
    }

    /// Ends the connection of a process that died. The session lives on.
    pub(crate) fn abandon(&mut self, id: ClientId) {
        self.sessions[id].client.die(&mut self.ensemble);
        self.sessions[id].deferred.clear();
    }

    /// Passes an output of the ensemble to the client that it is meant for.
    pub(crate) fn comes_out(&mut self, output: Output) {
        let id = match &output {
            Output::Woken(token) => usize::try_from(*token).ok(),
            Output::FromServer(conn, _) | Output::Closed(conn) => self.owner_of(*conn),
        };
        let Some(id) = id else { return };
        let owner = self.sessions[id].owner;
        let follows = !self.sessions[id].deferred.is_empty();
        if follows || self.is_frozen(owner) {
            return self.sessions[id].deferred.push(output);
        }
        self.sessions[id].client.take(&mut self.ensemble, output);
        self.dirty.push(id);
        self.hear_news();
    }

    /// The session of a connection.
    fn owner_of(&self, conn: ConnId) -> Option<ClientId> {
        self.sessions.iter().position(|session| session.client.conn() == Some(conn))
    }

    /// Handles everything that clients have to report.
    pub(crate) fn hear_news(&mut self) {
        while let Some(id) = self.dirty.pop() {
            while let Some(news) = self.sessions[id].client.news() {
                let (owner, key) = (self.sessions[id].owner, self.sessions[id].key);
                match news {
                    ClientEvent::Session(change) => {
                        self.trace.print(self.now, || format!("    {owner:?} hears {change:?}"));
                        if let SessionChange::Connected { id: session, .. } = change {
                            self.sessions[id].session = session;
                        }
                        self.hears_of_session(owner, key, change);
                    }
                    ClientEvent::Reply(number, reply) => {
                        let asker = asker(number);
                        if let Some(failure) = reply.failure() {
                            self.trace.print(self.now, || {
                                format!("    {owner:?} hears that {asker:?} failed: {failure}")
                            });
                        }
                        self.note_list(owner, &reply);
                        self.hears_reply(owner, key, asker, reply);
                    }
                }
            }
        }
    }

    /// Continues a process with everything that arrived for it meanwhile.
    pub(crate) fn thaw_sessions(&mut self, index: usize) {
        for id in 0..self.sessions.len() {
            let owner = self.sessions[id].owner;
            if !owner.is_of(index) || self.is_frozen(owner) {
                continue;
            }
            for output in std::mem::take(&mut self.sessions[id].deferred) {
                self.sessions[id].client.take(&mut self.ensemble, output);
                self.dirty.push(id);
            }
        }
        self.hear_news();
    }

    /// Tells a zklock's sessions how long its host was suspended.
    pub(crate) fn sessions_slept(&mut self, index: usize, span: u64) {
        for line in self.sessions.iter_mut().filter(|line| line.owner.is_of(index)) {
            line.client.slept(&mut self.ensemble, span);
        }
    }

    /// The session of a zklock's worker.
    pub(crate) fn session_of(&self, index: usize) -> Option<i64> {
        let line = &self.sessions[self.zklocks[index].main_session()?];
        (line.session != 0).then_some(line.session)
    }

    /// The server that a zklock's worker is connected or connecting to.
    pub(crate) fn server_of(&self, index: usize) -> Option<usize> {
        let conn = self.sessions[self.zklocks[index].main_session()?].client.conn()?;
        self.ensemble.server_of(conn)
    }

    /// Cuts a zklock off from all servers, or reconnects it.
    pub(crate) fn set_cut(&mut self, index: usize, directions: &[Direction], is_cut: bool) {
        for server in 0..self.scenario.servers {
            for direction in directions {
                self.ensemble.set_hole(index, server, *direction, is_cut);
            }
        }
    }

    /// Closes a zklock's connections.
    pub(crate) fn reset(&mut self, index: usize) {
        for server in 0..self.scenario.servers {
            self.ensemble.cut(index, server);
        }
    }
}
