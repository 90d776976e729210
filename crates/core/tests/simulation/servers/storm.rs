//! Faults drawn from a seed, and what must hold on every server in spite of them.

use std::collections::BTreeMap;

use crate::client::message::{Reply, Request, RequestError, SessionChange};
use crate::client::{Client, ClientEvent, HostClock, Settings};
use crate::ensemble::{Config, Direction, Ensemble, MS, Output, Rng, mix};

const CLIENTS: usize = 6;
const T: u64 = 2_000 * MS;

/// The facts that one client has been told by the servers.
#[derive(Default)]
struct Known {
    is_connected: bool,
    /// The nodes that were created, with their transactions.
    nodes: BTreeMap<String, i64>,
    asked: usize,
}

struct Storm {
    ensemble: Ensemble,
    rng: Rng,
    clients: Vec<Client>,
    known: Vec<Known>,
    digest: u64,
    created: usize,
    ended: usize,
}

/// The alarm for the next fault.
const FAULT: u64 = u64::MAX;

impl Storm {
    fn new(servers: usize, seed: u64) -> Self {
        let config = Config { zones: CLIENTS, ..Config::new(servers, seed) };
        let mut ensemble = Ensemble::new(config);
        ensemble.wake_at(3_000 * MS, FAULT);
        let mut storm = Self {
            ensemble,
            rng: Rng::new(mix(seed)),
            clients: vec![],
            known: vec![],
            digest: seed,
            created: 0,
            ended: 0,
        };
        for who in 0..CLIENTS {
            let client = storm.open(who);
            storm.clients.push(client);
            storm.known.push(Known::default());
        }
        storm
    }

    fn open(&mut self, who: usize) -> Client {
        let settings = Settings {
            zone: who,
            servers: (0..self.ensemble.size()).collect(),
            timeout: T,
            deadline: None,
            clock: HostClock { start: 5_000 * MS, drift_ppb: 50_000 * who as i64, slept: 0 },
            seed: self.rng.next(),
        };
        Client::open(&mut self.ensemble, settings, who as u64)
    }

    fn run(&mut self, until: u64) {
        while let Some(output) = self.ensemble.next(until) {
            if let Output::Woken(FAULT) = output {
                self.fault();
                let next = self.ensemble.now() + 50 * MS + self.rng.below(600 * MS);
                self.ensemble.wake_at(next, FAULT);
                continue;
            }
            let who = match &output {
                Output::Woken(token) => usize::try_from(*token).ok(),
                Output::FromServer(conn, _) | Output::Closed(conn) => {
                    self.clients.iter().position(|client| client.conn() == Some(*conn))
                }
            };
            if let Some(who) = who {
                self.clients[who].take(&mut self.ensemble, output);
                self.hear(who);
            }
        }
    }

    fn hear(&mut self, who: usize) {
        while let Some(news) = self.clients[who].news() {
            self.digest = mix(self.digest ^ self.ensemble.now() ^ who as u64);
            match news {
                ClientEvent::Session(SessionChange::Disconnected) => self.known[who].is_connected = false,
                ClientEvent::Session(SessionChange::Connected { .. } | SessionChange::Reconnected) => {
                    self.known[who].is_connected = true;
                    self.ask(who);
                }
                ClientEvent::Session(SessionChange::Closed | SessionChange::Lost(_)) => {
                    self.known[who] = Known::default();
                    self.ended += 1;
                    self.clients[who] = self.open(who);
                }
                ClientEvent::Session(_) => {}
                ClientEvent::Reply(number, reply) => self.replied(who, number, &reply),
            }
        }
    }

    /// Sends a request. Each answer leads to the next request.
    fn ask(&mut self, who: usize) {
        let parent = "/locks";
        let known = &mut self.known[who];
        known.asked += 1;
        let first = known.nodes.keys().next().cloned();
        let request = match (self.rng.below(12), first) {
            (0, _) => Request::MakeParents(parent.into()),
            (1, Some(node)) => Request::Delete(node.into()),
            (2..4, _) => Request::CatchUpAndList(parent.into()),
            (4..7, Some(node)) => Request::Confirm(vec![node.into()]),
            (7, Some(node)) => Request::Watch(node.into()),
            (8, _) if self.rng.below(3) == 0 => {
                let nodes = self.known[who].nodes.keys().map(|node| node.as_str().into()).collect();
                return self.clients[who].release(&mut self.ensemble, nodes);
            }
            _ => Request::Create { path: format!("{parent}/n-").into(), data: vec![] },
        };
        let number = self.known[who].asked;
        self.clients[who].ask(&mut self.ensemble, number, request);
    }

