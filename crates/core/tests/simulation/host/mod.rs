//! One zklock: its worker and monitor with the shipped state machines, its command and its host.
//!
//! | module | topic |
//! |---|---|
//! | `worker`, `monitor` | the two processes: what drives them, and the effects of their state machines |
//! | `job` | the command: starting, signalling, stopping, killing, reaping |
//! | `cleaning` | sessions that delete the nodes left by another session |
//! | `faults`, `sleep` | faults; suspending and waking the host |

mod cleaning;
mod faults;
mod job;
mod monitor;
mod sleep;
mod worker;

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::time::Duration;

use fastrand::Rng;
use zklock_core::exit::Exit;
use zklock_core::leftover_nodes::LeftoverNodes;
use zklock_core::monitor::{MonitorDriver, WorkerState};
use zklock_core::pair::{Report, Stage};
use zklock_core::path::LockPath;
use zklock_core::protocol::{Reply, ServerTime};
use zklock_core::queue::name::Family;
use zklock_core::run::{Driver, Effect, Input, Plan};
use zklock_core::time::BootTime;

use self::sleep::Sleep;
use super::command::Command;
use super::scenario::Contender;
use super::sessions::ClientId;
use super::world::World;

/// How long KILL takes at most, and how long starting a command takes at most.
const KILL_TAKES: u64 = 20_000_000;
const START_TAKES: u64 = 3_000_000;

/// How long a host takes for what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Each time as long as is drawn. Timers are late.
    Drawn,
    /// No time, but for KILL.
    Exact { kill: u64 },
}

impl Pace {
    fn start(self, rng: &mut Rng) -> u64 {
        if self == Self::Drawn { rng.u64(200_000..START_TAKES) } else { 0 }
    }

    fn kill(self, rng: &mut Rng) -> u64 {
        if self == Self::Drawn { rng.u64(0..KILL_TAKES) } else { self.longest_kill() }
    }

    fn longest_kill(self) -> u64 {
        if let Self::Exact { kill } = self { kill } else { KILL_TAKES }
    }
}

#[derive(Debug)]
pub(crate) struct Zklock {
    pub(crate) contender: Contender,
    pub(crate) worker: Worker,
    pub(crate) monitor: Watcher,
    page: Page,
    pub(crate) command: Option<Command>,
    /// The signals sent to it.
    pub(crate) signals: Vec<i32>,
    /// Its worker or monitor was killed or frozen.
    pub(crate) was_hit: bool,
    /// Its node was deleted by hand, so the lock passes on immediately.
    pub(crate) node_deleted: bool,
    /// When all processes of its command must be gone.
    pub(crate) gone_by: Option<u64>,
    /// When it must have ended after it was told to end while waiting.
    pub(crate) ends_by: Option<u64>,
    /// When it was told to end.
    pub(crate) told_to_end: Option<u64>,
    /// Its node is missing from its last list of a queue.
    pub(crate) missing: bool,
    /// Its nodes.
    pub(crate) own: Vec<String>,
    /// When its last fault ended or its current fault ends.
    pub(crate) troubled: u64,
    /// When it first could run.
    pub(crate) entitled: Option<u64>,
    sleep: Sleep,
    exit: Option<Exit>,
    begun: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Worker {
    pub(crate) driver: Option<Driver>,
    alive: bool,
    pub(crate) frozen: bool,
    inbox: VecDeque<Input>,
    /// An effect that takes time.
    unfinished: Option<Effect>,
    /// When it is no longer busy.
    busy_until: u64,
    starting: bool,
    client: Option<ClientId>,
    wake: u64,
    continued: u64,
    cleaner: Option<Cleaner>,
    /// It only cleans up, and its monitor is gone.
    alone: bool,
    stop_began: bool,
}

#[derive(Debug)]
pub(crate) struct Watcher {
    driver: MonitorDriver,
    alive: bool,
    pub(crate) frozen: bool,
    /// It was stopped along with its command, or while waiting.
    stopped: bool,
    signals: VecDeque<i32>,
    reports: VecDeque<Report>,
    wake: u64,
    ending: bool,
    cleaner: Option<Cleaner>,
}

#[derive(Debug, Default)]
struct Page {
    stage: Option<Stage>,
    deadline: Option<BootTime>,
    taken: u64,
    pending_create: Option<String>,
}

/// A session for deleting what another session left.
#[derive(Debug)]
struct Cleaner {
    client: ClientId,
    leftover: LeftoverNodes,
    answers: Vec<Reply>,
    expected: usize,
    deleting: bool,
    /// All answers so far leave no doubt.
    is_certain: bool,
}

impl Worker {
    fn woken(&mut self) {
        if let Some(driver) = &mut self.driver {
            driver.woken();
        }
    }
}

impl Zklock {
    pub(crate) fn new(contender: Contender) -> Self {
        let driver =
            MonitorDriver::new(Duration::from_nanos(contender.session_timeout), contender.once_per.is_some());
        Self {
            contender,
            worker: Worker::default(),
            monitor: Watcher {
                driver,
                alive: false,
                frozen: false,
                stopped: false,
                signals: VecDeque::new(),
                reports: VecDeque::new(),
                wake: 0,
                ending: false,
                cleaner: None,
            },
            page: Page::default(),
            command: None,
            signals: vec![],
            was_hit: false,
            node_deleted: false,
            gone_by: None,
            ends_by: None,
            told_to_end: None,
            missing: false,
            own: vec![],
            troubled: 0,
            entitled: None,
            sleep: Sleep::default(),
            exit: None,
            begun: false,
        }
    }

