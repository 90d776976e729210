//! A simulated ensemble of servers that follows ZooKeeper's rules. It runs on a virtual clock in one thread and is
//! deterministic for a given seed.
//!
//! | module | topic |
//! |---|---|
//! | [`wire`] | messages between clients and servers |
//! | [`config`] | sizes, delays and limits |
//! | [`queue`] | ordered events |
//! | [`network`] | connections, links and holes |
//! | [`peers`] | messages between servers |
//! | [`tree`], [`prepare`], [`log`] | nodes and sessions; the leader's check of writes; transactions |
//! | [`serve`], [`watches`] | a server and its clients |
//! | [`leader`], [`tracker`] | proposals, commits and pings; session expiry |
//! | [`follower`] | applying commits, answering pings, leaving a silent leader |
//! | [`election`] | leader election, and how followers get the history |
//! | [`faults`], [`look`] | crashes, freezes, cuts; the state that checks may inspect |
//! | [`explore`] | single events |
//!
//! Simplifications: a transaction carries its answer; votes aren't messages but are seen immediately over every intact
//! link; a follower takes its leader's history immediately and serves one delay later; a log is durable as soon as it is
//! written, and acknowledged after a delay.

mod config;
mod election;
pub mod explore;
mod faults;
mod follower;
mod leader;
mod log;
mod look;
mod network;
mod peers;
mod prepare;
pub mod queue;
mod serve;
mod tracker;
mod tree;
mod watches;
pub mod wire;

use std::collections::{BTreeMap, VecDeque};

pub use crate::rng::Rng;

pub use self::config::{Config, MS};
pub use self::network::{ConnId, Direction};

use self::follower::Following;
use self::leader::Leading;
use self::log::Log;
use self::network::{Conns, Link};
use self::peers::{Peer, PeerLane};
use self::queue::Queue;
use self::tree::Tree;
use self::watches::Watches;
use self::wire::{Happened, ToClient, ToServer};

/// An event that the ensemble reports to its caller.
#[derive(Debug)]
pub enum Output {
    FromServer(ConnId, ToClient),
    /// The server has closed the connection, or refused it.
    Closed(ConnId),
    /// An alarm is due: see [`Ensemble::wake_at`].
    Woken(u64),
}

#[derive(Debug)]
enum Event {
    Dialled(ConnId),
    ToServer(ConnId, ToServer),
    HungUp(ConnId),
    ToClient(ConnId, ToClient),
    Closed(ConnId),
    Peer { from: usize, to: usize, link: u64, message: Peer },
    Timer { server: usize, term: u64, what: Timer },
    Vote,
    Alarm(u64),
}

#[derive(Debug, Clone, Copy)]
enum Timer {
    /// The leader's loop.
    HalfTick,
    /// A bucket of sessions may be due.
    Expiry,
    Containers,
    /// The log is on disk up to this zxid.
    Logged(i64),
    /// A delayed commit or sync is due.
    Lagging,
    /// Time to check whether the leader has been silent for too long.
    Silence,
}

enum Role {
    Down,
    Looking,
    Following(Following),
    Leading(Box<Leading>),
}

struct Server {
    role: Role,
    /// Changes with the role. A timer of another term is ignored.
    term: u64,
    is_frozen: bool,
    /// Events that wait until the server is thawed.
    deferred: VecDeque<Event>,
    log: Log,
    tree: Tree,
    watches: Watches,
    by_session: BTreeMap<i64, ConnId>,
    /// The offset of its ticks.
    phase: u64,
    apply_lag: u64,
    /// When everything written so far will be on disk.
    logged_at: u64,
    sessions_made: i64,
}

/// The ensemble, its network and the single queue of future events.
pub struct Ensemble {
    config: Config,
    now: u64,
    queue: Queue<Event>,
    rng: Rng,
    servers: Vec<Server>,
    conns: Conns,
    /// `links[zone][server]`.
    links: Vec<Vec<Link>>,
    /// `peers[from][to]`.
    peers: Vec<Vec<PeerLane>>,
    peer_links: u64,
    is_voting: bool,
    outputs: VecDeque<Output>,
    fired: Vec<(ConnId, std::rc::Rc<str>, Happened)>,
}

impl Ensemble {
    /// Starts all servers at time 0.
    pub fn new(config: Config) -> Self {
        let mut rng = Rng::new(config.seed);
        let tick = config.tick;
        let server = |_| Server {
            role: Role::Down,
            term: 0,
            is_frozen: false,
            deferred: VecDeque::new(),
            log: Log::default(),
            tree: Tree::new(),
            watches: Watches::default(),
            by_session: BTreeMap::new(),
            phase: rng.below(tick),
            apply_lag: 0,
            logged_at: 0,
            sessions_made: 0,
        };
        let servers: Vec<_> = (0..config.servers).map(server).collect();
        let links = (0..config.zones).map(|_| servers.iter().map(|_| Link::default()).collect());
        let peers = servers.iter().map(|_| servers.iter().map(|_| PeerLane::default()).collect());
        let (links, peers) = (links.collect(), peers.collect());
        let mut ensemble = Self {
            config,
            now: 0,
            queue: Queue::default(),
            rng,
            servers,
            conns: Conns::default(),
            links,
            peers,
            peer_links: 0,
            is_voting: false,
            outputs: VecDeque::new(),
            fired: vec![],
        };
        (0..ensemble.servers.len()).for_each(|server| ensemble.restart(server));
        ensemble
    }

