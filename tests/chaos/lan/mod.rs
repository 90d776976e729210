//! The faults of a network of machines of their own.
//!
//! Packets are lost on the bridge, so neither side is told. A reset comes from the machine to which the packet was sent.

mod place;
mod self_check;

use crate::fault::Draw;
use crate::injector::{Injected, Injector, Undo};
use crate::support::lan::Lan;
use crate::support::machine::Machine;
use crate::support::network::ServerSettings;
use crate::support::packets::{Rules, Way};
use crate::support::{Fault, Rng, Server, Target};
use crate::wires::{Host, Wires};
use place::{Direction, details};

pub(crate) use place::Place;

/// What counts as a large packet, in bytes: less than a create has, about what a confirmation has, and more than that.
const LARGE: [usize; 3] = [120, 160, 300];

// What packets are lost, in the words of nftables.
const A_THIRD: &str = "numgen random mod 3 == 0";
const SYN: &str = "tcp flags & (syn | ack) == syn";

fn larger_than(bytes: usize) -> String {
    format!("meta length > {bytes}")
}

/// The servers and the hosts, whose network works and fails as it should.
pub(crate) fn start(settings: ServerSettings, servers: usize, hosts: usize) -> Lan {
    let lan = Lan::start(settings, servers, hosts);
    self_check::check(&lan);
    lan
}

impl Wires for Lan {
    fn servers(&self) -> &[Server] {
        &self.servers
    }

    fn direct(&self) -> String {
        self.connect_string()
    }

    fn hosts(&self) -> Vec<Host> {
        let connect_string = self.connect_string();
        let host =
            |host: &Machine| Host { connect_string: connect_string.clone(), words: host.words.clone() };
        self.hosts.iter().map(host).collect()
    }

    fn inject<'a>(&'a self, injector: &Injector<'a>, draw: &Draw, hosts: &[usize]) -> Option<Injected<'a>> {
        let (leader, follower) = injector.leader_and_follower(draw)?;
        let mut rng = details(draw);
        let (place, direction) = (Place::of(draw), Direction::of(draw.fault, &mut rng));
        let (target, pass): (_, Box<dyn Fn()>) = match draw.fault.target() {
            Target::Packets => {
                let (here, there) = sides(self, place, leader, follower, hosts, &mut rng);
                let ways = match direction {
                    Direction::There => vec![(here.clone(), there.clone())],
                    Direction::Back => vec![(there.clone(), here.clone())],
                    Direction::Both => vec![(here.clone(), there.clone()), (there.clone(), here.clone())],
                };
                let target = format!("{place:?}: {} and {}, {direction:?}", names(&here), names(&there));
                (target, lose(draw.fault, &ways, &mut rng)?)
            }
            Target::Machine => {
                let machine = match place {
                    Place::Hosts | Place::HostsAndServer => &self.hosts[rng.pick(hosts)],
                    Place::Leader | Place::LeaderAndServers | Place::Halves => &self.server_machines[leader],
                    _ => &self.server_machines[follower],
                };
                (machine.name.clone(), disconnect(draw.fault, machine))
            }
            _ => move_address(self, leader, follower, &mut rng),
        };
        let target = format!("{target}; the leader is {leader}");
        Some(Injected { target, undo: Some(Undo::Pass(pass)) })
    }
}

fn sides(
    lan: &Lan,
    place: Place,
    leader: usize,
    follower: usize,
    hosts: &[usize],
    rng: &mut Rng,
) -> (Vec<Machine>, Vec<Machine>) {
    let (all_hosts, servers) = (lan.hosts.clone(), lan.server_machines.clone());
    let hosts: Vec<_> = hosts.iter().map(|&host| lan.hosts[host].clone()).collect();
    let one = |server: usize| vec![servers[server].clone()];
    let all = &servers;
    let others = |server: usize| servers.iter().filter(move |other| other.name != all[server].name).cloned();
    match place {
        Place::Hosts => (hosts, servers),
        Place::HostsAndServer => (hosts, one(rng.index(servers.len()))),
        Place::Leader => (one(leader), others(leader).chain(all_hosts).collect()),
        Place::LeaderAndServers => (one(leader), others(leader).collect()),
        Place::Follower => (one(follower), others(follower).chain(all_hosts).collect()),
        Place::FollowerAndServers => (one(follower), others(follower).collect()),
        Place::Followers => {
            let is_other = |&server: &usize| server != leader && server != follower;
            let other = (0..servers.len()).find(is_other).unwrap_or(leader);
            (one(follower), one(other))
        }
        Place::Halves => {
            let (mut here, mut there) = (one(leader), one(follower));
            let rest = servers.iter().enumerate().filter(|(id, _)| ![leader, follower].contains(id));
            for machine in rest.map(|(_, machine)| machine).chain(&lan.hosts) {
                if rng.chance(50) { &mut here } else { &mut there }.push(machine.clone());
            }
            (here, there)
        }
    }
}

/// Moves a server's address to the machine of another server or to a host. In half of the cases the neighbours are
/// told; otherwise they find out.
fn move_address<'a>(
    lan: &'a Lan,
    leader: usize,
    follower: usize,
    rng: &mut Rng,
) -> (String, Box<dyn Fn() + 'a>) {
    let (server, other) = if rng.chance(50) { (leader, follower) } else { (follower, leader) };
    let from = &lan.server_machines[server];
    let to = if rng.chance(50) { &lan.server_machines[other] } else { &lan.hosts[0] };
    move_to(lan, from, to, rng.chance(50))
}

fn move_to<'a>(lan: &'a Lan, from: &'a Machine, to: &'a Machine, told: bool) -> (String, Box<dyn Fn() + 'a>) {
    from.loses(from.address);
    to.has(from.address);
    if told {
        lan.forget_neighbours();
    }
    let target = format!("{} to {}, neighbours are told: {told}", from.name, to.name);
    let back = move || {
        to.loses(from.address);
        from.has(from.address);
        lan.forget_neighbours();
    };
    (target, Box::new(back))
}

/// Loses packets on these ways. `None` if there are none to lose.
fn lose(fault: Fault, ways: &[Way], rng: &mut Rng) -> Option<Box<dyn Fn()>> {
    let cut = match fault {
        Fault::LosePackets => Rules::cut(ways, ""),
        Fault::LoseThird => Rules::cut(ways, A_THIRD),
        Fault::LoseLarge => Rules::cut(ways, &larger_than(rng.pick(&LARGE))),
        Fault::LoseSyn => Rules::cut(ways, SYN),
        Fault::ForgetConnections => Rules::forget(ways.first()?)?,
        _ => {
            let rejects = Rules::reject(ways);
            return Some(Box::new(move || rejects.iter().for_each(Rules::delete)));
        }
    };
    Some(Box::new(move || cut.delete()))
}

/// Takes a machine's cable or address, and returns what gives it back.
fn disconnect(fault: Fault, machine: &Machine) -> Box<dyn Fn() + '_> {
    match fault {
        Fault::Unplug => {
            machine.plug(false);
            Box::new(|| machine.plug(true))
        }
        Fault::RemoveAddress => {
            machine.loses(machine.address);
            Box::new(|| machine.has(machine.address))
        }
        _ => {
            machine.loses(machine.address);
            machine.has(machine.other_address);
            Box::new(|| {
                machine.loses(machine.other_address);
                machine.has(machine.address);
            })
        }
    }
}

fn names(machines: &[Machine]) -> String {
    machines.iter().map(|machine| machine.name.as_str()).collect::<Vec<_>>().join(" ")
}
