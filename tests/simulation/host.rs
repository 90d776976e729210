//! One zklock: its worker and its monitor with the shipped machines, its command, and its host.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::time::Duration;

use zklock::core::exit::{Exit, FAILURE};
use zklock::core::lock::contender::Ids;
use zklock::core::lock::name::Family;
use zklock::core::lock::record::Record;
use zklock::core::monitor::{self, Death, Monitor, Shown};
use zklock::core::pair::{Deadline, Report, Stage};
use zklock::core::path::LockPath;
use zklock::core::protocol::{Asker, Failure, Reply, Request, SessionChange, SessionKey};
use zklock::core::run::{Effect, End, Input, Introduction, KillRound, LeaderChange, Plan, Remains, Run};
use zklock::core::signal::{SIGCONT, SIGKILL, SIGSTOP, SIGTSTP, SIGUSR1, ends_waiting};
use zklock::core::supervisor::{Action, Foreground};
use zklock::core::time::BootTime;

use super::command::Command;
use super::ensemble::Way;
use super::scenario::{Blow, Contender, ServerTrouble};
use super::sessions::ClientId;
use super::world::{Event, Whose, World};

/// What KILL takes at most, and what starting a command takes.
const KILL_TAKES: u64 = 20_000_000;
const START_TAKES: u64 = 3_000_000;

#[derive(Debug)]
pub(crate) struct Zklock {
    pub(crate) contender: Contender,
    pub(crate) worker: Worker,
    pub(crate) monitor: Watcher,
    page: Page,
    pub(crate) command: Option<Command>,
    /// Signals that were sent to it.
    pub(crate) signals: Vec<i32>,
    /// One of its processes was killed or frozen.
    pub(crate) was_hit: bool,
    /// Somebody has deleted its node: the lock passes on at once.
    pub(crate) node_deleted: bool,
    /// From then on no process of its command may run.
    pub(crate) gone_by: Option<u64>,
    /// It was told to end while it waited, and has to by then.
    pub(crate) ends_by: Option<u64>,
    exit: Option<Exit>,
    begun: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Worker {
    pub(crate) run: Option<Run>,
    alive: bool,
    pub(crate) frozen: bool,
    inbox: VecDeque<Input>,
    effects: VecDeque<Effect>,
    answers: VecDeque<Input>,
    looked: bool,
    /// It does something until then.
    busy_until: u64,
    starting: bool,
    client: Option<ClientId>,
    wake: u64,
    continued: u64,
    cleaner: Option<Cleaner>,
    /// It only cleans up, without its monitor.
    alone: bool,
    kill_began: bool,
}

#[derive(Debug)]
pub(crate) struct Watcher {
    machine: Monitor,
    alive: bool,
    pub(crate) frozen: bool,
    /// It stopped as its command did, or as a waiter does.
    stopped: bool,
    signals: VecDeque<i32>,
    reports: VecDeque<Report>,
    wake: u64,
    worker_reaped: bool,
    ending: bool,
    cleaner: Option<Cleaner>,
}

#[derive(Debug, Default)]
struct Page {
    stage: Option<Stage>,
    deadline: Option<Deadline>,
    taken: u64,
    entering: Option<String>,
}

/// A session to delete with what another left.
#[derive(Debug)]
struct Cleaner {
    client: ClientId,
    remains: Remains,
    answers: Vec<Reply>,
    expected: usize,
    deleting: bool,
}

impl Zklock {
    pub(crate) fn new(contender: Contender) -> Self {
        let machine = Monitor::new(Duration::from_nanos(contender.session_timeout));
        Self {
            contender,
            worker: Worker::default(),
            monitor: Watcher {
                machine,
                alive: false,
                frozen: false,
                stopped: false,
                signals: VecDeque::new(),
                reports: VecDeque::new(),
                wake: 0,
                worker_reaped: false,
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
            exit: None,
            begun: false,
        }
    }

    /// The moment on its host's clock.
    pub(crate) fn clock(&self, now: u64) -> BootTime {
        self.contender.clock.boot_time(now)
    }

    /// The simulated time at which its clock shows that.
    fn time_of(&self, moment: BootTime, now: u64) -> u64 {
        let left = self.clock(now).until(moment);
        let nanos = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX / 4).min(u64::MAX / 4);
        // Timers are late and never early.
        now + nanos + nanos / 500 + 100_000
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    pub(crate) fn is_over(&self) -> bool {
        self.begun && !self.monitor.alive && !self.worker.alive
    }

    /// Whether its worker was hit while its monitor is stopped, frozen or dead.
    pub(crate) fn nobody_can_act(&self) -> bool {
        self.was_hit && (self.monitor.stopped || self.monitor.frozen || !self.monitor.alive)
    }

    /// Whether it stopped, as by Ctrl-Z, and nobody has had it go on.
    pub(crate) fn is_stopped(&self) -> bool {
        self.monitor.stopped
    }

    /// Whether its worker is there.
    pub(crate) fn works(&self) -> bool {
        self.worker.alive
    }

    /// Whether the command may have been started, as far as the monitor can know.
    pub(crate) fn was_starting(&self) -> bool {
        self.worker.starting
    }

    fn shown(&self) -> Shown {
        Shown {
            stage: self.page.stage.unwrap_or(Stage::Waiting),
            deadline: self.page.deadline.map(|deadline| deadline.act),
            taken: self.page.taken,
        }
    }

    fn plan(&self, now: u64) -> Plan {
        let contender = &self.contender;
        let path = |path: &&str| LockPath::parse(OsStr::new(path)).unwrap();
        let locks: Vec<LockPath> = contender.locks.iter().map(path).collect();
        let began = self.clock(now);
        Plan {
            first: locks[0].clone(),
            locks,
            mode: contender.mode,
            family: Family::Curator,
            hosts: "zk:2181".to_owned(),
            chroot: String::new(),
            has_credentials: false,
            began,
            give_up_at: contender.wait.map(|wait| began + wait),
            connect_timeout: Duration::from_secs(10),
            nonblock: contender.nonblock,
            conflict_exit_code: 124,
            once_per: contender.once_per.filter(|_| contender.locks.len() == 1),
            terminates: contender.terminates,
            kill_after: contender.kill_after,
            command: "job".to_owned(),
            shows_line: false,
            progress: Some(Duration::from_secs(2)),
            outer: vec![],
        }
    }
}

impl World {
    pub(crate) fn start(&mut self, index: usize) {
        let now = self.now;
        self.story.tell(now, || format!("zklock {index} begins"));
        let zklock = &mut self.zklocks[index];
        zklock.begun = true;
        (zklock.worker.alive, zklock.monitor.alive) = (true, true);
        let mut run = Run::new(zklock.plan(now));
        let effects = run.begin(zklock.clock(now));
        zklock.worker.effects.extend(effects);
        zklock.worker.run = Some(run);
        self.work(index);
        self.watch(index);
    }

