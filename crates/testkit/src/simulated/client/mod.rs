//! A client that behaves like a session of `zklock::ensemble`, with the same requests, replies, changes and time
//! limits.
//!
//! | module | topic |
//! |---|---|
//! | [`message`] | zklock's own types |
//! | [`clock`] | a host's clock |
//! | [`step`] | calls as operations of the simulated servers; `zklock_core::request` decides which calls |
//! | [`connection`] | one connection: requests under way, pings, silence |
//! | [`connector`] | connecting and reconnecting; `zklock_core::connecting` decides how |
//!
//! Nothing here takes time, and no server throttles or denies anything.

mod clock;
mod connection;
mod connector;
pub mod message;
mod step;

use std::collections::VecDeque;
use std::time::Duration;

pub use self::clock::HostClock;
use self::connection::{Connection, Flight};
use self::message::connecting::Outcome;
use self::message::{
    BootTime, Course, FollowUp, NodePath, Reply, Request, RequestError, SessionChange, Step,
};
use self::step::{Kind, Work};
use crate::simulated::ensemble::wire::{Answer, Happened, Op, ToClient, WireError};
use crate::simulated::ensemble::{ConnId, Ensemble, Output, Rng};

/// Something that a client reports.
#[derive(Debug)]
pub enum ClientEvent {
    Session(SessionChange),
    Reply(usize, Reply),
}

enum Command {
    Ask(usize, Request),
    Release(Vec<NodePath>),
}

/// The state of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// There is no session yet.
    New,
    /// The session that was opened is closed, because another timeout than asked for was granted.
    Closing,
    Serving,
    /// The connection is lost, but the session may live.
    Disconnected,
    Over,
}

struct Watch {
    number: usize,
    /// The node that the server watches. `path` is the node that was asked for.
    on: String,
    path: String,
    kind: Kind,
}

/// The settings of a client. Spans are in nanoseconds.
#[derive(Debug, Clone)]
pub struct Settings {
    pub zone: usize,
    pub servers: Vec<usize>,
    pub timeout: u64,
    pub deadline: Option<BootTime>,
    pub clock: HostClock,
    pub seed: u64,
}

/// A session, or an attempt to get one.
pub struct Client {
    settings: Settings,
    /// Identifies the client's alarms.
    token: u64,
    rng: Rng,
    phase: Phase,
    is_releasing: bool,
    /// The session's id; 0 before there is one.
    session: i64,
    course: Course<usize>,
    /// When the course is due, on the host's monotonic clock.
    due: Option<u64>,
    /// When reconnecting takes too long, on the host's monotonic clock.
    give_up_at: Option<u64>,
    /// The session timeout that the server granted in the present attempt.
    granted: Duration,
    connection: Option<Connection>,
    inbox: VecDeque<Command>,
    watches: Vec<Watch>,
    /// The time of the pending alarm, in virtual time.
    alarm: Option<u64>,
    news: VecDeque<ClientEvent>,
}

impl Client {
    /// Begins to connect. `token` identifies the client's alarms. The caller must pass on what [`Ensemble::next`]
    /// returns for this token and for the client's [connection](Self::conn).
    pub fn open(ensemble: &mut Ensemble, settings: Settings, token: u64) -> Self {
        let rng = Rng::new(settings.seed);
        let (course, first) = Course::new(duration(settings.timeout), settings.deadline, false);
        let mut client = Self {
            settings,
            token,
            rng,
            phase: Phase::New,
            is_releasing: false,
            session: 0,
            course,
            due: None,
            give_up_at: None,
            granted: Duration::ZERO,
            connection: None,
            inbox: VecDeque::new(),
            watches: vec![],
            alarm: None,
            news: VecDeque::new(),
        };
        client.take_action(ensemble, first);
        client.set_alarm(ensemble);
        client
    }

    /// Returns the next report, in order.
    pub fn news(&mut self) -> Option<ClientEvent> {
        self.news.pop_front()
    }

    /// The connection, established or being attempted.
    pub fn conn(&self) -> Option<ConnId> {
        self.connection.as_ref().map(|connection| connection.conn)
    }

    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Sends a request. The reply comes with the same number, unless the session ends first.
    pub fn ask(&mut self, ensemble: &mut Ensemble, number: usize, request: Request) {
        self.command(ensemble, Command::Ask(number, request));
    }

    /// Deletes nodes and closes the session, all in one flight.
    pub fn release(&mut self, ensemble: &mut Ensemble, nodes: Vec<NodePath>) {
        self.command(ensemble, Command::Release(nodes));
    }

