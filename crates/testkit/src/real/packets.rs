//! Rules by which the kernel loses packets between machines, or answers them by resets.

use super::machine::{Machine, run};
use std::slice::from_ref;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Packets from some machines to others.
pub type Way = (Vec<Machine>, Vec<Machine>);

/// Rules for packets: of the bridge, or of a machine for what is sent to it.
pub struct Rules {
    machine: Option<Machine>,
    table: String,
}

impl Rules {
    /// Loses the packets on these ways that match, and tells nobody.
    pub fn cut(ways: &[Way], matching: &str) -> Self {
        let rule = |(from, to): &Way| {
            format!("ip saddr {{ {} }} ip daddr {{ {} }} {matching} drop", addresses(from), addresses(to))
        };
        Self::add(None, &ways.iter().map(rule).collect::<Vec<_>>())
    }

    /// Answers each packet on these ways by a reset from the machine to which it was sent.
    pub fn reject(ways: &[Way]) -> Vec<Self> {
        let rules = |(from, to): &Way| {
            let rule = format!("ip saddr {{ {} }} meta l4proto tcp reject with tcp reset", addresses(from));
            to.iter().map(|machine| Self::add(Some(machine), from_ref(&rule))).collect::<Vec<_>>()
        };
        ways.iter().flat_map(rules).collect()
    }

    /// Loses the packets of all connections that are open now between these machines. `None` if there are none.
    pub fn forget((here, there): &Way) -> Option<Self> {
        let is_there =
            |address: &str| there.iter().any(|machine| address.starts_with(&format!("{}:", machine.address)));
        let mut rules = Vec::new();
        for machine in here {
            for line in machine.run("ss -Htn state established").lines() {
                // Servers show addresses of IPv4 as those of IPv6.
                let line = line.replace("[::ffff:", "").replace(']', "");
                let [_, _, local, peer] = line.split_whitespace().collect::<Vec<_>>()[..] else { continue };
                let port = |address: &str| address.rsplit_once(':').map(|(_, port)| port.to_owned());
                if let (true, Some(local), Some(far)) = (is_there(peer), port(local), port(peer)) {
                    let (here, there) = (machine.address, &peer[..peer.len() - far.len() - 1]);
                    rules.push(format!(
                        "ip saddr {here} tcp sport {local} ip daddr {there} tcp dport {far} drop"
                    ));
                    rules.push(format!(
                        "ip saddr {there} tcp sport {far} ip daddr {here} tcp dport {local} drop"
                    ));
                }
            }
        }
        (!rules.is_empty()).then(|| Self::add(None, &rules))
    }

    fn add(machine: Option<&Machine>, rules: &[String]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let family = if machine.is_some() { "inet" } else { "bridge" };
        let hook = if machine.is_some() { "input" } else { "forward" };
        let table = format!("{family} fault{}", COUNT.fetch_add(1, Ordering::SeqCst));
        let rules: Vec<_> = rules.iter().map(|rule| format!("; add rule {table} packets {rule}")).collect();
        let added = Self { machine: machine.cloned(), table };
        let table = &added.table;
        // One transaction: all rules begin together.
        let chain = format!("add chain {table} packets {{ type filter hook {hook} priority 0 ; }}");
        added.nft(&format!("add table {table} ; {chain} {}", rules.join(" ")));
        added
    }

    /// Lets packets pass again.
    pub fn delete(&self) {
        self.nft(&format!("delete table {}", self.table));
    }

    fn nft(&self, commands: &str) {
        let command = format!("nft {commands}");
        self.machine.as_ref().map_or_else(|| run(&command), |machine| machine.run(&command));
    }
}

fn addresses(machines: &[Machine]) -> String {
    machines.iter().map(|machine| machine.address.to_string()).collect::<Vec<_>>().join(", ")
}
