//! How each fault is done.

use crate::clock;
use crate::fault::{Draw, Fault};
use crate::hit::Hit;
use crate::storm::{Storm, Strike, Undo};
use crate::support::network::SERVERS;
use crate::support::{At, Proxy, op};
use std::thread;
use std::time::Duration;

/// How long clients may take to be where a fault wants them.
const SETTLE: Duration = Duration::from_millis(600);
/// How long a confirmation may be in coming where there is a holder.
const RHYTHM: Duration = Duration::from_millis(1200);
/// What gets lost.
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
/// From its request to its answer.
pub(crate) const ANSWER: Duration = Duration::from_millis(25);

impl Storm<'_> {
    /// Does it, if whom it needs is there.
    pub(crate) fn strike(&self, draw: &Draw, hosts: &[usize]) -> Option<Strike> {
        if draw.fault.is_of_ensemble() {
            let leader = self.network.leader()?;
            let follower = (leader + 1 + draw.dice % (SERVERS - 1)) % SERVERS;
            let undo = match (draw.fault, hosts) {
                (Fault::LateConnect, &[host]) => self.late_connect(host, follower, leader)?,
                _ => self.strike_servers(draw.fault, leader, follower, hosts),
            };
            let whom = format!("leader {leader}, follower {follower}, hosts {hosts:?}");
            Some(Strike { whom, undo: Some(undo) })
        } else if draw.fault == Fault::SlowLine {
            self.slow_line(draw, hosts)
        } else if draw.fault.is_of_hosts() {
            let undo = self.strike_hosts(draw, hosts);
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

    pub(crate) fn confine(&self, host: usize, server: usize) {
        self.network.confine(host, server);
        clock::nap(SETTLE, &self.arena.stop);
    }

    /// Does it, and says what ends it if it lasts.
    fn strike_hosts(&self, draw: &Draw, hosts: &[usize]) -> Option<Undo> {
        let (network, links) = (self.network, self.network.links(hosts));
        let lose = |at| network.links(hosts).for_each(|link| link.once(OPS[draw.dice % OPS.len()], at));
        match draw.fault {
            Fault::CutClients => links.for_each(Proxy::cut_all),
            Fault::HoleToServers => links.for_each(Proxy::blackhole_to_server),
            Fault::HoleToClients => links.for_each(Proxy::blackhole_to_client),
            Fault::Hole => links.for_each(Proxy::blackhole),
            Fault::HoleOfOneServer => {
                network.links_to(draw.dice % SERVERS, hosts).for_each(Proxy::blackhole);
            }
            Fault::LoseRequest => lose(At::BeforeServer),
            Fault::LoseAnswer => lose(At::BeforeReply),
            _ => {
                let millis = 20 + draw.lasts.subsec_millis() / 8;
                links.for_each(|link| link.delay(Duration::from_millis(millis.into())));
            }
        }
        match draw.fault {
            Fault::CutClients => None,
            Fault::LoseRequest | Fault::LoseAnswer => Some(Undo::LoseNothing(hosts.to_vec())),
            _ => Some(Undo::PassHosts(hosts.to_vec())),
        }
    }

    fn strike_contender(&self, draw: &Draw) -> Option<Strike> {
        let hit = match draw.fault {
            Fault::KillMonitor => Hit::KilledMonitor,
            Fault::KillWorker => Hit::KilledWorker,
            Fault::KillHost => Hit::KilledHost,
            Fault::StopMonitor => Hit::StoppedMonitor,
            Fault::StopWorker | Fault::StopInTurn => Hit::StoppedWorker,
            Fault::Suspend => Hit::Suspended,
            Fault::Terminate => Hit::Terminated,
            Fault::Revoke => return self.revoke(draw),
            _ => return self.delete_node(draw),
        };
        let prey = self.prey(draw, hit)?;
        let whom = prey.name().to_owned();
        prey.suffer(hit).then(|| {
            let undo = match draw.fault {
                Fault::StopInTurn => Some(Undo::GoOnAndStopMonitor(prey)),
                _ => hit.stands_still().then_some(Undo::GoOn(prey)),
            };
            Strike { whom, undo }
        })
    }
}
