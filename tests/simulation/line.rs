//! The client of a zklock and its line to the server: what is sent arrives in order and late, or never, or its answer
//! doesn't.

use std::collections::VecDeque;

use zklock::core::protocol::{Asker, Failure, Reply, Request, SessionChange, SessionKey};
use zklock::core::time::BootTime;

use super::server::{Connection, Fired};
use super::world::{Event, Whose, World};

/// One session of one process, or the attempt to get one.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) whose: Whose,
    pub(crate) key: SessionKey,
    pub(crate) state: State,
    pub(crate) wanted: u64,
    pub(crate) deadline: Option<u64>,
    pub(crate) session: i64,
    pub(crate) timeout: u64,
    pub(crate) connection: Connection,
    /// Asked and not answered, in order.
    in_flight: VecDeque<(Asker, Request, BootTime)>,
    last_up: u64,
    last_down: u64,
    /// What is held up on the way: in the order in which it was sent.
    held_up: VecDeque<(Connection, Up)>,
    held_down: VecDeque<(Connection, Down)>,
    last_heard: u64,
    away_since: u64,
    /// It is to be closed as soon as there is a connection.
    closing: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Connecting,
    Connected,
    Away,
    Over,
}

/// What travels to the server.
#[derive(Debug)]
pub(crate) enum Up {
    Connect,
    Ask(Asker, Request),
    Close,
}

/// What travels back.
#[derive(Debug)]
pub(crate) enum Down {
    Connected(i64, u64, BootTime),
    Answer(Reply),
    Fired(Asker, String, bool),
    Closed,
    Expired,
}

pub(crate) type ClientId = usize;

/// What a request whose answer was lost is answered with.
fn lost(request: &Request, sent: BootTime) -> Reply {
    let failure = Failure::ConnectionLost;
    match request {
        Request::Create { .. } => Reply::Created(Err(failure)),
        Request::MakeParents(_) => Reply::ParentsMade(Err(failure)),
        Request::List(_) | Request::CatchUpAndList(_) => Reply::Listed(Err(failure)),
        Request::Watch(path) | Request::Get(path) => Reply::Read(path.clone(), Err(failure)),
        Request::WatchBelow(_) => Reply::Watching(Err(failure)),
        Request::Write(..) => Reply::Written(Err(failure)),
        Request::Delete(_) | Request::DeleteUnchanged(..) => Reply::Deleted(Err(failure)),
        Request::Conclude { .. } => Reply::Concluded(Err(failure)),
        Request::Confirm(_) => Reply::Confirmed(sent, Err(failure)),
    }
}

/// A request in a line.
fn shown(request: &Request) -> String {
    match request {
        Request::Create { parent, prefix, .. } => format!("Create {parent}/{prefix}"),
        Request::Write(path, _, version) => format!("Write {path} at {version}"),
        Request::Conclude { record, node, .. } => format!("Conclude {record} {node}"),
        request => format!("{request:?}"),
    }
}

impl World {
    pub(crate) fn open(
        &mut self,
        whose: Whose,
        key: SessionKey,
        wanted: u64,
        deadline: Option<u64>,
    ) -> ClientId {
        let id = self.clients.len();
        let connection = self.new_connection();
        self.clients.push(Client {
            whose,
            key,
            state: State::Connecting,
            wanted,
            deadline,
            session: 0,
            timeout: wanted,
            connection,
            in_flight: VecDeque::new(),
            last_up: 0,
            last_down: 0,
            held_up: VecDeque::new(),
            held_down: VecDeque::new(),
            last_heard: self.now,
            away_since: self.now,
            closing: false,
        });
        self.send(id, Up::Connect);
        self.retry_connecting(id);
        id
    }

    fn new_connection(&mut self) -> Connection {
        self.connections += 1;
        self.connections
    }

    pub(crate) fn ask(&mut self, id: ClientId, asker: Asker, request: Request) {
        let sent = self.clock_of(self.clients[id].whose);
        let client = &mut self.clients[id];
        match client.state {
            State::Over => return,
            State::Connected => {
                client.in_flight.push_back((asker, request.clone(), sent));
                self.send(id, Up::Ask(asker, request));
            }
            // It waits for a connection.
            State::Connecting | State::Away => client.in_flight.push_back((asker, request, sent)),
        }
    }

    pub(crate) fn release(&mut self, id: ClientId, nodes: Vec<String>) {
        match self.clients[id].state {
            State::Over => return,
            State::Connecting => {
                self.clients[id].state = State::Over;
                return self.tell(id, SessionChange::Closed);
            }
            State::Away => {}
            State::Connected => {
                for node in nodes {
                    self.ask(id, Asker::Lease, Request::Delete(node));
                }
                self.send(id, Up::Close);
            }
        }
        self.clients[id].closing = true;
    }

    /// The process is dead: its connection ends, its session doesn't.
    pub(crate) fn abandon(&mut self, id: ClientId) {
        self.clients[id].state = State::Over;
        let connection = self.clients[id].connection;
        self.server.forget(connection);
    }

