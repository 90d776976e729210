//! The faults of a network of proxies on one machine.

use crate::fault::Draw;
use crate::injector::{Injected, Injector, Undo};
use crate::support::network::{Network, SERVERS};
use crate::support::{At, Fault, Proxy, Server, op};
use crate::wires::{Host, Wires};
use std::time::Duration;

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
            let undo = cut_servers(self, draw.fault, leader, follower);
            let target = format!("leader {leader}, follower {follower}");
            Some(Injected { target, undo: Some(undo) })
        } else {
            let undo = cut_hosts(self, draw, hosts);
            Some(Injected { target: format!("hosts {hosts:?}"), undo })
        }
    }
}

/// What ends a fault.
fn pass<'a>(pass: impl Fn() + 'a) -> Undo<'a> {
    Undo::Pass(Box::new(pass))
}

fn cut_servers(network: &Network, fault: Fault, leader: usize, follower: usize) -> Undo<'_> {
    match fault {
        Fault::IsolateLeader => network.isolate(leader),
        Fault::IsolateFollower => network.isolate(follower),
        Fault::MuteLeader => network.mute(leader),
        Fault::MuteFollower => network.mute(follower),
        Fault::DeafenLeader => network.deafen(leader),
        Fault::DeafenFollower => network.deafen(follower),
        _ => panic!("{fault} isn't injected into servers"),
    }
    pass(|| network.pass_peers())
}

/// Injects the fault, and returns what ends it if it lasts.
fn cut_hosts<'a>(network: &'a Network, draw: &Draw, hosts: &[usize]) -> Option<Undo<'a>> {
    let links = network.links(hosts);
    let lose_next = |at| network.links(hosts).for_each(|link| link.once(OPS[draw.choice % OPS.len()], at));
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
    let hosts = hosts.to_vec();
    match draw.fault {
        Fault::CutClients => None,
        Fault::LoseRequest | Fault::LoseAnswer => {
            Some(pass(move || network.links(&hosts).for_each(Proxy::never_mind)))
        }
        _ => Some(pass(move || network.links(&hosts).for_each(Proxy::pass))),
    }
}