    pub(crate) fn tell_worker(&mut self, index: usize, input: Input) {
        let worker = &mut self.zklocks[index].worker;
        if worker.alive {
            worker.inbox.push_back(input);
            self.work(index);
        }
    }

    pub(crate) fn wake_worker(&mut self, index: usize, which: u64) {
        let worker = &mut self.zklocks[index].worker;
        if worker.wake == which {
            worker.looked = false;
            self.work(index);
        }
    }

    /// The worker's loop, up to where it would wait.
    fn work(&mut self, index: usize) {
        loop {
            let worker = &mut self.zklocks[index].worker;
            if !worker.alive || worker.frozen || worker.alone || worker.run.is_none() {
                return;
            }
            if worker.busy_until > self.now {
                let until = worker.busy_until;
                return self.wake_worker_at(index, until);
            }
            if let Some(effect) = worker.effects.pop_front() {
                self.carry_out(index, effect);
                continue;
            }
            let input = match worker.answers.pop_front().or_else(|| worker.inbox.pop_front()) {
                Some(input) => input,
                None if !worker.looked => Input::Tick,
                None => break,
            };
            if let Input::Signal(signal) = input {
                if signal == SIGCONT {
                    worker.continued += 1;
                }
                self.zklocks[index].page.taken += 1;
            }
            let worker = &mut self.zklocks[index].worker;
            worker.looked = matches!(input, Input::Tick)
                || worker.looked && matches!(input, Input::KillRound(_) | Input::Children { .. });
            let now = self.zklocks[index].clock(self.now);
            let run = self.zklocks[index].worker.run.as_mut().unwrap();
            let effects = run.on(now, input);
            self.zklocks[index].worker.effects.extend(effects);
        }
        let zklock = &self.zklocks[index];
        let wake = zklock.worker.run.as_ref().and_then(|run| run.wake_at(zklock.clock(self.now)));
        if let Some(wake) = wake {
            let at = zklock.time_of(wake, self.now);
            self.wake_worker_at(index, at);
        }
    }

    fn wake_worker_at(&mut self, index: usize, at: u64) {
        let worker = &mut self.zklocks[index].worker;
        worker.wake += 1;
        let which = worker.wake;
        self.at(at, Event::WakeWorker(index, which));
    }

