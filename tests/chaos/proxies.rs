//! The faults of a network of proxies on one machine.

use crate::fault::Draw;
use crate::harness::Harness;
use crate::injector::{Injected, Injector, Undo};
use crate::support::clock;
use crate::support::network::{Network, SERVERS};
use crate::support::{At, Fault, Proxy, Server, op};
use crate::wires::{Host, Wires};
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

impl Wires for Network {
    fn servers(&self) -> &[Server] {
        &self.servers
    }

    fn direct(&self) -> String {
        Network::direct(self)
    }

    fn hosts(&self) -> Vec<Host> {
        let hosts = 0..self.zones();
        hosts.map(|host| Host { connect_string: self.connect_string(host), words: vec![] }).collect()
    }

    fn inject<'a>(&'a self, injector: &Injector<'a>, draw: &Draw, hosts: &[usize]) -> Option<Injected<'a>> {
        if draw.affects_ensemble() {
            let (leader, follower) = injector.leader_and_follower(draw)?;
            let undo = match (draw.fault, hosts) {
                (Fault::LateConnect, &[host]) => {
                    self.late_connect(injector.harness, host, follower, leader)?
                }
                _ => self.cut_servers(injector.harness, draw.fault, leader, follower, hosts),
            };
            let target = format!("leader {leader}, follower {follower}, hosts {hosts:?}");
            Some(Injected { target, undo: Some(undo) })
        } else if draw.fault == Fault::SlowConnection {
            self.slow_connection(injector.harness, draw, hosts)
        } else {
            let undo = self.cut_hosts(draw, hosts);
            Some(Injected { target: format!("hosts {hosts:?}"), undo })
        }
    }
}

/// What ends a fault.
pub(crate) fn pass<'a>(pass: impl Fn() + 'a) -> Undo<'a> {
    Undo::Pass(Box::new(pass))
}

impl Network {
    fn cut_servers(
        &self,
        harness: &Harness,
        fault: Fault,
        leader: usize,
        follower: usize,
        hosts: &[usize],
    ) -> Undo<'_> {
        match (fault, hosts) {
            (Fault::IsolateLeader, _) => self.isolate(leader),
            (Fault::IsolateFollower, _) => self.isolate(follower),
            (Fault::MuteLeader, _) => self.mute(leader),
            (Fault::MuteFollower, _) => self.mute(follower),
            (Fault::DeafenLeader, _) => self.deafen(leader),
            (Fault::DeafenFollower, _) => self.deafen(follower),
            (Fault::DeposeLeader, &[host]) => return self.depose(harness, host, leader),
            (Fault::PulseFollower, &[host]) => return self.pulse_follower(harness, host, follower, leader),
            _ => panic!("{fault} isn't injected into servers, or needs one host"),
        }
        pass(|| self.pass_peers())
    }

    fn depose(&self, harness: &Harness, host: usize, leader: usize) -> Undo<'_> {
        self.confine_and_settle(harness, host, leader);
        self.isolate(leader);
        self.reset_followers_of(leader);
        self.pass_peers_and_host(host)
    }

    /// Cuts the follower off just after one confirmation, lets the next one through, and cuts it off again.
    fn pulse_follower(&self, harness: &Harness, host: usize, follower: usize, leader: usize) -> Undo<'_> {
        self.confine_and_settle(harness, host, follower);
        self.await_confirmation(host, follower, CONFIRMATION_INTERVAL);
        thread::sleep(ANSWER);
        self.isolate(follower);
        self.await_confirmation(host, follower, CONFIRMATION_INTERVAL);
        thread::sleep(ANSWER);
        self.pulse(follower, leader);
        self.pass_peers_and_host(host)
    }

    pub(crate) fn pass_peers_and_host(&self, host: usize) -> Undo<'_> {
        pass(move || {
            self.pass_peers();
            self.links(&[host]).for_each(Proxy::pass);
        })
    }

    pub(crate) fn confine_and_settle(&self, harness: &Harness, host: usize, server: usize) {
        self.confine(host, server);
        clock::nap(SETTLE, &harness.stop);
    }

    /// Injects the fault, and returns what ends it if it lasts.
    fn cut_hosts(&self, draw: &Draw, hosts: &[usize]) -> Option<Undo<'_>> {
        let links = self.links(hosts);
        let lose_next = |at| self.links(hosts).for_each(|link| link.once(OPS[draw.choice % OPS.len()], at));
        match draw.fault {
            Fault::CutClients => links.for_each(Proxy::cut_all),
            Fault::BlackholeToServers => links.for_each(Proxy::blackhole_to_server),
            Fault::BlackholeToClients => links.for_each(Proxy::blackhole_to_client),
            Fault::Blackhole => links.for_each(Proxy::blackhole),
            Fault::BlackholeOneServer => {
                self.links_to(draw.choice % SERVERS, hosts).for_each(Proxy::blackhole);
            }
            Fault::LoseRequest => lose_next(At::BeforeServer),
            Fault::LoseAnswer => lose_next(At::BeforeReply),
            Fault::Delay => {
                let millis = 20 + draw.duration.subsec_millis() / 8;
                links.for_each(|link| link.delay(Duration::from_millis(millis.into())));
            }
            fault => panic!("{fault} isn't injected into links"),
        }
        let hosts = hosts.to_vec();
        match draw.fault {
            Fault::CutClients => None,
            Fault::LoseRequest | Fault::LoseAnswer => {
                Some(pass(move || self.links(&hosts).for_each(Proxy::never_mind)))
            }
            _ => Some(pass(move || self.links(&hosts).for_each(Proxy::pass))),
        }
    }
}
