//! Servers and hosts, each on a machine of its own: network namespaces on one bridge that leads nowhere else. This
//! process is on the bridge too, so that it reaches the servers whatever the faults do to the packets of others.
//!
//! It needs the surroundings that `scripts/chaos --hosts` makes, in which everything ends with its first process.

use super::machine::{Machine, run};
use super::network::ServerSettings;
use super::server::Server;
use std::net::Ipv4Addr;

const BRIDGE: &str = "lan";
const NETWORK: &str = "10.77.0.0/16";
const CLIENT_PORT: u16 = 2181;

pub struct Lan {
    pub servers: Vec<Server>,
    pub server_machines: Vec<Machine>,
    pub hosts: Vec<Machine>,
}

impl Lan {
    /// Makes the machines and starts a server on each of the first.
    pub fn start(settings: ServerSettings, servers: usize, hosts: usize) -> Self {
        run("ip link set dev lo up");
        run(&format!("ip link add {BRIDGE} type bridge"));
        run(&format!("ip address add 10.77.2.1/16 dev {BRIDGE}"));
        run(&format!("ip link set dev {BRIDGE} up"));
        let machines = |kind: &str, from: usize, count: usize| -> Vec<_> {
            (0..count).map(|index| connected(format!("{kind}{index}"), from + index)).collect()
        };
        let (server_machines, hosts) = (machines("server", 1, servers), machines("host", 101, hosts));
        let launch = |id: usize| {
            let member = settings.member(id).machine(&server_machines[id]).port(CLIENT_PORT);
            let peers = server_machines.iter().enumerate();
            let peers = peers.map(|(id, peer)| format!("server.{}={}:2888:3888", id + 1, peer.address));
            peers.fold(member, |member, peer| member.config(&peer)).launch()
        };
        let servers: Vec<_> = (0..servers).map(launch).collect();
        servers.iter().for_each(Server::wait_ready);
        Self { servers, server_machines, hosts }
    }

    /// The value of `-z` with all servers.
    pub fn connect_string(&self) -> String {
        let servers: Vec<_> = self.servers.iter().map(Server::connect_string).collect();
        servers.join(",")
    }

    /// Every machine asks again which of the others has an address.
    pub fn forget_neighbours(&self) {
        run("ip neighbour flush all");
        for machine in self.server_machines.iter().chain(&self.hosts) {
            machine.run("ip neighbour flush all");
        }
    }
}

/// The next run makes its own.
impl Drop for Lan {
    fn drop(&mut self) {
        for Machine { name, .. } in self.server_machines.iter().chain(&self.hosts) {
            run(&format!("ip link delete {name}"));
            run(&format!("ip netns delete {name}"));
        }
        run(&format!("ip link delete {BRIDGE}"));
    }
}

impl Machine {
    /// Gives it one more address. It is a network of its own: of several in one network the kernel deletes all if the
    /// first goes. The route goes with the last of them.
    pub fn has(&self, address: Ipv4Addr) {
        self.run(&format!("ip address add {address}/32 dev eth0"));
        self.run(&format!("ip route replace {NETWORK} dev eth0"));
    }

    pub fn loses(&self, address: Ipv4Addr) {
        self.run(&format!("ip address del {address}/32 dev eth0"));
    }

    /// Puts the cable in or takes it out, at the bridge.
    pub fn plug(&self, is_in: bool) {
        let state = if is_in { "up" } else { "down" };
        run(&format!("ip link set dev {} {state}", self.name));
    }
}

/// A machine whose cable is in the bridge.
fn connected(name: String, number: usize) -> Machine {
    let machine = Machine::namespace(name, u8::try_from(number).expect("few machines"));
    let name = &machine.name;
    run(&format!("ip netns add {name}"));
    run(&format!("ip link add dev {name} type veth peer name eth0 netns {name}"));
    run(&format!("ip link set dev {name} master {BRIDGE} up"));
    machine.run("ip link set dev lo up");
    machine.run("ip link set dev eth0 up");
    machine.has(machine.address);
    machine
}