    fn answer_worker(&mut self, index: usize, input: Input) {
        self.zklocks[index].worker.answers.push_back(input);
    }

    #[allow(clippy::too_many_lines, reason = "one arm for each effect")]
    fn carry_out(&mut self, index: usize, effect: Effect) {
        match effect {
            Effect::Connect { key, deadline } => {
                let zklock = &self.zklocks[index];
                let nanos = |deadline: BootTime| u64::try_from(deadline.since_start().as_nanos()).unwrap();
                let deadline = deadline.map(nanos);
                let wanted = zklock.contender.session_timeout;
                let client = self.open(Whose::Worker(index), key, wanted, deadline);
                self.zklocks[index].worker.client = Some(client);
            }
            Effect::Introduce => {
                let introduction = self.introduction(index);
                self.answer_worker(index, Input::Introduced(introduction));
            }
            Effect::FindAncestors => self.answer_worker(index, Input::Ancestors(vec![])),
            Effect::Ask(asker, request) => {
                if let Some(client) = self.zklocks[index].worker.client {
                    self.ask(client, asker, request);
                }
            }
            Effect::Release(nodes) => {
                if let Some(client) = self.zklocks[index].worker.client {
                    self.release(client, nodes);
                }
            }
            Effect::Clean(remains) => self.begin_cleaning(Whose::WorkersCleaner(index), remains),
            Effect::Enter(path) => self.zklocks[index].page.entering = Some(path),
            Effect::Own { session_timeout, nodes } => {
                let session_timeout = u64::try_from(session_timeout.as_millis()).unwrap_or(u64::MAX);
                self.report(index, Report::Nodes { session_timeout, nodes });
                self.zklocks[index].page.entering = None;
            }
            Effect::StartCommand { variables, latest, deadline } => {
                self.start_command(index, variables, latest, deadline);
            }
            Effect::Job(action) => self.act_on_command(index, action),
            Effect::LookAtChildren { all } => self.look_at_children(index, all),
            Effect::Kill { .. } => self.kill_round(index),
            // Nothing that a simulated host would show.
            Effect::LookUp(_)
            | Effect::TakeTerminal
            | Effect::Line(_)
            | Effect::AwaitLastWords(_)
            | Effect::LetGoOfCaller => {}
            Effect::StopWithCommand(signal) => self.tell_to_stop(index, signal),
            Effect::StopWaiting => self.tell_to_stop(index, SIGTSTP),
            Effect::SetDeadline(deadline) => self.set_deadline(index, deadline),
            Effect::CommandIsOver(exit, within) => {
                self.report(index, Report::Exit(exit));
                let zklock = &mut self.zklocks[index];
                zklock.page.stage = Some(Stage::Over);
                let end = zklock.clock(self.now) + within;
                self.set_deadline(index, Some(Deadline { act: end, latest: end }));
            }
            Effect::Say(path, message) => {
                self.story.tell(self.now, || format!("zklock {index} says: {path}: {message}"));
            }
            Effect::AwaitWords(limit) => {
                // Now and then nobody reads in time.
                if self.rng.u8(0..10) == 0 {
                    let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX).min(500_000_000);
                    let takes = self.rng.u64(0..=limit);
                    self.zklocks[index].worker.busy_until = self.now + takes;
                }
                self.answer_worker(index, Input::WordsWritten);
            }
            Effect::Finish(end) => self.finish(index, end),
        }
    }

    fn introduction(&mut self, index: usize) -> Introduction {
        let contender = &self.zklocks[index].contender;
        let record = Record {
            version: 1,
            host: format!("host{index}"),
            pid: u32::try_from(1_000 + index).unwrap(),
            user: "ada".to_owned(),
            program: "job".to_owned(),
            label: None,
            mode: contender.mode.word().to_owned(),
            slots: contender.mode.slots(),
            has_slot: false,
            stopped: false,
            held_after_ms: None,
            process: None,
            revoked_by: None,
        };
        let ids = contender.locks.iter().map(|_| Ids(self.rng.u128(..))).collect();
        Introduction { record, ids }
    }

