//! The faults that last at this moment: begun without getting in each other's way, and healed in time.

use crate::arena::Arena;
use crate::arena::{AMBUSHED, HOSTS};
use crate::contender::Contender;
use crate::fault::{Draw, Fault};
use crate::hit::Hit;
use crate::support::network::Network;
use crate::support::{Observer, Proxy};
use crate::wish::LOCK;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A holder that is gone sooner proves nothing where it takes seconds to go wrong.
const LONG: Duration = Duration::from_millis(1500);

pub(crate) struct Storm<'a> {
    pub(crate) network: &'a Network,
    pub(crate) arena: &'a Arena,
    pub(crate) observer: &'a Observer,
    active: Vec<Active>,
}

struct Active {
    fault: Fault,
    lasts: Duration,
    until: Instant,
    /// Those whose links are changed.
    hosts: Vec<usize>,
    undo: Undo,
}

/// What ends a fault.
pub(crate) enum Undo {
    Thaw(Vec<usize>),
    Relaunch(usize),
    PassHosts(Vec<usize>),
    LoseNothing(Vec<usize>),
    PassPeers,
    PassPeersAndHost(usize),
    GoOn(Arc<Contender>),
    GoOnAndStopMonitor(Arc<Contender>),
}

/// A fault that has begun: whom it met, and what ends it, unless it is over already.
pub(crate) struct Strike {
    pub(crate) whom: String,
    pub(crate) undo: Option<Undo>,
}

impl<'a> Storm<'a> {
    pub(crate) fn new(network: &'a Network, arena: &'a Arena, observer: &'a Observer) -> Self {
        Self { network, arena, observer, active: Vec::new() }
    }

    /// Lets it happen. Whom it needs may not be there: then nothing does. `false` if it would have to wait: for a holder
    /// to be aimed at, or for another of its kind, since together they could leave nothing that works.
    pub(crate) fn begin(&mut self, draw: &Draw) -> bool {
        let fault = draw.fault;
        if fault.is_aimed() && self.holder().is_none_or(|holder| holder.wish.job.lasts < LONG) {
            return false;
        }
        let hosts = self.hosts_of(draw);
        let clashes = |active: &Active| {
            (fault.is_of_ensemble() && active.fault.is_of_ensemble())
                || (fault.is_of_hosts() && active.hosts.iter().any(|host| hosts.contains(host)))
                // Observers need servers that answer.
                || (matches!(fault, Fault::DeleteNode | Fault::Revoke) && active.fault.is_of_ensemble())
        };
        if self.active.iter().any(clashes) {
            return false;
        }
        if let Some(Strike { whom, undo }) = self.strike(draw, &hosts) {
            self.arena.faults.add(fault, draw.lasts, &hosts, &whom);
            let (lasts, until) = (draw.lasts, Instant::now() + draw.lasts);
            self.active.extend(undo.map(|undo| Active { fault, lasts, until, hosts, undo }));
        }
        true
    }

    /// Ends what has lasted long enough.
    pub(crate) fn heal_due(&mut self) {
        let now = Instant::now();
        let (due, active): (Vec<_>, _) = self.active.drain(..).partition(|active| active.until <= now);
        self.active = active;
        for Active { fault, lasts, hosts, undo, .. } in due {
            if let Some(undo) = self.heal(undo) {
                self.active.push(Active { fault, lasts, until: Instant::now() + lasts, hosts, undo });
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

    /// Ends a fault, and gives what ends the one that follows from its end.
    fn heal(&self, undo: Undo) -> Option<Undo> {
        let network = self.network;
        match undo {
            Undo::Thaw(servers) => servers.iter().for_each(|&server| network.servers[server].thaw()),
            Undo::Relaunch(server) => network.servers[server].relaunch(),
            Undo::PassHosts(hosts) => network.links(&hosts).for_each(Proxy::pass),
            Undo::LoseNothing(hosts) => network.links(&hosts).for_each(Proxy::never_mind),
            Undo::PassPeers => network.pass_peers(),
            Undo::PassPeersAndHost(host) => {
                network.pass_peers();
                network.links(&[host]).for_each(Proxy::pass);
            }
            Undo::GoOn(contender) => contender.go_on(),
            Undo::GoOnAndStopMonitor(contender) => {
                contender.go_on();
                return contender.suffer(Hit::StoppedMonitor).then_some(Undo::GoOn(contender));
            }
        }
        None
    }

    /// The contender whose job runs now, if its end isn't seen yet.
    pub(crate) fn holder(&self) -> Option<Arc<Contender>> {
        let name = self.arena.watch.holder(LOCK)?;
        self.arena.living().into_iter().find(|contender| contender.name() == name)
    }

    /// Whose links it changes: the holder's where it is aimed; else one host's, or several, or all.
    fn hosts_of(&self, draw: &Draw) -> Vec<usize> {
        let one = draw.dice % HOSTS;
        let holders = || vec![self.holder().map_or(one, |holder| holder.wish.host)];
        match (draw.fault, draw.dice / HOSTS % 10) {
            (fault, _) if !fault.is_of_hosts() => vec![],
            (fault, _) if fault.is_ambush() => vec![AMBUSHED],
            (fault, _) if fault.is_aimed() => holders(),
            // What is to be lost is mostly said by others.
            (Fault::LoseRequest | Fault::LoseAnswer, 0..4) => (0..HOSTS).collect(),
            (_, 0..4) => holders(),
            (_, 4..6) => vec![one],
            (_, 6..8) => (0..HOSTS).filter(|host| host % 2 == one % 2).collect(),
            _ => (0..HOSTS).collect(),
        }
    }
}
