//! How each fault is injected.

use crate::fault::Draw;
use crate::injector::{Injected, Injector, Undo};
use crate::support::clock;
use crate::support::network::SERVERS;
use crate::support::{At, Fault, Proxy, Target, op};
use std::thread;
use std::time::Duration;

/// The time for clients to move to the server that a fault needs them on.
const SETTLE: Duration = Duration::from_millis(600);
/// The longest time between two confirmations while there is a holder.
const CONFIRMATION_INTERVAL: Duration = Duration::from_millis(1200);
/// The requests that a fault can lose.
const OPS: [&[i32]; 10] = [
    op::CREATE,
    op::CREATE,
    op::DELETE,
    op::DELETE,
    op::MULTI,
    op::MULTI,
    op::GET_CHILDREN,
    op::EXISTS,
    op::SET_DATA,
    op::CONNECT,
];
/// The time from a request to its answer.
pub(crate) const ANSWER: Duration = Duration::from_millis(25);

impl Injector<'_> {
    /// Injects the fault, if its target exists.
    pub(crate) fn inject(&self, draw: &Draw, hosts: &[usize]) -> Option<Injected> {
        if draw.fault.affects_ensemble() {
            let leader = self.network.leader()?;
            let follower = (leader + 1 + draw.choice % (SERVERS - 1)) % SERVERS;
            let undo = match (draw.fault, hosts) {
                (Fault::LateConnect, &[host]) => self.late_connect(host, follower, leader)?,
                _ => self.inject_into_servers(draw.fault, leader, follower, hosts),
            };
            let target = format!("leader {leader}, follower {follower}, hosts {hosts:?}");
            Some(Injected { target, undo: Some(undo) })
        } else if draw.fault == Fault::SlowConnection {
            self.slow_connection(draw, hosts)
        } else if draw.fault.affects_hosts() {
            let undo = self.inject_into_hosts(draw, hosts);
            Some(Injected { target: format!("hosts {hosts:?}"), undo })
        } else {
            match draw.fault.target() {
                Target::Node => self.inject_into_node(draw),
                _ => self.inject_into_processes(draw),
            }
        }
    }

    fn inject_into_servers(&self, fault: Fault, leader: usize, follower: usize, hosts: &[usize]) -> Undo {
        match (fault, hosts) {
            (Fault::FreezeLeader, _) => self.freeze(vec![leader]),
            (Fault::FreezeFollower, _) => self.freeze(vec![follower]),
            (Fault::FreezeFollowers, _) => self.freeze((0..SERVERS).filter(|&id| id != leader).collect()),
            (Fault::FreezeAll, _) => self.freeze((0..SERVERS).collect()),
            (Fault::KillLeader, _) => self.kill(leader),
            (Fault::KillFollower, _) => self.kill(follower),
            (Fault::IsolateLeader, _) => self.isolate(leader),
            (Fault::IsolateFollower, _) => self.isolate(follower),
            (Fault::MuteLeader, _) => self.mute(leader),
            (Fault::MuteFollower, _) => self.mute(follower),
            (Fault::DeafenLeader, _) => self.deafen(leader),
            (Fault::DeafenFollower, _) => self.deafen(follower),
            (Fault::DeposeLeader, &[host]) => self.depose(host, leader),
            (Fault::PulseFollower, &[host]) => self.pulse(host, follower, leader),
            _ => panic!("{fault} isn't injected into servers, or needs one host"),
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

    fn mute(&self, server: usize) -> Undo {
        self.network.mute(server);
        Undo::PassPeers
    }

    fn deafen(&self, server: usize) -> Undo {
        self.network.deafen(server);
        Undo::PassPeers
    }

    fn depose(&self, host: usize, leader: usize) -> Undo {
        self.confine(host, leader);
        self.network.isolate(leader);
        self.network.reset_followers_of(leader);
        Undo::PassPeersAndHost(host)
    }

    /// Cuts the follower off just after one confirmation, lets the next one through, and cuts it off again.
    fn pulse(&self, host: usize, follower: usize, leader: usize) -> Undo {
        self.confine(host, follower);
        self.network.await_confirmation(host, follower, CONFIRMATION_INTERVAL);
        thread::sleep(ANSWER);
        self.network.isolate(follower);
        self.network.await_confirmation(host, follower, CONFIRMATION_INTERVAL);
        thread::sleep(ANSWER);
        self.network.pulse(follower, leader);
        Undo::PassPeersAndHost(host)
    }

    pub(crate) fn confine(&self, host: usize, server: usize) {
        self.network.confine(host, server);
        clock::nap(SETTLE, &self.harness.stop);
    }

    /// Injects the fault, and returns what ends it if it lasts.
    fn inject_into_hosts(&self, draw: &Draw, hosts: &[usize]) -> Option<Undo> {
        let (network, links) = (self.network, self.network.links(hosts));
        let lose_next =
            |at| network.links(hosts).for_each(|link| link.once(OPS[draw.choice % OPS.len()], at));
        match draw.fault {
            Fault::CutClients => links.for_each(Proxy::cut_all),
            Fault::BlackholeToServers => links.for_each(Proxy::blackhole_to_server),
            Fault::BlackholeToClients => links.for_each(Proxy::blackhole_to_client),
            Fault::Blackhole => links.for_each(Proxy::blackhole),
            Fault::BlackholeOneServer => {
                network.links_to(draw.choice % SERVERS, hosts).for_each(Proxy::blackhole);
            }
            Fault::LoseRequest => lose_next(At::BeforeServer),
            Fault::LoseAnswer => lose_next(At::BeforeReply),
            Fault::Delay => {
                let millis = 20 + draw.duration.subsec_millis() / 8;
                links.for_each(|link| link.delay(Duration::from_millis(millis.into())));
            }
            fault => panic!("{fault} isn't injected into links"),
        }
        match draw.fault {
            Fault::CutClients => None,
            Fault::LoseRequest | Fault::LoseAnswer => Some(Undo::CancelLoss(hosts.to_vec())),
            _ => Some(Undo::PassHosts(hosts.to_vec())),
        }
    }

    fn inject_into_processes(&self, draw: &Draw) -> Option<Injected> {
        // Its second part comes when the first one is undone.
        let fault = match draw.fault {
            Fault::StopWorkerThenMonitor => Fault::StopWorker,
            fault => fault,
        };
        let target = self.target(draw, fault)?;
        let name = target.name().to_owned();
        target.apply(fault).then(|| {
            let undo = match draw.fault {
                Fault::StopWorkerThenMonitor => Some(Undo::ResumeAndStopMonitor(target)),
                _ => fault.stops_a_process().then_some(Undo::Resume(target)),
            };
            Injected { target: name, undo }
        })
    }
}