    /// Ends the client as the death of its process would: the connection is closed and the session is not.
    pub fn die(&mut self, ensemble: &mut Ensemble) {
        self.hang_up(ensemble);
        self.phase = Phase::Over;
    }

    fn hang_up(&mut self, ensemble: &mut Ensemble) {
        if let Some(connection) = self.connection.take() {
            ensemble.hang_up(connection.conn);
        }
    }

    /// Whether a connection isn't granted yet.
    fn is_trying(&self) -> bool {
        matches!(self.phase, Phase::New | Phase::Disconnected)
    }

    /// Handles an output of the ensemble, if it is for this client.
    pub fn take(&mut self, ensemble: &mut Ensemble, output: Output) {
        if self.phase == Phase::Over {
            return;
        }
        match output {
            Output::FromServer(conn, packet) if self.conn() == Some(conn) => self.heard(ensemble, packet),
            Output::Closed(conn) if self.conn() == Some(conn) => self.lost(ensemble),
            Output::Woken(token) if token == self.token => self.woken(ensemble),
            _ => return,
        }
        self.set_alarm(ensemble);
    }

    fn now(&self, ensemble: &Ensemble) -> u64 {
        self.settings.clock.monotonic(ensemble.now())
    }

    /// The time for the core.
    fn clock(&self, ensemble: &Ensemble) -> BootTime {
        self.settings.clock.boot_time(ensemble.now())
    }

    /// Tells the client that its host has slept for this time, during which its timers stood still.
    pub fn slept(&mut self, ensemble: &mut Ensemble, span: u64) {
        self.settings.clock.slept += span;
        self.alarm = None;
        self.set_alarm(ensemble);
    }

    fn tell(&mut self, change: SessionChange) {
        self.news.push_back(ClientEvent::Session(change));
    }

    fn end(&mut self, ensemble: &mut Ensemble, change: SessionChange) {
        self.die(ensemble);
        self.tell(change);
    }

    fn command(&mut self, ensemble: &mut Ensemble, command: Command) {
        match self.phase {
            Phase::Over => {}
            // Before there is a session, the only possible command is to give up.
            Phase::New | Phase::Closing => self.end(ensemble, SessionChange::Closed),
            Phase::Disconnected => self.inbox.push_back(command),
            Phase::Serving => {
                self.carry_out(ensemble, command);
                self.set_alarm(ensemble);
            }
        }
    }

    fn carry_out(&mut self, ensemble: &mut Ensemble, command: Command) {
        match command {
            _ if self.is_releasing => {}
            Command::Ask(number, request) => {
                let sent = self.clock(ensemble);
                // Only an ACL that is an explicit list can exclude its author.
                let step = Step::first(request, false, sent);
                self.send(ensemble, number, Work::Step(step));
            }
            Command::Release(nodes) => {
                self.is_releasing = true;
                self.watches.clear();
                for flight in self.connection.iter_mut().flat_map(|connection| &mut connection.flights) {
                    flight.work = Work::Ignored;
                }
                for path in nodes {
                    let step = Step::first(Request::Delete(path), false, self.clock(ensemble));
                    self.send(ensemble, 0, Work::Step(step));
                }
                self.send(ensemble, 0, Work::Close);
            }
        }
    }

    fn send(&mut self, ensemble: &mut Ensemble, number: usize, work: Work) {
        let now = self.now(ensemble);
        let Some(connection) = &mut self.connection else {
            return;
        };
        let (op, second) = match &work {
            Work::Step(step) => (step::op(step.call()), step.second()),
            Work::Close | Work::Ignored => (Op::Close, None),
        };
        connection.send(ensemble, now, Flight { number, work }, op);
        if let Some(second) = second {
            let op = step::op(second.call());
            connection.send(ensemble, now, Flight { number, work: Work::Step(second) }, op);
        }
    }

    fn heard(&mut self, ensemble: &mut Ensemble, packet: ToClient) {
        let (now, is_trying) = (self.now(ensemble), self.is_trying());
        let Some(connection) = &mut self.connection else {
            return;
        };
        connection.heard(now);
        match packet {
            ToClient::Connected { session, timeout_ms } => self.greeted(ensemble, session, timeout_ms),
            ToClient::Event { path, happened } => self.fired(&path, happened),
            ToClient::Answer { xid, result, .. } => {
                if connection.takes_ping(xid) {
                    if is_trying {
                        self.proceed(ensemble, Outcome::Opened(self.granted));
                    }
                } else if let Some(flight) = connection.flights.pop_front() {
                    self.answered(ensemble, flight, result);
                }
            }
        }
    }

