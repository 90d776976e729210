//! Three servers, and a network that can break between any two of them and between them and their clients.
//!
//! Each contender is in a zone. Each zone has its own links to the servers, so a fault can hit the holder's zone and
//! spare the next waiter's zone. The traffic between followers and leader also goes through proxies, but elections use
//! direct connections.

use crate::real::{Proxy, Server, ServerBuilder, free_port};
use std::thread;
use std::time::Duration;

pub const SERVERS: usize = 3;

/// How long [`Network::pulse`] opens one direction of a link: long enough to deliver the data that was held back, too
/// short for the answers to that data.
const PULSE: Duration = Duration::from_millis(40);

pub struct Network {
    pub servers: Vec<Server>,
    /// `clients[zone][server]`.
    clients: Vec<Vec<Proxy>>,
    /// `peers[from][to]`; `None` for the link of a server to itself.
    peers: Vec<Vec<Option<Proxy>>>,
}

/// The settings of the servers.
#[derive(Clone, Copy, Debug)]
pub struct ServerSettings {
    pub tick_ms: u32,
    /// How many ticks of silence end the connection between leader and follower (`syncLimit`).
    pub sync_limit: u32,
}

impl ServerSettings {
    /// A server of the ensemble, without the addresses of the others.
    pub(super) fn member(self, id: usize) -> ServerBuilder {
        Server::builder()
            .tick_ms(self.tick_ms)
            // The data needn't survive a power failure, and a stalled disk must not disturb the test.
            .java_option("-Dzookeeper.forceSync=no")
            .config("initLimit=20")
            .config(&format!("syncLimit={}", self.sync_limit))
            .id(id + 1)
    }
}

impl Network {
    /// Starts the servers, and the links to them from this many zones.
    pub fn start(settings: ServerSettings, zones: usize) -> Self {
        Self::start_with(settings, zones, |member| member)
    }

    /// Like [`Network::start`], with further settings for each server.
    pub fn start_with(
        settings: ServerSettings,
        zones: usize,
        configure: impl Fn(ServerBuilder) -> ServerBuilder,
    ) -> Self {
        let ports: Vec<_> = (0..SERVERS).map(|_| (free_port(), free_port())).collect();
        let link = |from, to: usize| (from != to).then(|| Proxy::between_servers(ports[to].0));
        let peers: Vec<Vec<_>> =
            (0..SERVERS).map(|from| (0..SERVERS).map(|to| link(from, to)).collect()).collect();
        let launch = |id: usize| {
            let mut member = configure(settings.member(id));
            for (to, (quorum, election)) in ports.iter().enumerate() {
                let direct = format!("127.0.0.1:{quorum}");
                let quorum = peers[id][to].as_ref().map_or(direct, Proxy::connect_string);
                member = member.config(&format!("server.{}={quorum}:{election}", to + 1));
            }
            member.launch()
        };
        let servers: Vec<_> = (0..SERVERS).map(launch).collect();
        servers.iter().for_each(Server::wait_ready);
        let clients = (0..zones).map(|_| servers.iter().map(Proxy::to).collect()).collect();
        Self { servers, clients, peers }
    }

    /// The value of `-z` for a contender in this zone.
    pub fn connect_string(&self, zone: usize) -> String {
        let links: Vec<_> = self.clients[zone].iter().map(Proxy::connect_string).collect();
        links.join(",")
    }

    /// The connect string for an observer, which bypasses the links and their faults.
    pub fn direct(&self) -> String {
        let servers: Vec<_> = self.servers.iter().map(Server::connect_string).collect();
        servers.join(",")
    }

    /// The leader, if there is one at the moment.
    pub fn leader(&self) -> Option<usize> {
        self.servers.iter().position(|server| server.mode().as_deref() == Some("leader"))
    }

    pub fn zones(&self) -> usize {
        self.clients.len()
    }

    pub fn zone(&self, zone: usize) -> &[Proxy] {
        &self.clients[zone]
    }

    /// Every link of these zones to a server.
    pub fn links(&self, zones: &[usize]) -> impl Iterator<Item = &Proxy> {
        zones.iter().flat_map(|&zone| &self.clients[zone])
    }

    /// Every link of these zones to this server.
    pub fn links_to(&self, server: usize, zones: &[usize]) -> impl Iterator<Item = &Proxy> {
        zones.iter().map(move |&zone| &self.clients[zone][server])
    }

    /// Delays everything that the leader sends to this follower.
    pub fn delay_from(&self, leader: usize, follower: usize, delay: Duration) {
        self.peers[follower][leader].iter().for_each(|link| link.delay_answers(delay));
    }

    /// Lets everything pass again between this server and the others.
    pub fn reconnect(&self, server: usize) {
        self.links_of(server).for_each(Proxy::pass);
    }

    pub fn pass_zone(&self, zone: usize) {
        self.clients[zone].iter().for_each(Proxy::pass);
    }

    /// Disconnects a zone from all servers but this one.
    pub fn confine(&self, zone: usize, server: usize) {
        for (_, link) in self.clients[zone].iter().enumerate().filter(|(other, _)| *other != server) {
            link.refuse_new(true);
            link.cut_all();
        }
    }

    /// Blocks all traffic between this server and the others.
    pub fn isolate(&self, server: usize) {
        self.links_of(server).for_each(Proxy::blackhole);
    }

    /// Blocks everything that this server sends to the others; it still receives from them.
    pub fn mute(&self, server: usize) {
        self.links_from(server).for_each(Proxy::blackhole_to_server);
        self.links_into(server).for_each(Proxy::blackhole_to_client);
    }

    /// Blocks everything that the others send to this server; they still receive from it.
    pub fn deafen(&self, server: usize) {
        self.links_from(server).for_each(Proxy::blackhole_to_client);
        self.links_into(server).for_each(Proxy::blackhole_to_server);
    }

    /// Resets the followers' connections to this leader. While a link is a black hole, the reset doesn't reach the
    /// leader.
    pub fn reset_followers_of(&self, leader: usize) {
        self.peers.iter().filter_map(|from| from[leader].as_ref()).for_each(Proxy::reset_clients);
    }

    /// Delivers the data that was held back while a follower was isolated: first the follower's data to the leader,
    /// then the leader's data to the follower. The follower's answers to that are not delivered.
    pub fn pulse(&self, follower: usize, leader: usize) {
        let Some(link) = &self.peers[follower][leader] else {
            return;
        };
        link.blackhole_to_client();
        thread::sleep(PULSE);
        link.blackhole();
        thread::sleep(PULSE / 8);
        link.blackhole_to_server();
        thread::sleep(PULSE);
        link.blackhole();
    }

    pub fn pass_peers(&self) {
        self.peers.iter().flatten().flatten().for_each(Proxy::pass);
    }

    fn links_of(&self, server: usize) -> impl Iterator<Item = &Proxy> {
        self.links_from(server).chain(self.links_into(server))
    }

    /// The links through which this server connects to the leader that it follows.
    fn links_from(&self, server: usize) -> impl Iterator<Item = &Proxy> {
        self.peers[server].iter().flatten()
    }

    /// The links through which the other servers connect to this one.
    fn links_into(&self, server: usize) -> impl Iterator<Item = &Proxy> {
        self.peers.iter().filter_map(move |from| from[server].as_ref())
    }
}
