//! The active faults: begun without conflicts, and healed in time.

use crate::contender::Contender;
use crate::fault::{Draw, Moment, Reach};
use crate::harness::{HOSTS, Harness};
use crate::invocation::LOCK;
use crate::support::{Checker, Fault, Observer, Section, Server, Target, clock};
use crate::wires::Wires;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How often a moment is waited for, and how long before the planned end of a command it begins.
const LOOK: Duration = Duration::from_millis(1);
const BEFORE_THE_END: Duration = Duration::from_millis(4);

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

    /// Injects the fault, into this contender if its moment has come; without a target nothing happens. `false` if it
    /// has to wait, because another active fault of its kind could combine with it to leave nothing that works.
    pub(crate) fn begin(&mut self, draw: &Draw, met: Option<&Arc<Contender>>) -> bool {
        let fault = draw.fault;
        let reach = Reach { ensemble: draw.affects_ensemble(), hosts: self.hosts_of(draw, met) };
        let clashes = |active: &Active<'_>| {
            // Observers need servers that answer.
            (active.reach.ensemble && (reach.ensemble || fault.target() == Target::Node))
                || active.reach.hosts.iter().any(|host| reach.hosts.contains(host))
        };
        if self.active.iter().any(clashes) {
            return false;
        }
        if let Some(Injected { target, undo }) = self.inject(draw, met, &reach.hosts) {
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
        let is_of_lock = |section: &&Section| section.places.iter().any(|place| place.path == LOCK);
        let newest = |checker: &mut Checker| checker.sections().iter().rfind(is_of_lock).cloned();
        let name = self.harness.history.at_end(newest)?.name;
        self.harness.running().into_iter().find(|contender| contender.name() == name)
    }

    /// Waits for the moment of a fault, and returns the contender that it hits, if it comes in time.
    pub(crate) fn await_moment(&mut self, draw: &Draw, until: Instant) -> Option<Arc<Contender>> {
        if draw.moment == Moment::Spawned {
            let earlier = self.harness.running();
            let is_new = |other: &Arc<Contender>| !earlier.iter().any(|one| Arc::ptr_eq(one, other));
            let met = self.poll(until, |this| this.harness.running().into_iter().find(is_new))?;
            thread::sleep(draw.offset);
            return Some(met);
        }
        let holder = self.poll(until, Self::holder)?;
        if draw.moment == Moment::Ending {
            let began = self.harness.section(holder.name())?.begin;
            let due = (began + holder.invocation.job.duration).saturating_sub(BEFORE_THE_END);
            self.poll(until, |_| (clock::now() >= due).then_some(()))?;
        } else {
            self.poll(until, |this| this.harness.has_ended(holder.name()).then_some(()))?;
        }
        thread::sleep(draw.offset);
        if draw.moment == Moment::First { self.holder_after(&holder) } else { Some(holder) }
    }

    /// The contender that has begun since, or that probably does so next.
    fn holder_after(&self, earlier: &Contender) -> Option<Arc<Contender>> {
        let holder = self.holder().filter(|holder| holder.name() != earlier.name());
        let waits = |other: &Arc<Contender>| {
            other.invocation.locks.contains(&LOCK) && self.harness.section(other.name()).is_none()
        };
        let waiting = self.harness.running().into_iter().filter(waits);
        holder.or_else(|| waiting.min_by_key(|contender| contender.started))
    }

    /// Looks time and again, and heals other faults meanwhile.
    fn poll<T>(&mut self, until: Instant, look: impl Fn(&Self) -> Option<T>) -> Option<T> {
        while Instant::now() < until && self.harness.violation().is_none() {
            let seen = look(self);
            if seen.is_some() {
                return seen;
            }
            self.heal_due();
            thread::sleep(LOOK);
        }
        None
    }

    /// The leader, if there is one at the moment.
    pub(crate) fn leader(&self) -> Option<usize> {
        let is_leader = |server: &Server| server.mode().as_deref() == Some("leader");
        self.wires.servers().iter().position(is_leader)
    }

    /// The hosts whose links the fault changes: that of the contender that it meets; else one, several or all.
    fn hosts_of(&self, draw: &Draw, met: Option<&Arc<Contender>>) -> Vec<usize> {
        let one = draw.choice % HOSTS;
        let holder_host = || vec![self.holder().map_or(one, |holder| holder.invocation.host)];
        match (draw.fault, draw.choice / HOSTS % 10) {
            _ if !draw.affects_hosts() => vec![],
            _ if met.is_some() => met.map(|met| met.invocation.host).into_iter().collect(),
            // Hosts other than the holder's send most of the requests that are lost here.
            (Fault::LoseRequest | Fault::LoseAnswer, 0..4) => (0..HOSTS).collect(),
            (_, 0..4) => holder_host(),
            (_, 4..6) => vec![one],
            (_, 6..8) => (0..HOSTS).filter(|host| host % 2 == one % 2).collect(),
            _ => (0..HOSTS).collect(),
        }
    }
}
