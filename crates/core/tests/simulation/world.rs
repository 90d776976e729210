//! The simulated time and the queue of events.

use fastrand::Rng;
use zklock_core::protocol::{Asker, Reply, SessionChange, SessionKey};
use zklock_core::run::Input;

use super::bounds::LOOK_EVERY;
use super::checks::Checks;
use super::ensemble::explore::Upcoming;
use super::ensemble::queue::Queue;
use super::ensemble::{Config, Direction, Ensemble};
use super::fault::{Fault, Target};
use super::host::Zklock;
use super::scenario::{PlannedFault, Scenario};
use super::sessions::{ClientId, OwnedSession};
use super::trace::Trace;

/// The owner and purpose of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionOwner {
    /// The worker's main session.
    Worker(usize),
    /// The worker's session for cleaning up.
    WorkersCleaner(usize),
    /// The monitor's session for cleaning up.
    MonitorsCleaner(usize),
    /// The session of an operator who inspects and changes locks by hand.
    Operator,
}

impl SessionOwner {
    pub(crate) fn zklock(self) -> usize {
        match self {
            Self::Worker(index) | Self::WorkersCleaner(index) | Self::MonitorsCleaner(index) => index,
            Self::Operator => usize::MAX,
        }
    }

    pub(crate) fn is_of(self, index: usize) -> bool {
        self != Self::Operator && self.zklock() == index
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    Start(usize),
    WakeWorker(usize, u64),
    WakeMonitor(usize, u64),
    /// A process of the command ends about now.
    Command(usize),
    Fault(usize),
    Heal(usize),
    Thaw(usize, bool),
    /// The host of a zklock wakes up. `Resumed` follows once zklock has had a moment to handle its processes.
    Resume(usize),
    Resumed,
    /// A server recovers.
    HealServer(usize),
    /// Time to check that every zklock runs as soon as it can.
    Look,
}

pub(crate) struct World {
    pub(crate) now: u64,
    queue: Queue<Event>,
    pub(crate) rng: Rng,
    pub(crate) scenario: Scenario,
    pub(crate) ensemble: Ensemble,
    pub(crate) sessions: Vec<OwnedSession>,
    /// Clients that may have something to report.
    pub(crate) dirty: Vec<ClientId>,
    pub(crate) operator: Option<ClientId>,
    pub(crate) zklocks: Vec<Zklock>,
    pub(crate) trace: Trace,
    pub(crate) checks: Checks,
    /// When a server last had a fault.
    pub(crate) calm_since: u64,
}

impl World {
    pub(crate) fn new(scenario: Scenario, prints: bool) -> Self {
        let config = Config {
            version: [3, if scenario.seed.is_multiple_of(2) { 8 } else { 9 }],
            zones: scenario.contenders.len() + 1,
            tick: u64::try_from(scenario.tick.as_nanos()).unwrap(),
            container_check: 5_000_000_000,
            ..Config::new(scenario.servers, scenario.seed)
        };
        Self::with(config, scenario, prints)
    }

    /// A world whose servers are as configured.
    pub(crate) fn with(config: Config, scenario: Scenario, prints: bool) -> Self {
        let mut world = Self {
            now: 0,
            queue: Queue::default(),
            rng: Rng::with_seed(scenario.seed ^ 0x5bd1_e995),
            ensemble: Ensemble::new(config),
            sessions: vec![],
            dirty: vec![],
            operator: None,
            zklocks: scenario.contenders.iter().map(|contender| Zklock::new(contender.clone())).collect(),
            trace: Trace::new(prints),
            checks: Checks::default(),
            calm_since: 0,
            scenario,
        };
        for index in 0..world.zklocks.len() {
            let delay = world.zklocks[index].contender.line;
            for server in 0..world.scenario.servers {
                world.ensemble.delay_link(index, server, Direction::ToServer, delay);
                world.ensemble.delay_link(index, server, Direction::ToClient, delay);
            }
        }
        world
    }

    pub(crate) fn commands(&self) -> u64 {
        self.zklocks.iter().filter(|zklock| zklock.command.is_some()).count() as u64
    }

    /// Runs the whole scenario. Returns the first violation as an error.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        let limit = self.scenario.limit();
        for index in 0..self.zklocks.len() {
            self.at(self.zklocks[index].contender.starts, Event::Start(index));
        }
        for index in 0..self.scenario.faults.len() {
            self.at(self.scenario.faults[index].at, Event::Fault(index));
        }
        self.at(LOOK_EVERY, Event::Look);
        self.open_operator();
        while self.now <= limit {
            if !self.step() {
                continue;
            }
            if let Some(violation) = self.checks.violation.take() {
                return Err(violation);
            }
            if self.zklocks.iter().all(Zklock::is_over)
                && (self.now > self.scenario.settled() || self.is_all_released())
            {
                break;
            }
        }
        self.check_the_end()
    }

    /// Lets all servers get ready.
    pub(crate) fn await_servers(&mut self) {
        while !self.ensemble.is_whole() {
            self.step();
        }
    }