    /// Every so often a client makes sure of its connection, and the server of the client.
    pub(crate) fn check_line(&mut self, id: ClientId) {
        let client = &self.clients[id];
        if client.state != State::Connected {
            return;
        }
        let (whose, session, timeout) = (client.whose, client.session, client.timeout);
        if !self.is_frozen(whose) {
            if self.is_cut(whose) {
                if self.now.saturating_sub(client.last_heard) > timeout / 8 {
                    return self.disconnect(id);
                }
            } else if self.server.touch(session, self.now) {
                self.clients[id].last_heard = self.now;
            } else {
                return self.disconnect(id);
            }
        }
        self.after(timeout / 16, Event::CheckLine(id));
    }

    /// The connection is lost. Of what was on its way some is carried out.
    pub(crate) fn disconnect(&mut self, id: ClientId) {
        if self.clients[id].state != State::Connected {
            return;
        }
        let old = self.clients[id].connection;
        self.server.forget(old);
        let connection = self.new_connection();
        let (now, retry) = (self.now, self.rng.u64(10_000_000..self.clients[id].timeout / 16));
        let client = &mut self.clients[id];
        (client.state, client.connection, client.away_since) = (State::Away, connection, now);
        let lost_requests: Vec<_> = client.in_flight.drain(..).collect();
        self.tell(id, SessionChange::Disconnected);
        for (asker, request, sent) in lost_requests {
            self.tell_reply(id, asker, lost(&request, sent));
        }
        self.after(retry, Event::Retry(id));
    }

    /// Another attempt to connect.
    pub(crate) fn retry(&mut self, id: ClientId) {
        let client = &self.clients[id];
        let (whose, timeout) = (client.whose, client.timeout);
        if self.is_frozen(whose) {
            return self.after(timeout / 24, Event::Retry(id));
        }
        match client.state {
            State::Over | State::Connected => {}
            State::Connecting => {
                if client.deadline.is_some_and(|deadline| deadline <= self.now) {
                    self.clients[id].state = State::Over;
                    return self.tell(id, SessionChange::Unreachable(vec!["it doesn't answer".to_owned()]));
                }
                let connection = self.new_connection();
                self.clients[id].connection = connection;
                self.send(id, Up::Connect);
                self.retry_connecting(id);
            }
            State::Away if self.now - client.away_since > timeout * 7 / 5 => {
                self.over(id, Failure::GivenUp);
            }
            State::Away => {
                if self.is_cut(whose) {
                    self.retry_after(id, timeout / 48..timeout / 12);
                } else {
                    self.send(id, Up::Connect);
                    // Unless that works.
                    self.after(timeout / 8, Event::Retry(id));
                }
            }
        }
    }

    /// An attempt gets more time on a slow line.
    fn retry_connecting(&mut self, id: ClientId) {
        let line = self.zklocks[self.clients[id].whose.zklock()].contender.line;
        self.retry_after(id, 200_000_000 + 4 * line..400_000_000 + 5 * line);
    }

    fn retry_after(&mut self, id: ClientId, span: std::ops::Range<u64>) {
        let after = self.rng.u64(span);
        self.after(after, Event::Retry(id));
    }

    fn over(&mut self, id: ClientId, failure: Failure) {
        self.clients[id].state = State::Over;
        self.tell(id, SessionChange::Lost(failure));
    }

    fn send(&mut self, id: ClientId, up: Up) {
        let delay = self.delay(self.clients[id].whose);
        let client = &mut self.clients[id];
        let at = (self.now + delay).max(client.last_up);
        client.last_up = at;
        let connection = client.connection;
        self.at(at, Event::Up(id, connection, up));
    }

    /// Something arrives at the server.
    pub(crate) fn arrives_up(&mut self, id: ClientId, connection: Connection, up: Up) {
        let whose = self.clients[id].whose;
        if self.is_cut(whose) {
            // TCP tries again, until one of the two gives up.
            return self.clients[id].held_up.push_back((connection, up));
        }
        let is_current = self.clients[id].connection == connection;
        match up {
            Up::Connect if is_current => self.connect_arrives(id),
            Up::Ask(asker, request) => {
                // A connection that the client has given up may have delivered something before its end.
                if !is_current && self.rng.bool() {
                    return;
                }
                let session = self.clients[id].session;
                if !self.server.touch(session, self.now) {
                    return self.answer(id, connection, Down::Expired);
                }
                self.requests += 1;
                self.story.tell(self.now, || format!("    {whose:?} asks {asker:?} {}", shown(&request)));
                let (reply, fired) = self.server.serve(connection, session, asker, &request, self.now);
                self.fire(fired);
                if is_current {
                    self.answer(id, connection, Down::Answer(reply));
                }
            }
            Up::Close if is_current => {
                let fired = self.server.close(self.clients[id].session);
                self.fire(fired);
                self.answer(id, connection, Down::Closed);
            }
            Up::Connect | Up::Close => {}
        }
    }