    fn start_command(
        &mut self,
        index: usize,
        variables: Vec<(String, String)>,
        latest: Option<BootTime>,
        deadline: Option<Deadline>,
    ) {
        if !self.zklocks[index].worker.starting {
            self.zklocks[index].worker.starting = true;
            self.zklocks[index].page.stage = Some(Stage::Running);
            self.set_deadline(index, deadline);
            let takes = self.rng.u64(200_000..START_TAKES);
            let worker = &mut self.zklocks[index].worker;
            worker.busy_until = self.now + takes;
            return worker.effects.push_front(Effect::StartCommand { variables, latest, deadline });
        }
        let zklock = &mut self.zklocks[index];
        if latest.is_some_and(|latest| zklock.clock(self.now) >= latest) {
            return self.answer_worker(index, Input::Started(Err((FAILURE, "too late".to_owned()))));
        }
        let token = variables.iter().find(|(name, _)| name == "ZKLOCK_FENCING_TOKEN");
        let token = token.and_then(|(_, token)| token.parse().ok()).unwrap_or_default();
        self.check_start(index, token);
        let command = Command::start(&self.zklocks[index].contender.command, self.now);
        self.story.tell(self.now, || format!("zklock {index} starts its command, token {token}"));
        self.zklocks[index].command = Some(command);
        self.expect_command(index);
        self.answer_worker(index, Input::Started(Ok(())));
    }

    fn expect_command(&mut self, index: usize) {
        if let Some(end) = self.zklocks[index].command.as_ref().and_then(Command::next_end) {
            self.at(end, Event::Command(index));
        }
    }

    /// Processes of the command whose time has come end.
    pub(crate) fn command_moves(&mut self, index: usize) {
        let now = self.now;
        if self.zklocks[index].command.is_none() {
            return;
        }
        let mut changed = false;
        let gone_by = self.zklocks[index].gone_by;
        let command = self.zklocks[index].command.as_mut().unwrap();
        for (number, process) in command.processes.iter_mut().enumerate() {
            if !process.dead && process.stopped.is_none() && process.ends <= now {
                if gone_by.is_some_and(|by| by < now) && !command.ended_by_itself {
                    self.checks
                        .violated(|| format!("the command of zklock {index} runs on, and should be gone"));
                }
                process.dead = true;
                changed = true;
                if number == 0 {
                    self.story
                        .tell(now, || format!("the command of zklock {index} ends: {:?}", process.exit));
                }
            }
        }
        if changed {
            self.tell_worker(index, Input::Child);
        }
        self.expect_command(index);
    }

    fn act_on_command(&mut self, index: usize, action: Action) {
        self.story.tell(self.now, || format!("zklock {index}: {action:?}"));
        match action {
            Action::SignalGroup(signal) => self.signal_command(index, signal, false),
            Action::SignalAll(signal) => {
                self.zklocks[index].worker.kill_began = true;
                self.signal_command(index, signal, true);
            }
            Action::Resume => self.signal_command(index, SIGCONT, false),
            Action::GiveTerminal | Action::Suspend(_) | Action::Kill => {}
            Action::Reap => {
                let worker_forces = self.zklocks[index].worker.kill_began;
                let command = self.zklocks[index].command.as_mut().unwrap();
                command.reaped = true;
                command.ended_by_itself = !worker_forces;
                let exit = command.leader().exit;
                self.answer_worker(index, Input::Reaped(Some(exit)));
            }
        }
    }

    fn signal_command(&mut self, index: usize, signal: i32, all: bool) {
        let now = self.now;
        if signal == SIGCONT && self.zklocks[index].contender.terminates && !self.zklocks[index].node_deleted
        {
            self.check_nobody_else(index);
        }
        let Some(command) = &mut self.zklocks[index].command else { return };
        let mut leader_stopped = false;
        for (number, process) in command.processes.iter_mut().enumerate() {
            if process.dead || !all && !process.in_group {
                continue;
            }
            match signal {
                SIGTSTP | SIGSTOP => {
                    process.stopped.get_or_insert(now);
                    leader_stopped |= number == 0;
                }
                SIGCONT => {
                    if let Some(since) = process.stopped.take() {
                        process.ends = process.ends.saturating_add(now - since);
                    }
                }
                SIGKILL => {}
                signal => {
                    let ends = process.obeys.filter(|_| signal != SIGUSR1);
                    if let Some(ends) = ends.map(|after| now + after).filter(|ends| *ends < process.ends) {
                        process.ends = ends;
                        process.exit = Exit::Signal(signal);
                    }
                }
            }
        }
        if leader_stopped && !command.stop_told {
            command.stop_told = true;
            self.zklocks[index].worker.inbox.push_back(Input::Child);
        }
        self.expect_command(index);
    }