    fn answered(&mut self, ensemble: &mut Ensemble, flight: Flight, result: Result<Answer, WireError>) {
        let Flight { number, work } = flight;
        let is_pair = work.is_pair();
        let step = match work {
            Work::Step(step) => step,
            Work::Close => return self.closed(ensemble),
            Work::Ignored => return,
        };
        let watch = step::watch(step.call());
        let next = step.answered(step::answer(result));
        if is_pair
            && !matches!(next, FollowUp::Second(_))
            && let Some(second) =
                self.connection.as_mut().and_then(|connection| connection.flights.front_mut())
        {
            second.work = Work::Ignored;
        }
        match next {
            FollowUp::Reply(reply) => self.news.push_back(ClientEvent::Reply(number, reply)),
            FollowUp::Watching(reply, path) => {
                let path = String::from(path);
                self.watches.extend(watch.map(|(on, kind)| Watch { number, on, path, kind }));
                self.news.push_back(ClientEvent::Reply(number, reply));
            }
            FollowUp::Send(step) => self.send(ensemble, number, Work::Step(step)),
            FollowUp::SendLater(step) => panic!("no server throttles {step:?}"),
            // It was sent along, and its answer comes next.
            FollowUp::Second(_) => {}
        }
    }

    fn fired(&mut self, path: &str, happened: Happened) {
        let news = &mut self.news;
        self.watches.retain(|watch| {
            let fires = match watch.kind {
                Kind::Data => watch.on == path && happened != Happened::ChildrenChanged,
                Kind::Children => {
                    watch.on == path && matches!(happened, Happened::ChildrenChanged | Happened::Deleted)
                }
            };
            if fires {
                let is_deleted = happened == Happened::Deleted && path == watch.path;
                let reply = Reply::Changed(watch.path.as_str().into(), is_deleted);
                news.push_back(ClientEvent::Reply(watch.number, reply));
            }
            !fires
        });
    }

    /// Handles the loss of the connection. Requests under way may have been carried out or not.
    fn lost(&mut self, ensemble: &mut Ensemble) {
        match self.phase {
            Phase::New | Phase::Disconnected => return self.failed(ensemble, RequestError::ConnectionLost),
            Phase::Closing => return self.closed(ensemble),
            Phase::Serving | Phase::Over => {}
        }
        let Some(connection) = self.connection.take() else {
            return;
        };
        ensemble.hang_up(connection.conn);
        self.watches.clear();
        if !self.is_releasing {
            self.tell(SessionChange::Disconnected);
        }
        let mut flights: Vec<Flight> = connection.flights.into();
        // The list sent along with a sync has no reply of its own.
        let is_second = |pair: &[Flight]| pair[0].work.is_pair();
        let seconds: Vec<usize> = flights
            .windows(2)
            .enumerate()
            .filter(|(_, pair)| is_second(pair))
            .map(|(at, _)| at + 1)
            .collect();
        for at in seconds {
            flights[at].work = Work::Ignored;
        }
        // These replies may come in any order.
        self.rng.shuffle(&mut flights);
        for Flight { number, work } in flights {
            if let Work::Step(step) = work {
                let reply = step.failed(RequestError::ConnectionLost);
                self.news.push_back(ClientEvent::Reply(number, reply));
            }
        }
        self.phase = Phase::Disconnected;
        let longest = self.course.longest_reconnection();
        self.give_up_at = longest.map(|longest| self.now(ensemble) + nanos(longest));
        self.proceed(ensemble, Outcome::Lost);
    }

    fn woken(&mut self, ensemble: &mut Ensemble) {
        if self.alarm.is_some_and(|alarm| alarm <= ensemble.now()) {
            self.alarm = None;
        }
        let now = self.now(ensemble);
        let passed = |due: Option<u64>| due.is_some_and(|due| due <= now);
        if passed(self.give_up_at) || passed(self.due) {
            let event = if passed(self.give_up_at) { Outcome::TooLate } else { Outcome::Due };
            self.hang_up(ensemble);
            return self.proceed(ensemble, event);
        }
        let may_ping = !self.is_trying();
        if let Some(connection) = &mut self.connection
            && connection.is_silent(ensemble, now, may_ping)
        {
            self.lost(ensemble);
        }
    }

    fn set_alarm(&mut self, ensemble: &mut Ensemble) {
        if self.phase == Phase::Over {
            return;
        }
        let connection = self.connection.as_ref().map(|connection| connection.due(!self.is_trying()));
        let Some(due) = [connection, self.due, self.give_up_at].into_iter().flatten().min() else {
            return;
        };
        let due = self.settings.clock.when(due);
        if self.alarm.is_none_or(|alarm| due < alarm) {
            self.alarm = Some(due);
            ensemble.wake_at(due, self.token);
        }
    }
}

fn duration(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
