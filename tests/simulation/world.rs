//! Time, and what happens next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fastrand::Rng;
use zklock::core::protocol::{Asker, Reply, SessionChange, SessionKey};
use zklock::core::run::Input;
use zklock::core::time::BootTime;

use super::checks::Checks;
use super::host::Zklock;
use super::line::{Client, ClientId, Down, Up};
use super::scenario::{Fault, Scenario};
use super::server::{Connection, Server};
use super::story::Story;

/// Whose a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The worker's main session.
    Worker(usize),
    /// The worker's, to clean up with.
    WorkersCleaner(usize),
    /// The monitor's, to clean up with.
    MonitorsCleaner(usize),
}

impl Whose {
    pub(crate) fn zklock(self) -> usize {
        match self {
            Self::Worker(index) | Self::WorkersCleaner(index) | Self::MonitorsCleaner(index) => index,
        }
    }
}

#[derive(Debug)]
pub(crate) enum Event {
    Start(usize),
    WakeWorker(usize, u64),
    WakeMonitor(usize, u64),
    /// A process of the command ends about now.
    Command(usize),
    Up(ClientId, Connection, Up),
    Down(ClientId, Connection, Down),
    CheckLine(ClientId),
    Retry(ClientId),
    Expiry,
    Fault(usize),
    Heal(usize),
    Thaw(usize, bool),
}

/// In the queue: by time, and of one time by the order in which they were put there.
struct Due(u64, u64, Event);

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

pub(crate) struct World {
    pub(crate) now: u64,
    queue: BinaryHeap<Reverse<Due>>,
    count: u64,
    pub(crate) rng: Rng,
    pub(crate) scenario: Scenario,
    pub(crate) server: Server,
    pub(crate) connections: Connection,
    pub(crate) clients: Vec<Client>,
    pub(crate) zklocks: Vec<Zklock>,
    pub(crate) story: Story,
    pub(crate) checks: Checks,
    pub(crate) requests: u64,
    expiry_at: u64,
}

impl World {
    pub(crate) fn new(scenario: Scenario, tells: bool) -> Self {
        let mut world = Self {
            now: 1_000_000_000,
            queue: BinaryHeap::new(),
            count: 0,
            rng: Rng::with_seed(scenario.seed ^ 0x5bd1_e995),
            server: Server::new(scenario.tick),
            connections: 0,
            clients: vec![],
            zklocks: scenario.contenders.iter().map(|contender| Zklock::new(contender.clone())).collect(),
            story: Story::new(tells),
            checks: Checks::default(),
            requests: 0,
            expiry_at: u64::MAX,
            scenario,
        };
        for index in 0..world.zklocks.len() {
            world.at(world.zklocks[index].contender.starts, Event::Start(index));
        }
        for index in 0..world.scenario.faults.len() {
            world.at(world.scenario.faults[index].at, Event::Fault(index));
        }
        world
    }

    pub(crate) fn commands(&self) -> u64 {
        self.zklocks.iter().filter(|zklock| zklock.command.is_some()).count() as u64
    }

    /// Lets everything happen. An error says what must not be.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        let limit = self.scenario.limit();
        while let Some(Reverse(Due(at, _, event))) = self.queue.pop() {
            if at > limit {
                break;
            }
            self.now = at;
            self.happens(event);
            self.expect_expiry();
            if let Some(violation) = self.checks.violation.take() {
                return Err(violation);
            }
            if self.zklocks.iter().all(Zklock::is_over) && self.now > self.scenario.settled() {
                break;
            }
        }
        self.check_the_end()
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Start(index) => self.start(index),
            Event::WakeWorker(index, which) => self.wake_worker(index, which),
            Event::WakeMonitor(index, which) => self.wake_monitor(index, which),
            Event::Command(index) => self.command_moves(index),
            Event::Up(id, connection, up) => self.arrives_up(id, connection, up),
            Event::Down(id, connection, down) => self.arrives_down(id, connection, down),
            Event::CheckLine(id) => self.check_line(id),
            Event::Retry(id) => self.retry(id),
            Event::Expiry => {
                self.expiry_at = u64::MAX;
                let (over, fired) = self.server.expire(self.now);
                for session in over {
                    self.story.tell(self.now, || format!("session {session} expires"));
                }
                self.fire(fired);
                let fired = self.server.reap_containers();
                self.fire(fired);
            }
            Event::Fault(index) => self.strike(index),
            Event::Heal(index) => {
                self.zklocks[index].cut = false;
                self.story.tell(self.now, || format!("zklock {index}: its line is whole again"));
                self.flows_again(index);
            }
            Event::Thaw(index, worker) => self.thaw(index, worker),
        }
    }

    fn expect_expiry(&mut self) {
        if let Some(next) = self.server.next_expiry()
            && next < self.expiry_at
        {
            self.expiry_at = next;
            self.at(next, Event::Expiry);
        }
    }

    pub(crate) fn at(&mut self, time: u64, event: Event) {
        self.count += 1;
        self.queue.push(Reverse(Due(time.max(self.now), self.count, event)));
    }

    pub(crate) fn after(&mut self, span: u64, event: Event) {
        self.at(self.now + span, event);
    }

    /// How long a message takes now.
    pub(crate) fn delay(&mut self, whose: Whose) -> u64 {
        let usual = self.zklocks[whose.zklock()].contender.line;
        self.rng.u64(usual / 2..=usual)
    }

    pub(crate) fn is_cut(&self, whose: Whose) -> bool {
        self.zklocks[whose.zklock()].cut
    }

    pub(crate) fn is_frozen(&self, whose: Whose) -> bool {
        let zklock = &self.zklocks[whose.zklock()];
        match whose {
            Whose::MonitorsCleaner(_) => zklock.monitor.frozen,
            Whose::Worker(_) | Whose::WorkersCleaner(_) => zklock.worker.frozen,
        }
    }

    /// The moment on a zklock's clock.
    pub(crate) fn clock_of(&self, whose: Whose) -> BootTime {
        self.zklocks[whose.zklock()].clock(self.now)
    }

    pub(crate) fn hears_of_session(&mut self, whose: Whose, key: SessionKey, change: SessionChange) {
        match whose {
            Whose::Worker(index) => self.to_worker(index, Input::Session(key, change)),
            Whose::WorkersCleaner(_) | Whose::MonitorsCleaner(_) => self.cleaner_hears(whose, &change),
        }
    }

    pub(crate) fn hears_reply(&mut self, whose: Whose, key: SessionKey, asker: Asker, reply: Reply) {
        match whose {
            Whose::Worker(index) => self.to_worker(index, Input::Reply(key, asker, reply)),
            Whose::WorkersCleaner(_) | Whose::MonitorsCleaner(_) => {
                self.cleaner_is_answered(whose, asker, reply)
            }
        }
    }

    fn strike(&mut self, index: usize) {
        let Fault { who, blow, lasts, .. } = self.scenario.faults[index].clone();
        if self.zklocks[who].is_over() || !self.zklocks[who].has_begun() {
            return;
        }
        self.story.tell(self.now, || format!("zklock {who}: {blow:?}"));
        self.blow(who, blow, lasts);
    }
}