    /// The line of a zklock is whole again, or one of its processes goes on: what was held up goes on too.
    pub(crate) fn flows_again(&mut self, index: usize) {
        for id in 0..self.clients.len() {
            let whose = self.clients[id].whose;
            if whose.zklock() != index || self.is_cut(whose) {
                continue;
            }
            // Before whatever comes after it.
            for (connection, up) in std::mem::take(&mut self.clients[id].held_up) {
                self.arrives_up(id, connection, up);
            }
            if self.is_frozen(whose) {
                continue;
            }
            for (connection, down) in std::mem::take(&mut self.clients[id].held_down) {
                self.arrives_down(id, connection, down);
            }
        }
    }

    fn connect_arrives(&mut self, id: ClientId) {
        let (state, connection) = (self.clients[id].state, self.clients[id].connection);
        match state {
            State::Connecting => {
                let (session, timeout) = self.server.connect(self.now, self.clients[id].wanted);
                let began = self.clock_of(self.clients[id].whose);
                // It was sent before: a client dates it then.
                let began = began.before(std::time::Duration::from_millis(20));
                self.answer(id, connection, Down::Connected(session, timeout, began));
            }
            State::Away => {
                let (session, timeout) = (self.clients[id].session, self.clients[id].timeout);
                let down = if self.server.touch(session, self.now) {
                    Down::Connected(session, timeout, BootTime::from_nanos(0))
                } else {
                    Down::Expired
                };
                self.answer(id, connection, down);
            }
            State::Connected | State::Over => {}
        }
    }

    fn answer(&mut self, id: ClientId, connection: Connection, down: Down) {
        let delay = self.delay(self.clients[id].whose);
        let client = &mut self.clients[id];
        let at = (self.now + delay).max(client.last_down);
        client.last_down = at;
        self.at(at, Event::Down(id, connection, down));
    }

    /// Watches fired: whoever is connected hears of it, after what was answered before.
    pub(crate) fn fire(&mut self, fired: Vec<Fired>) {
        for Fired { connection, asker, path, deleted } in fired {
            if let Some(id) = self.clients.iter().position(|client| client.connection == connection) {
                self.answer(id, connection, Down::Fired(asker, path, deleted));
            }
        }
    }

    /// Something arrives at the client.
    pub(crate) fn arrives_down(&mut self, id: ClientId, connection: Connection, down: Down) {
        if self.clients[id].connection != connection || self.clients[id].state == State::Over {
            return;
        }
        let whose = self.clients[id].whose;
        if self.is_cut(whose) || self.is_frozen(whose) {
            return self.clients[id].held_down.push_back((connection, down));
        }
        self.clients[id].last_heard = self.now;
        match down {
            Down::Connected(session, timeout, began) => self.connected(id, session, timeout, began),
            Down::Answer(reply) => {
                let Some((asker, request, sent)) = self.clients[id].in_flight.pop_front() else { return };
                let reply = match (reply, &request) {
                    (Reply::Concluded(result), Request::Confirm(_)) => Reply::Confirmed(sent, result),
                    (reply, _) => reply,
                };
                self.tell_reply(id, asker, reply);
            }
            Down::Fired(asker, path, deleted) => self.tell_reply(id, asker, Reply::Changed(path, deleted)),
            Down::Closed => {
                self.clients[id].state = State::Over;
                self.tell(id, SessionChange::Closed);
            }
            Down::Expired => self.over(id, Failure::Expired),
        }
    }

    fn connected(&mut self, id: ClientId, session: i64, timeout: u64, began: BootTime) {
        let was = self.clients[id].state;
        if was == State::Connected {
            // Another attempt was quicker.
            return;
        }
        let client = &mut self.clients[id];
        (client.state, client.session, client.timeout) = (State::Connected, session, timeout);
        // What was asked meanwhile, before whatever is asked now.
        let waiting: Vec<_> =
            self.clients[id].in_flight.iter().map(|(asker, request, _)| (*asker, request.clone())).collect();
        for (asker, request) in waiting {
            self.send(id, Up::Ask(asker, request));
        }
        self.after(timeout / 16, Event::CheckLine(id));
        if was == State::Connecting {
            let timeout = std::time::Duration::from_nanos(timeout);
            self.tell(id, SessionChange::Connected { id: session, timeout, began });
        } else {
            self.tell(id, SessionChange::Reconnected);
        }
        if self.clients[id].closing {
            self.send(id, Up::Close);
        }
    }

    fn tell(&mut self, id: ClientId, change: SessionChange) {
        let (whose, key) = (self.clients[id].whose, self.clients[id].key);
        self.story.tell(self.now, || format!("    {whose:?} hears {change:?}"));
        self.hears_of_session(whose, key, change);
    }

    fn tell_reply(&mut self, id: ClientId, asker: Asker, reply: Reply) {
        let (whose, key) = (self.clients[id].whose, self.clients[id].key);
        if let Some(failure) = reply.failure() {
            self.story.tell(self.now, || format!("    {whose:?} hears that {asker:?} failed: {failure}"));
        }
        self.hears_reply(whose, key, asker, reply);
    }
}