    fn replied(&mut self, who: usize, number: usize, reply: &Reply) {
        let known = &mut self.known[who];
        match reply {
            Reply::Changed(..) => return,
            Reply::Created(Ok(created)) => {
                self.created += 1;
                self.digest = mix(self.digest ^ created.czxid.cast_unsigned());
                let is_new = known.nodes.insert(created.path.to_string(), created.czxid).is_none();
                assert!(is_new, "{} was made twice", created.path);
            }
            Reply::Deleted(_) => {
                // A delete may have been carried out or not, so the node isn't checked any more.
                known.nodes.pop_first();
            }
            Reply::Listed(Ok(names)) => {
                let missing =
                    known.nodes.keys().find(|node| !names.iter().any(|name| node.ends_with(&**name)));
                assert_eq!(missing, None, "a list after a sync lacks a node of a session that lives");
            }
            Reply::Confirmed(_, result) => {
                assert!(
                    !matches!(result, Err(RequestError::NoNode)),
                    "a node of a session that lives is gone"
                );
            }
            _ => {}
        }
        if number == self.known[who].asked && self.known[who].is_connected {
            self.ask(who);
        }
    }

    fn fault(&mut self) {
        let size = self.ensemble.size() as u64;
        let (one, other) = (self.rng.below(size) as usize, self.rng.below(size) as usize);
        let zone = self.rng.below(CLIENTS as u64) as usize;
        let is_bad = self.rng.below(2) == 0;
        match self.rng.below(10) {
            0 => self.ensemble.crash(one),
            1 | 2 => (0..self.ensemble.size()).for_each(|server| self.ensemble.restart(server)),
            3 if is_bad => self.ensemble.freeze(one),
            3 | 4 => (0..self.ensemble.size()).for_each(|server| self.ensemble.thaw(server)),
            5 => self.ensemble.set_isolated(one, is_bad),
            6 if one != other => self.ensemble.set_peer_hole(one, other, is_bad),
            7 => self.ensemble.cut(zone, one),
            8 => self.ensemble.set_hole(zone, one, Direction::ToClient, is_bad),
            _ => {
                self.ensemble.set_lag(one, self.rng.below(300 * MS));
                self.ensemble.throttle(one, u32::from(is_bad));
            }
        }
        for who in 0..CLIENTS {
            self.hear(who);
        }
    }

    fn calm(&mut self) {
        for server in 0..self.ensemble.size() {
            self.ensemble.restart(server);
            self.ensemble.thaw(server);
            self.ensemble.set_isolated(server, false);
            self.ensemble.set_lag(server, 0);
            for zone in 0..CLIENTS {
                self.ensemble.set_hole(zone, server, Direction::ToClient, false);
            }
        }
    }
}

/// Runs a storm. Returns a digest of everything that was reported, and how many nodes were created and sessions ended.
fn storm(servers: usize, seed: u64) -> (u64, usize, usize) {
    let mut storm = Storm::new(servers, seed);
    let seconds = 1_000 * MS;
    storm.run(40 * seconds);
    storm.calm();
    // No more faults happen: the alarm for the next fault is ignored.
    let until = storm.ensemble.now() + 20 * seconds;
    while storm.ensemble.now() < until && !storm.ensemble.is_whole() {
        storm.ensemble.next(until);
    }
    assert!(storm.ensemble.is_whole(), "{servers} servers, seed {seed}: not all serve after the faults");
    storm.ensemble.assert_alike();
    (storm.digest, storm.created, storm.ended)
}

#[test]
fn what_was_committed_stays_and_is_alike_on_all_servers() {
    let (mut created, mut ended) = (0, 0);
    for seed in 0..6 {
        for servers in [3, 5] {
            let (_, more, over) = storm(servers, seed);
            created += more;
            ended += over;
        }
    }
    println!("{created} nodes created, {ended} sessions ended");
    assert!(created > 10_000 && ended > 500, "{created} nodes created, {ended} sessions ended");
}

#[test]
fn a_storm_is_the_same_for_the_same_seed() {
    assert_eq!(storm(3, 5), storm(3, 5));
    assert_ne!(storm(3, 5).0, storm(3, 6).0);
}

#[test]
fn a_create_that_is_turned_away_is_sent_again() {
    let mut ensemble = Ensemble::new(Config::new(1, 3));
    while ensemble.leader().is_none() {
        ensemble.next(ensemble.now() + 1_000_000);
    }
    let (servers, clock) = (vec![0], HostClock::default());
    let settings = Settings { zone: 0, servers, timeout: 6_000_000_000, deadline: None, clock, seed: 1 };
    let mut client = Client::open(&mut ensemble, settings, 1);
    let (mut asked, mut created) = (0, None);
    while created.is_none() {
        let output = ensemble.next(u64::MAX).expect("a session that goes on");
        client.take(&mut ensemble, output);
        match client.news() {
            Some(ClientEvent::Session(SessionChange::Connected { .. })) => {
                ensemble.throttle(0, 2);
                asked = ensemble.now();
                client.ask(&mut ensemble, 1, Request::Create { path: "/n-".into(), data: vec![] });
            }
            Some(ClientEvent::Reply(1, Reply::Created(result))) => {
                created = Some((result.unwrap().path, ensemble.now()));
            }
            _ => {}
        }
    }
    let (path, when) = created.unwrap();
    assert_eq!(path.as_str(), "/n-0000000000");
    assert!(when - asked >= 200_000_000, "two pauses of a tenth of a second");
}