    /// When the next event is due, and what it concerns.
    pub(crate) fn upcoming(&mut self) -> (u64, Upcoming) {
        let (due, what) = self.ensemble.upcoming().unwrap_or((u64::MAX, Upcoming::Other));
        match self.queue.due() {
            Some(own) if own < due => (own, Upcoming::Host),
            _ => (due, what),
        }
    }

    /// Processes the next event. What arrives comes before what a host does at the same time. Returns whether it reached
    /// a host.
    pub(crate) fn step(&mut self) -> bool {
        let (due, what) = self.upcoming();
        self.now = self.now.max(due);
        if what == Upcoming::Host {
            self.ensemble.pass(due);
            if let Some((_, event)) = self.queue.pop() {
                self.happens(event);
                self.hear_news();
            }
            return true;
        }
        let Some(output) = self.ensemble.step() else { return false };
        self.comes_out(output);
        true
    }

    /// Processes everything that is due until then.
    pub(crate) fn pass(&mut self, end: u64) {
        while self.upcoming().0 <= end {
            self.step();
        }
        self.now = end;
        self.ensemble.pass(end);
    }

    fn happens(&mut self, event: Event) {
        if self.is_put_off(event) {
            return;
        }
        match event {
            Event::Start(index) => self.start(index),
            Event::WakeWorker(index, which) => self.wake_worker(index, which),
            Event::WakeMonitor(index, which) => self.wake_monitor(index, which),
            Event::Command(index) => self.command_moves(index),
            Event::Fault(index) => self.strike(self.scenario.faults[index].clone()),
            Event::Heal(index) => {
                self.zklocks[index].troubled = self.now;
                self.trace.print(self.now, || format!("zklock {index}: its line is whole again"));
                self.set_cut(index, &[Direction::ToServer, Direction::ToClient], false);
            }
            Event::Thaw(index, worker) => self.thaw(index, worker),
            Event::Resume(index) => self.resume(index),
            Event::Resumed => self.commands_are_alive(),
            Event::HealServer(server) => {
                self.trace.print(self.now, || format!("server {server} is well again"));
                self.ensemble.restart(server);
                self.ensemble.thaw(server);
                self.ensemble.set_isolated(server, false);
                self.ensemble.set_lag(server, 0);
                self.calm_since = self.now;
            }
            Event::Look => self.check_what_runs(),
        }
    }

    pub(crate) fn at(&mut self, time: u64, event: Event) {
        self.queue.add(time.max(self.now), event);
    }

    pub(crate) fn after(&mut self, span: u64, event: Event) {
        self.at(self.now + span, event);
    }

    pub(crate) fn is_frozen(&self, owner: SessionOwner) -> bool {
        match owner {
            SessionOwner::Operator => false,
            owner if self.zklocks[owner.zklock()].is_asleep() => true,
            SessionOwner::MonitorsCleaner(index) => self.zklocks[index].monitor.frozen,
            SessionOwner::Worker(index) | SessionOwner::WorkersCleaner(index) => {
                self.zklocks[index].worker.frozen
            }
        }
    }

    pub(crate) fn hears_of_session(&mut self, owner: SessionOwner, key: SessionKey, change: SessionChange) {
        match owner {
            SessionOwner::Worker(index) => self.tell_worker(index, Input::Session(key, change)),
            SessionOwner::WorkersCleaner(_) | SessionOwner::MonitorsCleaner(_) => {
                self.cleaner_hears(owner, &change);
            }
            SessionOwner::Operator => {}
        }
    }

    pub(crate) fn hears_reply(&mut self, owner: SessionOwner, key: SessionKey, asker: Asker, reply: Reply) {
        match owner {
            SessionOwner::Worker(index) => self.tell_worker(index, Input::Reply(key, asker, reply)),
            SessionOwner::Operator => {}
            SessionOwner::WorkersCleaner(_) | SessionOwner::MonitorsCleaner(_) => {
                self.cleaner_is_answered(owner, asker, reply);
            }
        }
    }

    /// Lets a fault happen now that the scenario didn't plan.
    pub(crate) fn inflict(&mut self, who: usize, fault: Fault, lasts: u64) {
        let planned = PlannedFault { at: self.now, who, fault, lasts };
        self.scenario.faults.push(planned.clone());
        self.strike(planned);
    }

    fn strike(&mut self, PlannedFault { who, fault, lasts, .. }: PlannedFault) {
        if fault.target() == Target::Servers {
            let server = who % self.scenario.servers;
            self.trace.print(self.now, || format!("server {server}: {fault}"));
            self.apply_server_fault(server, fault);
            self.calm_since = self.now + lasts;
            return self.after(lasts, Event::HealServer(server));
        }
        let zklock = &self.zklocks[who];
        if zklock.is_over() || !zklock.has_begun() || zklock.is_asleep() && fault.is_local() {
            return;
        }
        self.trace.print(self.now, || format!("zklock {who}: {fault}"));
        self.zklocks[who].troubled = self.zklocks[who].troubled.max(self.now + lasts);
        self.apply_fault(who, fault, lasts);
    }
}
