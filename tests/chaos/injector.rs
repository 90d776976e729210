//! The active faults: begun without conflicts, and healed in time.

use crate::contender::Contender;
use crate::fault::{Draw, Reach};
use crate::harness::Harness;
use crate::harness::{DEDICATED_HOST, HOSTS};
use crate::invocation::LOCK;
use crate::support::{Fault, Observer, Server, Target};
use crate::wires::Wires;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A shorter job ends before a fault that needs seconds can show anything.
const LONG_JOB: Duration = Duration::from_millis(1500);

pub(crate) struct Injector<'a> {
    pub(crate) wires: &'a dyn Wires,
    pub(crate) harness: &'a Harness,
    pub(crate) observer: &'a Observer,
    active: Vec<Active<'a>>,
}

struct Active<'a> {
    duration: Duration,
    until: Instant,
    reach: Reach,
    undo: Undo<'a>,
}

pub(crate) enum Undo<'a> {
    Thaw(Vec<usize>),
    Relaunch(usize),
    /// Lets everything pass again that the wires kept back.
    Pass(Box<dyn Fn() + 'a>),
    Resume(Arc<Contender>),
    ResumeAndStopMonitor(Arc<Contender>),
}

/// An injected fault: its target, and what ends it, unless it is over already.
pub(crate) struct Injected<'a> {
    pub(crate) target: String,
    pub(crate) undo: Option<Undo<'a>>,
}

impl<'a> Injector<'a> {
    pub(crate) fn new(wires: &'a dyn Wires, harness: &'a Harness, observer: &'a Observer) -> Self {
        Self { wires, harness, observer, active: Vec::new() }
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
        let reach = Reach { ensemble: draw.affects_ensemble(), hosts: self.hosts_of(draw) };
        let clashes = |active: &Active<'_>| {
            // Observers need servers that answer.
            (active.reach.ensemble && (reach.ensemble || fault.target() == Target::Node))
                || active.reach.hosts.iter().any(|host| reach.hosts.contains(host))
        };
        if self.active.iter().any(clashes) {
            return false;
        }
        if let Some(Injected { target, undo }) = self.inject(draw, &reach.hosts) {
            self.harness.faults.add(fault, draw.duration, reach.clone(), &target);
            let (duration, until) = (draw.duration, Instant::now() + draw.duration);
            self.active.extend(undo.map(|undo| Active { duration, until, reach, undo }));
        }
        true
    }

    /// Heals the faults whose time is over.
    pub(crate) fn heal_due(&mut self) {
        let now = Instant::now();
        let (due, active): (Vec<_>, _) = self.active.drain(..).partition(|active| active.until <= now);
        self.active = active;
        for Active { duration, reach, undo, .. } in due {
            if let Some(undo) = self.heal(undo) {
                self.active.push(Active { duration, until: Instant::now() + duration, reach, undo });
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
    fn heal(&self, undo: Undo<'a>) -> Option<Undo<'a>> {
        let servers = self.wires.servers();
        match undo {
            Undo::Thaw(frozen) => frozen.iter().for_each(|&server| servers[server].thaw()),
            Undo::Relaunch(server) => servers[server].relaunch(),
            Undo::Pass(pass) => pass(),
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

    /// The leader, if there is one at the moment.
    pub(crate) fn leader(&self) -> Option<usize> {
        let is_leader = |server: &Server| server.mode().as_deref() == Some("leader");
        self.wires.servers().iter().position(is_leader)
    }

    /// The hosts whose links the fault changes: the holder's if it targets the holder; else one host, several or all.
    fn hosts_of(&self, draw: &Draw) -> Vec<usize> {
        let one = draw.choice % HOSTS;
        let holder_host = || vec![self.holder().map_or(one, |holder| holder.invocation.host)];
        match (draw.fault, draw.choice / HOSTS % 10) {
            _ if !draw.affects_hosts() => vec![],
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
