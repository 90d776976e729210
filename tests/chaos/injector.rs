//! The active faults: begun without conflicts, and healed in time.

use crate::contender::Contender;
use crate::fault::Draw;
use crate::harness::Harness;
use crate::harness::{DEDICATED_HOST, HOSTS};
use crate::invocation::LOCK;
use crate::support::network::Network;
use crate::support::{Fault, Observer, Proxy, Target};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A shorter job ends before a fault that needs seconds can show anything.
const LONG_JOB: Duration = Duration::from_millis(1500);

pub(crate) struct Injector<'a> {
    pub(crate) network: &'a Network,
    pub(crate) harness: &'a Harness,
    pub(crate) observer: &'a Observer,
    active: Vec<Active>,
}

struct Active {
    fault: Fault,
    duration: Duration,
    until: Instant,
    /// The hosts whose links are changed.
    hosts: Vec<usize>,
    undo: Undo,
}

pub(crate) enum Undo {
    Thaw(Vec<usize>),
    Relaunch(usize),
    PassHosts(Vec<usize>),
    CancelLoss(Vec<usize>),
    PassPeers,
    PassPeersAndHost(usize),
    Resume(Arc<Contender>),
    ResumeAndStopMonitor(Arc<Contender>),
}

/// An injected fault: its target, and what ends it, unless it is over already.
pub(crate) struct Injected {
    pub(crate) target: String,
    pub(crate) undo: Option<Undo>,
}

impl<'a> Injector<'a> {
    pub(crate) fn new(network: &'a Network, harness: &'a Harness, observer: &'a Observer) -> Self {
        Self { network, harness, observer, active: Vec::new() }
    }

    /// Injects the fault; without a target nothing happens. `false` if it has to wait: for a holder to aim at, or
    /// because another active fault of its kind could combine with it to leave nothing that works.
    pub(crate) fn begin(&mut self, draw: &Draw) -> bool {
        let fault = draw.fault;
        if fault.targets_holder()
            && self.holder().is_none_or(|holder| holder.invocation.job.duration < LONG_JOB)
        {
            return false;
        }
        let hosts = self.hosts_of(draw);
        let clashes = |active: &Active| {
            (fault.affects_ensemble() && active.fault.affects_ensemble())
                || (fault.affects_hosts() && active.hosts.iter().any(|host| hosts.contains(host)))
                // Observers need servers that answer.
                || (fault.target() == Target::Node && active.fault.affects_ensemble())
        };
        if self.active.iter().any(clashes) {
            return false;
        }
        if let Some(Injected { target, undo }) = self.inject(draw, &hosts) {
            self.harness.faults.add(fault, draw.duration, &hosts, &target);
            let (duration, until) = (draw.duration, Instant::now() + draw.duration);
            self.active.extend(undo.map(|undo| Active { fault, duration, until, hosts, undo }));
        }
        true
    }

    /// Heals the faults whose time is over.
    pub(crate) fn heal_due(&mut self) {
        let now = Instant::now();
        let (due, active): (Vec<_>, _) = self.active.drain(..).partition(|active| active.until <= now);
        self.active = active;
        for Active { fault, duration, hosts, undo, .. } in due {
            if let Some(undo) = self.heal(undo) {
                self.active.push(Active { fault, duration, until: Instant::now() + duration, hosts, undo });
            }
        }
    }

    pub(crate) fn heal_all(&mut self) {
        for active in std::mem::take(&mut self.active) {
            let mut undo = Some(active.undo);
            while let Some(next) = undo {
                undo = self.heal(next);
            }
        }
    }

    /// Heals a fault, and returns what ends the fault that follows from it.
    fn heal(&self, undo: Undo) -> Option<Undo> {
        let network = self.network;
        match undo {
            Undo::Thaw(servers) => servers.iter().for_each(|&server| network.servers[server].thaw()),
            Undo::Relaunch(server) => network.servers[server].relaunch(),
            Undo::PassHosts(hosts) => network.links(&hosts).for_each(Proxy::pass),
            Undo::CancelLoss(hosts) => network.links(&hosts).for_each(Proxy::never_mind),
            Undo::PassPeers => network.pass_peers(),
            Undo::PassPeersAndHost(host) => {
                network.pass_peers();
                network.links(&[host]).for_each(Proxy::pass);
            }
            Undo::Resume(contender) => contender.resume(),
            Undo::ResumeAndStopMonitor(contender) => {
                contender.resume();
                return contender.apply(Fault::StopMonitor).then_some(Undo::Resume(contender));
            }
        }
        None
    }

    /// The contender whose job runs now, unless its end is already seen.
    pub(crate) fn holder(&self) -> Option<Arc<Contender>> {
        let name = self.harness.history.holder(LOCK)?;
        self.harness.running().into_iter().find(|contender| contender.name() == name)
    }

    /// The hosts whose links the fault changes: the holder's if it targets the holder; else one host, several or all.
    fn hosts_of(&self, draw: &Draw) -> Vec<usize> {
        let one = draw.choice % HOSTS;
        let holder_host = || vec![self.holder().map_or(one, |holder| holder.invocation.host)];
        match (draw.fault, draw.choice / HOSTS % 10) {
            (fault, _) if !fault.affects_hosts() => vec![],
            (fault, _) if fault.needs_dedicated_contender() => vec![DEDICATED_HOST],
            (fault, _) if fault.targets_holder() => holder_host(),
            // Hosts other than the holder's send most of the requests that are lost here.
            (Fault::LoseRequest | Fault::LoseAnswer, 0..4) => (0..HOSTS).collect(),
            (_, 0..4) => holder_host(),
            (_, 4..6) => vec![one],
            (_, 6..8) => (0..HOSTS).filter(|host| host % 2 == one % 2).collect(),
            _ => (0..HOSTS).collect(),
        }
    }
}