    fn look_at_children(&mut self, index: usize, all: bool) {
        let Some(command) = &mut self.zklocks[index].command else { return };
        let stopped = std::mem::take(&mut command.stop_told) && command.leader().stopped.is_some();
        let leader = if command.leader().dead {
            Some(LeaderChange::Died)
        } else if stopped {
            Some(LeaderChange::Stopped { signal: SIGTSTP, terminal: Foreground::Job })
        } else {
            None
        };
        let none_left = all && command.none_left();
        self.answer_worker(index, Input::Children { leader, none_left });
    }

    fn kill_round(&mut self, index: usize) {
        self.zklocks[index].worker.kill_began = true;
        self.kill_command(index);
        let zklock = &self.zklocks[index];
        let gone = zklock.command.as_ref().is_none_or(Command::none_left);
        let next = (!gone).then(|| zklock.clock(self.now) + Duration::from_millis(5));
        self.answer_worker(index, Input::KillRound(KillRound { gone, next, stuck: false, left: vec![] }));
    }

    fn kill_command(&mut self, index: usize) {
        let now = self.now;
        let Some(command) = &mut self.zklocks[index].command else { return };
        for process in &mut command.processes {
            if !process.dead && (process.stopped.is_some() || process.ends > now + KILL_TAKES) {
                process.stopped = None;
                process.ends = now + self.rng.u64(0..KILL_TAKES);
                process.exit = Exit::Signal(SIGKILL);
            }
        }
        self.expect_command(index);
    }

    fn tell_to_stop(&mut self, index: usize, signal: i32) {
        let continued = self.zklocks[index].worker.continued;
        self.report(index, Report::Stop { signal, whole_group: false, continued });
    }

