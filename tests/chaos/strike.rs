//! How each fault is done.

use crate::clock;
use crate::contender::{Contender, Hit};
use crate::fault::{Draw, Fault};
use crate::storm::{Storm, Strike, Undo};
use crate::support::Proxy;
use crate::support::network::SERVERS;
use crate::wish::LOCK;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// How long clients may take to be where a fault wants them.
const SETTLE: Duration = Duration::from_millis(600);
/// How long a confirmation may be in coming where there is a holder.
const RHYTHM: Duration = Duration::from_millis(1200);
/// From its request to its answer.
const ANSWER: Duration = Duration::from_millis(25);

impl Storm<'_> {
    /// Does it, if whom it needs is there.
    pub(crate) fn strike(&self, draw: &Draw, hosts: &[usize]) -> Option<Strike> {
        if draw.fault.is_of_ensemble() {
            let leader = self.network.leader()?;
            let follower = (leader + 1 + draw.dice % (SERVERS - 1)) % SERVERS;
            let undo = self.strike_servers(draw.fault, leader, follower, hosts);
            let whom = format!("leader {leader}, follower {follower}, hosts {hosts:?}");
            Some(Strike { whom, undo: Some(undo) })
        } else if draw.fault.is_of_hosts() {
            let lasting = self.strike_hosts(draw, hosts);
            let undo = lasting.then(|| Undo::PassHosts(hosts.to_vec()));
            Some(Strike { whom: format!("hosts {hosts:?}"), undo })
        } else {
            self.strike_contender(draw)
        }
    }

    fn strike_servers(&self, fault: Fault, leader: usize, follower: usize, hosts: &[usize]) -> Undo {
        match (fault, hosts) {
            (Fault::FreezeLeader, _) => self.freeze(vec![leader]),
            (Fault::FreezeFollower, _) => self.freeze(vec![follower]),
            (Fault::FreezeFollowers, _) => self.freeze((0..SERVERS).filter(|&id| id != leader).collect()),
            (Fault::KillLeader, _) => self.kill(leader),
            (Fault::KillFollower, _) => self.kill(follower),
            (Fault::IsolateLeader, _) => self.isolate(leader),
            (Fault::IsolateFollower, _) => self.isolate(follower),
            (Fault::DeposeLeader, &[host]) => self.depose(host, leader),
            (_, &[host]) => self.pulse(host, follower, leader),
            _ => unreachable!("aimed at one host"),
        }
    }

    fn freeze(&self, servers: Vec<usize>) -> Undo {
        for &server in &servers {
            self.network.servers[server].freeze();
        }
        Undo::Thaw(servers)
    }

    fn kill(&self, server: usize) -> Undo {
        self.network.servers[server].kill();
        Undo::Relaunch(server)
    }

    fn isolate(&self, server: usize) -> Undo {
        self.network.isolate(server);
        Undo::PassPeers
    }

    fn depose(&self, host: usize, leader: usize) -> Undo {
        self.confine(host, leader);
        self.network.isolate(leader);
        self.network.reset_followers_of(leader);
        Undo::PassPeersAndHost(host)
    }

    /// Cut off right behind one confirmation, let through with the next, and cut off again.
    fn pulse(&self, host: usize, follower: usize, leader: usize) -> Undo {
        self.confine(host, follower);
        self.network.await_confirmation(host, follower, RHYTHM);
        thread::sleep(ANSWER);
        self.network.isolate(follower);
        self.network.await_confirmation(host, follower, RHYTHM);
        thread::sleep(ANSWER);
        self.network.pulse(follower, leader);
        Undo::PassPeersAndHost(host)
    }

    fn confine(&self, host: usize, server: usize) {
        self.network.confine(host, server);
        clock::nap(SETTLE, &self.arena.stop);
    }

    /// Whether it lasts.
    fn strike_hosts(&self, draw: &Draw, hosts: &[usize]) -> bool {
        let (network, links) = (self.network, self.network.links(hosts));
        match draw.fault {
            Fault::CutClients => links.for_each(Proxy::cut_all),
            Fault::HoleToServers => links.for_each(Proxy::blackhole_to_server),
            Fault::HoleToClients => links.for_each(Proxy::blackhole_to_client),
            Fault::Hole => links.for_each(Proxy::blackhole),
            Fault::HoleOfOneServer => {
                network.links_to(draw.dice % SERVERS, hosts).for_each(Proxy::blackhole);
            }
            _ => {
                let millis = 20 + draw.lasts.subsec_millis() / 8;
                links.for_each(|link| link.delay(Duration::from_millis(millis.into())));
            }
        }
        draw.fault != Fault::CutClients
    }

    fn strike_contender(&self, draw: &Draw) -> Option<Strike> {
        let hit = match draw.fault {
            Fault::KillMonitor => Hit::KilledMonitor,
            Fault::KillWorker => Hit::KilledWorker,
            Fault::KillHost => Hit::KilledHost,
            Fault::StopMonitor => Hit::StoppedMonitor,
            Fault::StopWorker => Hit::StoppedWorker,
            Fault::Terminate => Hit::Terminated,
            _ => return self.delete_node(draw),
        };
        let prey = self.prey(draw)?;
        let whom = prey.name().to_owned();
        let lasts = matches!(hit, Hit::StoppedMonitor | Hit::StoppedWorker);
        prey.suffer(hit).then(|| Strike { whom, undo: lasts.then_some(Undo::GoOn(prey)) })
    }

    /// Mostly the holder, which is where it matters; else anybody.
    fn prey(&self, draw: &Draw) -> Option<Arc<Contender>> {
        let holder = if draw.dice % 10 < 6 { self.holder() } else { None };
        let mut others = self.arena.living();
        others.retain(|contender| contender.hit().is_none());
        let anybody =
            |mut others: Vec<_>| (!others.is_empty()).then(|| others.swap_remove(draw.dice % others.len()));
        holder.filter(|holder| holder.hit().is_none()).or_else(|| anybody(others))
    }

    /// As an administrator would. Whose node it is stands in it.
    fn delete_node(&self, draw: &Draw) -> Option<Strike> {
        let nodes = self.observer.children(LOCK);
        let node = format!("{LOCK}/{}", nodes.get(draw.dice % nodes.len().max(1))?);
        let record: serde_json::Value = serde_json::from_str(&self.observer.data(&node)?).ok()?;
        let pid = record["pid"].as_u64()?;
        let owner = self.arena.living().into_iter().find(|contender| contender.has_pid(pid))?;
        // First, so that an end which comes of it finds it said.
        if !owner.suffer(Hit::NodeDeleted) {
            return None;
        }
        self.arena.watch.evict(owner.name());
        let path = node.clone();
        self.observer.call("delete", move |client| client.delete(&path, None)).ok();
        Some(Strike { whom: format!("{} ({node})", owner.name()), undo: None })
    }
}