    /// The time on its host's clock.
    pub(crate) fn clock(&self, now: u64) -> BootTime {
        self.contender.clock.boot_time(now)
    }

    /// The simulated time at which its clock shows `moment`, at the clock's current rate.
    fn virtual_time(&self, moment: BootTime, now: u64) -> u64 {
        let left = self.clock(now).until(moment);
        now + u64::try_from(left.as_nanos()).unwrap_or(u64::MAX / 4).min(u64::MAX / 4)
    }

    /// When a timer for that moment fires.
    fn time_of(&self, moment: BootTime, now: u64) -> u64 {
        if let Pace::Exact { .. } = self.contender.pace {
            let shown = u64::try_from(moment.since_start().as_nanos()).unwrap_or(u64::MAX);
            let due = self.contender.clock.when(shown);
            // Time goes on even if a mistake makes a worker wait for a moment that has passed.
            return if due > now { due } else { now + 100_000 };
        }
        let nanos = self.virtual_time(moment, now) - now;
        // Timers may be late but are never early.
        now + nanos + nanos / 500 + 100_000
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    pub(crate) fn is_over(&self) -> bool {
        self.begun && !self.monitor.alive && !self.worker.alive
    }

    /// Whether its worker was hit while its monitor is stopped, frozen or dead.
    pub(crate) fn no_process_can_act(&self) -> bool {
        self.was_hit && (self.monitor.stopped || self.monitor.frozen || !self.monitor.alive)
    }

    /// Whether it was stopped, as by Ctrl-Z, and not continued since.
    pub(crate) fn is_stopped(&self) -> bool {
        self.monitor.stopped
    }

    /// Whether it is giving up or releasing its locks.
    pub(crate) fn is_leaving(&self) -> bool {
        self.worker.driver.as_ref().is_some_and(|driver| driver.run().is_leaving())
    }

    pub(crate) fn main_session(&self) -> Option<ClientId> {
        self.worker.client
    }

    /// Whether its worker is alive.
    pub(crate) fn works(&self) -> bool {
        self.worker.alive
    }

    /// Whether the command may have been started, as far as the monitor can know.
    pub(crate) fn was_starting(&self) -> bool {
        self.worker.starting
    }

    /// How it has ended.
    pub(crate) fn exit(&self) -> Option<Exit> {
        self.exit
    }

    fn worker_was_killed(&self) -> bool {
        self.worker.frozen
    }

    fn worker_state(&self) -> WorkerState {
        WorkerState {
            stage: self.page.stage.unwrap_or(Stage::Waiting),
            deadline: self.page.deadline,
            taken: self.page.taken,
        }
    }

    fn plan(&self, now: u64) -> Plan {
        let contender = &self.contender;
        let began = self.clock(now);
        let locks = contender.locks.iter().map(|path| LockPath::parse(OsStr::new(path)).unwrap());
        let by_default = (Duration::from_secs(10), "--connect-timeout");
        let (connect_timeout, connect_option) = contender.wait.map_or(by_default, |wait| (wait, "-w"));
        Plan {
            give_up_at: contender.wait.map(|wait| began + wait),
            connect_timeout,
            connect_option,
            nonblock: contender.nonblock,
            once_per: contender.once_per,
            single_child: contender.single_child,
            kill_after: contender.kill_after,
            progress: contender.progress,
            outer: vec![],
            held: vec![],
            locks: locks.collect(),
            mode: contender.mode,
            family: Family::Curator,
            hosts: "zk:2181".to_owned(),
            chroot: String::new(),
            has_credentials: false,
            began,
            began_at: ServerTime(0),
            conflict_exit_code: 124,
            session_timeout: Duration::from_nanos(contender.session_timeout),
            signal: 15,
            has_terminal: false,
            command: "job".to_owned(),
            shows_line: false,
            notifies: contender.progress.is_some(),
        }
    }
}

/// Whether a zklock runs at a terminal.
fn has_terminal(index: usize) -> bool {
    index.is_multiple_of(2)
}

impl World {
    pub(crate) fn start(&mut self, index: usize) {
        let now = self.now;
        self.trace.print(now, || format!("zklock {index} begins"));
        let zklock = &mut self.zklocks[index];
        let plan = Plan { has_terminal: has_terminal(index), ..zklock.plan(now) };
        zklock.contender.starts = now;
        zklock.begun = true;
        zklock.monitor.alive = true;
        zklock.worker.alive = true;
        zklock.worker.driver = Some(Driver::begin(plan, zklock.clock(now)));
        self.work(index);
        self.watch(index);
    }

    pub(crate) fn nodes_of(&self, index: usize) -> Vec<String> {
        let zklock = &self.zklocks[index];
        let owned = self.session_of(index).map_or(vec![], |session| self.ensemble.owned(session));
        let is_below = |node: &String, lock| node.rsplit_once('/').is_some_and(|(parent, _)| parent == lock);
        let locks = zklock.contender.locks.iter();
        locks.flat_map(|lock| owned.iter().filter(move |node| is_below(node, *lock))).cloned().collect()
    }
}