    fn set_deadline(&mut self, index: usize, deadline: Option<Deadline>) {
        let old = self.zklocks[index].page.deadline;
        self.zklocks[index].page.deadline = deadline;
        let shorter = match (old, deadline) {
            (Some(old), Some(new)) => new.act < old.act,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if shorter {
            self.report(index, Report::Shorter);
        }
    }

    fn report(&mut self, index: usize, report: Report) {
        self.zklocks[index].monitor.reports.push_back(report);
        // It is read when the monitor runs next, which is soon.
        self.wake_monitor_at(index, self.now + 50_000);
    }

    fn finish(&mut self, index: usize, end: End) {
        match end {
            End::Exit(exit) => {
                self.report(index, Report::Exit(exit));
                self.worker_ends(index);
            }
            End::Become(variables) => {
                self.report(index, Report::Become(variables));
                self.worker_ends(index);
            }
            End::Leave(exit, remains) => {
                self.report(index, Report::Leave(exit));
                self.zklocks[index].worker.alone = true;
                match remains.filter(|remains| !remains.is_empty()) {
                    Some(remains) if self.zklocks[index].worker.cleaner.is_none() => {
                        self.begin_cleaning(Whose::WorkersCleaner(index), remains);
                    }
                    _ if self.zklocks[index].worker.cleaner.is_some() => {}
                    _ => self.worker_ends(index),
                }
            }
        }
    }

    fn worker_ends(&mut self, index: usize) {
        let worker = &mut self.zklocks[index].worker;
        if !worker.alive {
            return;
        }
        worker.alive = false;
        let clients: Vec<ClientId> =
            worker.client.into_iter().chain(worker.cleaner.take().map(|cleaner| cleaner.client)).collect();
        for client in clients {
            self.abandon(client);
        }
        self.wake_monitor_at(index, self.now + 50_000);
    }

    // --- the monitor ---

    fn wake_monitor_at(&mut self, index: usize, at: u64) {
        let monitor = &mut self.zklocks[index].monitor;
        monitor.wake += 1;
        let which = monitor.wake;
        self.at(at, Event::WakeMonitor(index, which));
    }

    pub(crate) fn wake_monitor(&mut self, index: usize, which: u64) {
        if self.zklocks[index].monitor.wake == which {
            self.watch(index);
        }
    }

    /// The monitor's loop, up to where it would wait.
    fn watch(&mut self, index: usize) {
        loop {
            let zklock = &mut self.zklocks[index];
            if !zklock.monitor.alive || zklock.monitor.frozen || zklock.monitor.stopped {
                return;
            }
            let now = zklock.clock(self.now);
            if zklock.monitor.ending {
                return;
            }
            let input = if let Some(signal) = zklock.monitor.signals.pop_front() {
                if zklock.worker.alive {
                    self.tell_worker(index, Input::Signal(signal));
                }
                monitor::Input::Relayed(signal)
            } else if let Some(report) = zklock.monitor.reports.pop_front() {
                monitor::Input::Reported(report)
            } else {
                let shown = zklock.shown();
                let effects = zklock.monitor.machine.on(now, monitor::Input::Looked(shown));
                if !effects.is_empty() {
                    self.monitor_does(index, effects);
                    continue;
                }
                if !zklock.worker.alive && !zklock.monitor.worker_reaped {
                    zklock.monitor.worker_reaped = true;
                    let killed = zklock.was_hit && zklock.exit.is_none() && zklock.worker.run.is_some();
                    let death = if killed && !zklock.worker.alone && zklock.worker_was_killed() {
                        Death::Killed(SIGKILL)
                    } else {
                        Death::Success
                    };
                    monitor::Input::WorkerEnded(death, shown)
                } else {
                    break;
                }
            };
            let zklock = &mut self.zklocks[index];
            let effects = zklock.monitor.machine.on(now, input);
            self.monitor_does(index, effects);
        }
        let zklock = &self.zklocks[index];
        if let Some(wake) = zklock.monitor.machine.wake_at(zklock.shown()) {
            let at = zklock.time_of(wake, self.now);
            self.wake_monitor_at(index, at);
        }
    }

    fn monitor_does(&mut self, index: usize, effects: Vec<monitor::Effect>) {
        for effect in effects {
            match effect {
                monitor::Effect::Stop { .. } => {
                    self.story.tell(self.now, || format!("the monitor of zklock {index} stops"));
                    self.zklocks[index].monitor.stopped = true;
                    // A shell's user has it go on some time.
                    let after = self.rng.u64(100_000_000..20_000_000_000);
                    self.after(after, Event::Thaw(index, false));
                }
                monitor::Effect::EndWorker => {
                    self.kill_worker(index);
                    self.monitor_is_answered_ended(index);
                }
                monitor::Effect::EndNobody => self.monitor_is_answered_ended(index),
                monitor::Effect::EndEverybody => {
                    self.story.tell(self.now, || format!("the monitor of zklock {index} ends everybody"));
                    self.kill_worker(index);
                    self.zklocks[index].monitor.ending = true;
                    self.kill_command(index);
                    self.after(KILL_TAKES + 2_000_000, Event::Thaw(index, true));
                }
                monitor::Effect::TakeTerminal => {}
                monitor::Effect::Say(ending) => {
                    self.story.tell(self.now, || format!("zklock {index} says: {ending}"));
                }
                monitor::Effect::Clean(remains) => {
                    self.begin_cleaning(Whose::MonitorsCleaner(index), remains);
                }
                monitor::Effect::Exit(exit) => self.monitor_exits(index, exit),
                monitor::Effect::Become(_) => self.monitor_exits(index, Exit::Code(0)),
            }
        }
    }

    /// Every process below is ended.
    fn everybody_ended(&mut self, index: usize) {
        let zklock = &mut self.zklocks[index];
        zklock.monitor.ending = false;
        if let Some(command) = &mut zklock.command {
            for process in &mut command.processes {
                process.dead = true;
            }
        }
        self.monitor_is_answered_ended(index);
        self.watch(index);
    }

    fn monitor_is_answered_ended(&mut self, index: usize) {
        let zklock = &mut self.zklocks[index];
        let now = zklock.clock(self.now);
        while let Some(report) = zklock.monitor.reports.pop_front() {
            zklock.monitor.machine.on(now, monitor::Input::Reported(report));
        }
        zklock.monitor.worker_reaped = true;
        let (shown, entering) = (zklock.shown(), zklock.page.entering.clone());
        let effects = zklock.monitor.machine.on(now, monitor::Input::Ended(shown, entering));
        self.monitor_does(index, effects);
    }

    fn monitor_exits(&mut self, index: usize, exit: Exit) {
        let zklock = &mut self.zklocks[index];
        zklock.monitor.alive = false;
        zklock.exit = Some(exit);
        self.story.tell(self.now, || format!("zklock {index} exits: {exit:?}"));
        self.check_exit(index, exit);
    }

    fn kill_worker(&mut self, index: usize) {
        self.worker_ends(index);
    }

    // --- sessions to clean up with ---

    fn begin_cleaning(&mut self, whose: Whose, remains: Remains) {
        let index = whose.zklock();
        let wanted = u64::try_from(remains.session_timeout.as_nanos()).unwrap();
        let nanos = |moment: BootTime| u64::try_from(moment.since_start().as_nanos()).unwrap();
        let deadline = nanos(self.zklocks[index].clock(self.now)) + wanted;
        self.story.tell(self.now, || format!("{whose:?} cleans up: {remains:?}"));
        let client = self.open(whose, SessionKey(0), wanted, Some(deadline));
        let expected = remains.nodes.len() + usize::from(remains.entering.is_some());
        let cleaner = Some(Cleaner { client, remains, answers: vec![], expected, deleting: false });
        match whose {
            Whose::MonitorsCleaner(_) => self.zklocks[index].monitor.cleaner = cleaner,
            _ => self.zklocks[index].worker.cleaner = cleaner,
        }
    }

    fn cleaner(&mut self, whose: Whose) -> Option<&mut Cleaner> {
        let zklock = &mut self.zklocks[whose.zklock()];
        match whose {
            Whose::MonitorsCleaner(_) => zklock.monitor.cleaner.as_mut(),
            _ => zklock.worker.cleaner.as_mut(),
        }
    }

    pub(crate) fn cleaner_hears(&mut self, whose: Whose, change: &SessionChange) {
        match change {
            SessionChange::Connected { .. } | SessionChange::Reconnected => {
                let Some(cleaner) = self.cleaner(whose) else { return };
                (cleaner.answers, cleaner.deleting) = (vec![], false);
                let client = cleaner.client;
                for (number, request) in cleaner.remains.questions().into_iter().enumerate() {
                    self.ask(client, Asker::Question(number), request);
                }
            }
            SessionChange::Unreachable(_) | SessionChange::Lost(_) => self.cleaned(whose, false),
            SessionChange::Closed | SessionChange::Disconnected | SessionChange::StillAway(_) => {}
        }
    }

    pub(crate) fn cleaner_is_answered(&mut self, whose: Whose, asker: Asker, reply: Reply) {
        let Some(cleaner) = self.cleaner(whose) else { return };
        if matches!(reply, Reply::Changed(..)) || reply.failure() == Some(&Failure::ConnectionLost) {
            return;
        }
        let Asker::Question(_) = asker else { return };
        cleaner.answers.push(reply);
        if cleaner.answers.len() < cleaner.expected {
            return;
        }
        if cleaner.deleting {
            return self.cleaned(whose, true);
        }
        let found = cleaner.remains.found_in(&cleaner.answers);
        if found.is_empty() {
            return self.cleaned(whose, true);
        }
        (cleaner.expected, cleaner.deleting) = (found.len(), true);
        cleaner.answers.clear();
        let client = cleaner.client;
        for (number, request) in found.into_iter().enumerate() {
            self.ask(client, Asker::Question(number), request);
        }
    }

    fn cleaned(&mut self, whose: Whose, gone: bool) {
        let index = whose.zklock();
        let zklock = &mut self.zklocks[index];
        let cleaner = match whose {
            Whose::MonitorsCleaner(_) => zklock.monitor.cleaner.take(),
            _ => zklock.worker.cleaner.take(),
        };
        let Some(cleaner) = cleaner else { return };
        self.release(cleaner.client, vec![]);
        match whose {
            Whose::MonitorsCleaner(_) => {
                let zklock = &mut self.zklocks[index];
                let now = zklock.clock(self.now);
                let effects = zklock.monitor.machine.on(now, monitor::Input::Cleaned(gone));
                self.monitor_does(index, effects);
            }
            _ if self.zklocks[index].worker.alone => self.worker_ends(index),
            _ => self.tell_worker(index, Input::Cleaned(gone)),
        }
    }

    // --- faults ---

    pub(crate) fn blow(&mut self, index: usize, blow: Blow, lasts: u64) {
        match blow {
            Blow::Cut => {
                let ways = [Way::ToServer, Way::ToClient];
                // Now and then only one way.
                let cut = match self.rng.u8(0..4) {
                    0 => &ways[..1],
                    1 => &ways[1..],
                    _ => &ways[..],
                };
                self.set_cut(index, cut, true);
                self.after(lasts, Event::Heal(index));
            }
            Blow::Reset => {
                self.reset(index);
            }
            Blow::KillWorker => {
                if self.zklocks[index].worker.alive {
                    self.zklocks[index].was_hit = true;
                    self.zklocks[index].worker.frozen = true;
                    self.worker_ends(index);
                }
            }
            Blow::KillMonitor => {
                let zklock = &mut self.zklocks[index];
                if zklock.monitor.alive {
                    zklock.was_hit = true;
                    zklock.monitor.alive = false;
                    if !zklock.worker.frozen && zklock.contender.terminates {
                        zklock.gone_by = Some(self.now + 1_000_000_000);
                    }
                    self.tell_worker(index, Input::MonitorDied);
                }
            }
            Blow::FreezeWorker => {
                if self.zklocks[index].worker.alive {
                    self.zklocks[index].was_hit = true;
                    self.zklocks[index].worker.frozen = true;
                    self.after(lasts, Event::Thaw(index, true));
                }
            }
            Blow::FreezeMonitor => {
                if self.zklocks[index].monitor.alive {
                    self.zklocks[index].ends_by = None;
                    self.zklocks[index].monitor.frozen = true;
                    self.after(lasts, Event::Thaw(index, false));
                }
            }
            Blow::Signal(signal) => self.signal(index, signal),
            Blow::Server(_) => {}
            Blow::DeleteNode => {
                for node in self.nodes_of(index) {
                    self.zklocks[index].node_deleted = true;
                    if let Some(operator) = self.operator {
                        self.ask(operator, Asker::Question(0), Request::Delete(node));
                    }
                }
            }
            Blow::Revoke => {
                let nodes = self.nodes_of(index);
                let zklock = &mut self.zklocks[index];
                let untroubled = self
                    .scenario
                    .faults
                    .iter()
                    .filter(|fault| fault.who == index || matches!(fault.blow, Blow::Server(_)))
                    .count()
                    == 1;
                if untroubled && zklock.contender.terminates && !nodes.is_empty() {
                    let grace = u64::try_from(zklock.contender.kill_after.as_nanos()).unwrap();
                    let by = self.now + grace + 6 * zklock.contender.line + 2_000_000_000;
                    zklock.gone_by = Some(by);
                }
                for node in nodes {
                    if let Some(operator) = self.operator {
                        self.ask(
                            operator,
                            Asker::Question(0),
                            Request::Write(node, b"__REVOKE__".to_vec(), -1),
                        );
                    }
                }
            }
        }
    }

    pub(crate) fn strike_server(&mut self, server: usize, trouble: ServerTrouble) {
        match trouble {
            ServerTrouble::Crash => self.ensemble.crash(server),
            ServerTrouble::Freeze => self.ensemble.freeze(server),
            ServerTrouble::Isolated => self.ensemble.set_isolated(server, true),
            ServerTrouble::Lags => self.ensemble.set_lag(server, 3_000_000_000),
        }
    }

    fn signal(&mut self, index: usize, signal: i32) {
        let zklock = &mut self.zklocks[index];
        if !zklock.monitor.alive {
            return;
        }
        zklock.signals.push(signal);
        if ends_waiting(signal)
            && zklock.command.is_none()
            && !zklock.monitor.stopped
            && !zklock.monitor.frozen
        {
            // Servers that don't answer get five seconds, and another five where the session was lost meanwhile.
            zklock.ends_by.get_or_insert(self.now + 14_000_000_000);
        }
        if signal == SIGCONT {
            zklock.monitor.stopped = false;
            zklock.monitor.signals.retain(|&waiting| waiting != SIGTSTP);
        }
        if !zklock.monitor.signals.contains(&signal) {
            zklock.monitor.signals.push_back(signal);
        }
        self.wake_monitor_at(index, self.now + 50_000);
    }

    pub(crate) fn nodes_of(&self, index: usize) -> Vec<String> {
        let zklock = &self.zklocks[index];
        let session = zklock.worker.client.map(|client| self.lines[client].session);
        let of = |lock: &&str| -> Vec<String> {
            self.ensemble.children(lock).into_iter().map(|name| format!("{lock}/{name}")).collect()
        };
        let all = zklock.contender.locks.iter().flat_map(of);
        all.filter(|path| self.ensemble.owner(path) == session).collect()
    }

    pub(crate) fn thaw(&mut self, index: usize, worker: bool) {
        if worker {
            if self.zklocks[index].monitor.ending && self.zklocks[index].monitor.alive {
                return self.everybody_ended(index);
            }
            if self.zklocks[index].worker.alive && self.zklocks[index].worker.frozen {
                self.story.tell(self.now, || format!("the worker of zklock {index} goes on"));
                self.zklocks[index].worker.frozen = false;
                self.zklocks[index].worker.looked = false;
                self.thaw_sessions(index);
                self.work(index);
            }
            return;
        }
        let monitor = &mut self.zklocks[index].monitor;
        let was_stopped = std::mem::take(&mut monitor.stopped);
        let was_frozen = std::mem::take(&mut monitor.frozen);
        if was_stopped {
            self.signal(index, SIGCONT);
        }
        if was_stopped || was_frozen {
            self.thaw_sessions(index);
            self.watch(index);
        }
    }
}

impl Zklock {
    fn worker_was_killed(&self) -> bool {
        self.worker.frozen
    }
}