    /// The virtual time in nanoseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// How many servers there are, running or not.
    pub fn size(&self) -> usize {
        self.servers.len()
    }

    /// Runs until there is an output, at most until this time.
    pub fn next(&mut self, until: u64) -> Option<Output> {
        loop {
            if let Some(output) = self.outputs.pop_front() {
                return Some(output);
            }
            if self.queue.due().is_none_or(|due| due > until) {
                self.now = self.now.max(until);
                return None;
            }
            let (time, event) = self.queue.pop()?;
            self.now = self.now.max(time);
            self.deliver(event);
        }
    }

    /// Sets an alarm for the caller. Alarms are ordered with all other events.
    pub fn wake_at(&mut self, time: u64, token: u64) {
        self.queue.add(time.max(self.now), Event::Alarm(token));
    }

    /// Opens a connection from a zone to a server. The first packet follows the three packets of TCP's handshake.
    pub fn dial(&mut self, zone: usize, server: usize) -> ConnId {
        let conn = self.conns.add(zone, server, self.now);
        self.send_event(conn, Direction::ToServer, Event::Dialled(conn));
        if let Some(there) = self.conns.get(conn) {
            let took = there.last[0].saturating_sub(self.now);
            there.last[0] += 2 * took;
        }
        conn
    }

    /// How long TCP's handshake of a connection that has just been opened takes.
    pub fn handshake(&mut self, conn: ConnId) -> u64 {
        let now = self.now;
        self.conns.get(conn).map_or(0, |conn| conn.last[0].saturating_sub(now) * 2 / 3)
    }

    pub fn send(&mut self, conn: ConnId, packet: ToServer) {
        self.send_event(conn, Direction::ToServer, Event::ToServer(conn, packet));
    }

    /// Closes a connection from the client's side.
    pub fn hang_up(&mut self, conn: ConnId) {
        if let Some(there) = self.conns.get(conn).filter(|conn| conn.is_open_at_client) {
            there.is_open_at_client = false;
            self.send_event(conn, Direction::ToServer, Event::HungUp(conn));
        }
    }

    fn send_event(&mut self, id: ConnId, direction: Direction, event: Event) {
        let Some(conn) = self.conns.get(id) else {
            return;
        };
        let lane = &self.links[conn.zone][conn.server].lanes[direction.index()];
        let took = self.config.client_delay + self.rng.below(self.config.client_jitter) + lane.delay;
        let arrival = (self.now + took).max(conn.last[direction.index()]);
        conn.last[direction.index()] = arrival;
        self.queue.add(arrival, event);
    }

    /// Delivers an event that is due, unless it is held back by a hole or by a frozen server.
    fn deliver(&mut self, event: Event) {
        let lane = match &event {
            Event::Dialled(conn) | Event::ToServer(conn, _) | Event::HungUp(conn) => {
                Some((*conn, Direction::ToServer))
            }
            Event::ToClient(conn, _) | Event::Closed(conn) => Some((*conn, Direction::ToClient)),
            _ => None,
        };
        let mut server = None;
        if let Some((id, direction)) = lane {
            let Some(conn) = self.conns.get(id) else {
                return;
            };
            let lane = &mut self.links[conn.zone][conn.server].lanes[direction.index()];
            if lane.is_hole {
                return lane.held.push_back(event);
            }
            server = (direction == Direction::ToServer).then_some(conn.server);
        }
        match event {
            Event::Peer { from, to, .. } => {
                let lane = &mut self.peers[from][to].lane;
                if lane.is_hole {
                    return lane.held.push_back(event);
                }
                server = Some(to);
            }
            Event::Timer { server: at, term, .. } => {
                if self.servers[at].term != term {
                    return;
                }
                server = Some(at);
            }
            _ => {}
        }
        if let Some(server) = server.filter(|server| self.servers[*server].is_frozen) {
            return self.servers[server].deferred.push_back(event);
        }
        self.handle(event);
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Dialled(conn) => self.dialled(conn),
            Event::ToServer(conn, packet) => self.heard(conn, packet),
            Event::HungUp(conn) => self.hung_up(conn),
            Event::ToClient(conn, packet) => {
                if self.conns.get(conn).is_some_and(|conn| conn.is_open_at_client) {
                    self.outputs.push_back(Output::FromServer(conn, packet));
                }
            }
            Event::Closed(id) => {
                if let Some(conn) = self.conns.get(id).filter(|conn| conn.is_open_at_client) {
                    conn.is_open_at_client = false;
                    self.outputs.push_back(Output::Closed(id));
                    self.conns.free_if_unused(id);
                }
            }
            Event::Peer { from, to, link, message } => self.heard_peer(from, to, link, message),
            Event::Timer { server, term, what } => {
                if self.servers[server].term == term {
                    self.timer(server, what);
                }
            }
            Event::Vote => self.vote(),
            Event::Alarm(token) => self.outputs.push_back(Output::Woken(token)),
        }
    }

    fn timer(&mut self, server: usize, what: Timer) {
        match what {
            Timer::HalfTick => self.half_tick(server),
            Timer::Expiry => self.expire(server),
            Timer::Containers => self.reap_containers(server),
            Timer::Logged(zxid) => self.logged(server, zxid),
            Timer::Lagging => self.catch_up(server),
            Timer::Silence => self.check_silence(server),
        }
    }

    fn set_timer(&mut self, server: usize, after: u64, what: Timer) {
        let term = self.servers[server].term;
        self.queue.add(self.now + after, Event::Timer { server, term, what });
    }
}
