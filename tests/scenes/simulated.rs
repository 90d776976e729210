//! The simulated ensemble as a stage.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::{CLIENTS, CONTAINER_CHECK, Heard, SYNC_LIMIT, Stage, TICK};
use crate::client::message::{NodePath, Request};
use crate::client::{Client, ClientEvent, HostClock, Settings};
use crate::ensemble::wire::{Op, ToServer};
use crate::ensemble::{Config, ConnId, Direction, Ensemble, Output};

const MS: u64 = 1_000_000;

struct Raw {
    conn: ConnId,
    heard: VecDeque<Heard>,
    xid: i32,
}

pub(super) struct Simulated {
    pub(super) ensemble: Ensemble,
    raw: BTreeMap<usize, Raw>,
    clients: BTreeMap<usize, Client>,
    down: Vec<usize>,
    seed: u64,
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap()
}

impl Simulated {
    pub(super) fn new(servers: usize, seed: u64, version: [u32; 2]) -> Self {
        let config = Config {
            version,
            zones: CLIENTS,
            tick: nanos(TICK),
            sync_limit: SYNC_LIMIT,
            container_check: nanos(CONTAINER_CHECK),
            ..Config::new(servers, seed)
        };
        Self {
            ensemble: Ensemble::new(config),
            raw: BTreeMap::new(),
            clients: BTreeMap::new(),
            down: vec![],
            seed,
        }
    }

    /// Processes the next event up to this time. Returns whether there was one.
    fn step(&mut self, until: u64) -> bool {
        let Some(output) = self.ensemble.next(until) else {
            return false;
        };
        match output {
            Output::FromServer(conn, packet) if self.raw.values().any(|raw| raw.conn == conn) => {
                let raw = self.raw.values_mut().find(|raw| raw.conn == conn).unwrap();
                raw.heard.push_back(Heard::Packet(packet));
            }
            Output::Closed(conn) if self.raw.values().any(|raw| raw.conn == conn) => {
                let raw = self.raw.values_mut().find(|raw| raw.conn == conn).unwrap();
                raw.heard.push_back(Heard::Closed);
            }
            Output::Woken(token) => {
                if let Some(client) = self.clients.get_mut(&(token as usize)) {
                    client.take(&mut self.ensemble, output);
                }
            }
            Output::FromServer(conn, _) | Output::Closed(conn) => {
                let client = self.clients.values_mut().find(|client| client.conn() == Some(conn));
                if let Some(client) = client {
                    client.take(&mut self.ensemble, output);
                }
            }
        }
        true
    }
}

impl Stage for Simulated {
    fn size(&self) -> usize {
        self.ensemble.size()
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.ensemble.now())
    }

    fn settle(&mut self) -> usize {
        for _ in 0..10_000 {
            let up = (0..self.size()).filter(|server| !self.down.contains(server));
            if let Some(leader) = self.ensemble.leader()
                && self.ensemble.followers().len() + 1 == up.count()
            {
                return leader;
            }
            let until = self.ensemble.now() + 10 * MS;
            while self.step(until) {}
        }
        panic!("no leader");
    }

    fn connect(&mut self, who: usize, server: usize, session: i64, timeout_ms: i32) {
        self.hang_up(who);
        let conn = self.ensemble.dial(who, server);
        self.ensemble.send(conn, ToServer::Connect { session, timeout_ms });
        self.raw.insert(who, Raw { conn, heard: VecDeque::new(), xid: 0 });
    }

    fn send(&mut self, who: usize, op: Op) {
        let raw = self.raw.get_mut(&who).unwrap();
        raw.xid += 1;
        self.ensemble.send(raw.conn, ToServer::Request { xid: raw.xid, op });
    }

    fn hear(&mut self, who: usize, within: Duration) -> Heard {
        let until = self.ensemble.now() + nanos(within);
        loop {
            if let Some(heard) = self.raw.get_mut(&who).and_then(|raw| raw.heard.pop_front()) {
                return heard;
            }
            if !self.step(until) {
                return Heard::Silence;
            }
        }
    }

    fn hang_up(&mut self, who: usize) {
        if let Some(raw) = self.raw.remove(&who) {
            self.ensemble.hang_up(raw.conn);
        }
    }

    fn open(&mut self, who: usize, servers: &[usize], timeout: Duration) {
        let settings = Settings {
            zone: who,
            servers: servers.to_vec(),
            timeout: nanos(timeout),
            deadline: None,
            clock: HostClock { start: 1_000_000_000_000, drift_ppb: 100_000, slept: 0 },
            seed: self.seed + who as u64,
        };
        let client = Client::open(&mut self.ensemble, settings, who as u64);
        self.clients.insert(who, client);
    }

    fn ask(&mut self, who: usize, number: usize, request: Request) {
        self.clients.get_mut(&who).unwrap().ask(&mut self.ensemble, number, request);
    }

    fn release(&mut self, who: usize, nodes: Vec<NodePath>) {
        self.clients.get_mut(&who).unwrap().release(&mut self.ensemble, nodes);
    }

    fn news(&mut self, who: usize, within: Duration) -> Option<ClientEvent> {
        let until = self.ensemble.now() + nanos(within);
        loop {
            if let Some(news) = self.clients.get_mut(&who)?.news() {
                return Some(news);
            }
            if !self.step(until) {
                return None;
            }
        }
    }

    fn cut(&mut self, zone: usize, server: usize) {
        self.ensemble.cut(zone, server);
    }

    fn refuse(&mut self, zone: usize, server: usize, is_refusing: bool) {
        self.ensemble.refuse(zone, server, is_refusing);
    }

    fn set_hole(&mut self, zone: usize, server: usize, is_hole: bool) {
        self.ensemble.set_hole(zone, server, Direction::ToServer, is_hole);
        self.ensemble.set_hole(zone, server, Direction::ToClient, is_hole);
    }

    fn crash(&mut self, server: usize) {
        self.ensemble.crash(server);
        self.down.push(server);
    }

    fn restart(&mut self, server: usize) {
        self.ensemble.restart(server);
        self.down.retain(|other| *other != server);
    }

    fn freeze(&mut self, server: usize) {
        self.ensemble.freeze(server);
        self.down.push(server);
    }

    fn thaw(&mut self, server: usize) {
        self.ensemble.thaw(server);
        self.down.retain(|other| *other != server);
    }

    fn isolate(&mut self, server: usize, is_isolated: bool) {
        for other in (0..self.size()).filter(|other| *other != server) {
            self.ensemble.set_data_hole(server, other, is_isolated);
            self.ensemble.set_data_hole(other, server, is_isolated);
        }
    }

    fn delay_follower(&mut self, leader: usize, follower: usize, delay: Duration) {
        self.ensemble.delay_peer(leader, follower, nanos(delay));
    }
}
