//! A zklock without its monitor and with a command of one process: the shipped `Run` on a simulated session.
//!
//! It takes no time for anything, its timers are exact, and its command is as stubborn as a command can be. `host`
//! simulates a whole zklock; this smaller version is for crowds and searches.

use std::collections::VecDeque;

use zklock_core::exit::{Exit, FAILURE};
use zklock_core::pair::Deadline;
use zklock_core::protocol::{Asker, Reply, Request, SessionChange, SessionKey};
use zklock_core::queue::contender::AttemptIds;
use zklock_core::queue::name::Mode;
use zklock_core::run::{Driver, Effect, End, Input, Introduction, JobEffect, KillRound, PhaseName, Step};
use zklock_core::time::BootTime;

use crate::client::{Client, ClientEvent, HostClock, Settings};
use crate::command::Command;
use crate::ensemble::wire::Acl;
use crate::ensemble::{ConnId, Ensemble, Output, mix};
use crate::host::{plan, record};
use crate::sessions::{asker, number};

/// The options of a bare zklock.
#[derive(Debug, Clone)]
pub(crate) struct BareOptions {
    pub(crate) locks: &'static [&'static str],
    pub(crate) mode: Mode,
    pub(crate) timeout: u64,
    /// How long its command runs.
    pub(crate) lasts: u64,
    /// How long the command takes to be gone after KILL.
    pub(crate) reaping: u64,
    pub(crate) zone: usize,
    pub(crate) servers: Vec<usize>,
    pub(crate) clock: HostClock,
}

/// The numbers of requests sent and of watch events received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Requests other than confirmations. The release of one lock counts as two.
    pub(crate) requests: u64,
    pub(crate) lists: u64,
    pub(crate) confirmations: u64,
    /// Watches that fired on another contender's node.
    pub(crate) wakes: u64,
}

/// A simulated zklock without a monitor.
pub(crate) struct Bare {
    options: BareOptions,
    number: u64,
    /// `None` once it is over.
    driver: Option<Box<Driver>>,
    client: Option<Box<Client>>,
    key: SessionKey,
    /// The session's id; 0 before there is a session.
    pub(crate) session: i64,
    pub(crate) command: Option<Command>,
    /// The fencing token of the command that was started.
    pub(crate) token: i64,
    pub(crate) exit: Option<Exit>,
    pub(crate) released: bool,
    pub(crate) counts: Counts,
    signals: VecDeque<i32>,
    /// The run was told that the command died.
    told: bool,
    /// It is frozen until this time, and events for it wait.
    frozen_until: u64,
    deferred: Vec<Output>,
    /// When its monitor has to act for it.
    deadline: Option<Deadline>,
    wakes_at: u64,
}

const EXIT_DEAD: Exit = Exit::Signal(zklock_core::signal::SIGKILL);

impl Bare {
    /// Starts a zklock. `number` distinguishes it from all others.
    pub(crate) fn begin(ensemble: &mut Ensemble, options: BareOptions, number: u64) -> Self {
        let began = options.clock.boot_time(ensemble.now());
        let plan = plan(options.locks, options.mode, options.timeout, began);
        let mut bare = Self {
            options,
            number,
            driver: Some(Box::new(Driver::begin(plan, began))),
            client: None,
            key: SessionKey(0),
            session: 0,
            command: None,
            token: 0,
            exit: None,
            released: false,
            counts: Counts::default(),
            signals: VecDeque::new(),
            told: false,
            frozen_until: 0,
            deferred: vec![],
            deadline: None,
            wakes_at: u64::MAX,
        };
        bare.work(ensemble);
        bare
    }

    /// The number of the zklock that an alarm belongs to.
    pub(crate) fn number_of(token: u64) -> u64 {
        token >> 1
    }

    /// Its connection, established or being attempted.
    pub(crate) fn conn(&self) -> Option<ConnId> {
        self.client.as_ref().and_then(|client| client.conn())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.exit.is_some()
    }

    /// Whether a process of its command exists.
    pub(crate) fn runs(&self) -> bool {
        self.command.as_ref().is_some_and(Command::runs)
    }

    pub(crate) fn options(&self) -> &BareOptions {
        &self.options
    }

    /// The phase of its run.
    pub(crate) fn phase(&self) -> PhaseName {
        self.driver.as_ref().map_or(PhaseName::Done, |driver| driver.run().phase())
    }

    /// Handles an output of the ensemble that is meant for it.
    pub(crate) fn take(&mut self, ensemble: &mut Ensemble, output: Output) {
        let now = ensemble.now();
        self.passes(now);
        if let Output::Woken(token) = output
            && token & 1 == 1
        {
            if self.wakes_at <= now {
                self.driver.iter_mut().for_each(|driver| driver.woken());
                self.wakes_at = u64::MAX;
            }
        } else if self.frozen_until > now {
            self.deferred.push(output);
        } else if let Some(client) = &mut self.client {
            client.take(ensemble, output);
        }
        self.work(ensemble);
    }

    /// Freezes the worker, but not its monitor.
    pub(crate) fn freeze(&mut self, ensemble: &mut Ensemble, until: u64) {
        self.frozen_until = until;
        ensemble.wake_at(until, self.number << 1 | 1);
    }

    /// Ends its command now.
    pub(crate) fn end_command(&mut self, ensemble: &mut Ensemble) {
        let now = ensemble.now();
        if let Some(command) = &mut self.command {
            command.leader_ends(Exit::Code(0), now);
            self.passes(now);
            self.work(ensemble);
        }
    }

    /// Sends it a signal.
    pub(crate) fn signal(&mut self, ensemble: &mut Ensemble, signal: i32) {
        if !self.is_over() {
            self.signals.push_back(signal);
            self.work(ensemble);
        }
    }

    /// Kills its worker. The session lives on.
    pub(crate) fn crash(&mut self, ensemble: &mut Ensemble) {
        if !self.is_over() {
            self.ends(ensemble, EXIT_DEAD);
        }
    }

    fn clock(&self, now: u64) -> BootTime {
        self.options.clock.boot_time(now)
    }

    /// Updates its command to the current time.
    pub(crate) fn passes(&mut self, now: u64) {
        if let Some(command) = &mut self.command {
            command.processes[0].dead |= command.leader().ends <= now;
        }
        // The monitor kills the command of a frozen worker.
        if self.frozen_until > now && self.deadline.is_some_and(|deadline| deadline.act <= self.clock(now)) {
            self.kill(now);
        }
    }

    fn kill(&mut self, now: u64) {
        if let Some(command) = self.command.as_mut().filter(|command| command.runs()) {
            command.leader_ends(EXIT_DEAD, command.leader().ends.min(now + self.options.reaping));
        }
    }

    /// Runs the worker's loop until it would wait.
    fn work(&mut self, ensemble: &mut Ensemble) {
        let now = ensemble.now();
        if self.frozen_until <= now {
            for output in std::mem::take(&mut self.deferred) {
                if let Some(client) = &mut self.client {
                    client.take(ensemble, output);
                }
            }
            while !self.is_over() && self.step(ensemble) {}
        }
        if !self.is_over() {
            self.set_alarm(ensemble);
        }
    }

    /// Carries out the next step of the worker's loop. Returns false if that is to wait.
    fn step(&mut self, ensemble: &mut Ensemble) -> bool {
        let now = self.clock(ensemble.now());
        let Some(mut driver) = self.driver.take() else { return false };
        let step = driver.next(|| now, || self.pending());
        self.driver = Some(driver);
        let Step::CarryOut(effect) = step else { return false };
        if let (Some(answer), Some(driver)) = (self.carry_out(ensemble, effect), &mut self.driver) {
            driver.answer(answer);
        }
        true
    }

    /// The next pending input, if any.
    fn pending(&mut self) -> Option<Input> {
        if let Some(signal) = self.signals.pop_front() {
            return Some(Input::Signal(signal));
        }
        if let Some(news) = self.client.as_mut().and_then(|client| client.news()) {
            return Some(self.heard(news));
        }
        let has_news = !self.told && self.command.as_ref().is_some_and(Command::none_left);
        self.told |= has_news;
        has_news.then_some(Input::Child)
    }

    fn heard(&mut self, news: ClientEvent) -> Input {
        match news {
            ClientEvent::Session(change) => {
                if let SessionChange::Connected { id, .. } = change {
                    self.session = id;
                }
                Input::Session(self.key, change)
            }
            ClientEvent::Reply(number, reply) => {
                let asker = asker(number);
                if let Reply::Changed(path, _) = &reply
                    && asker != Asker::Lease
                    && !path.as_str().contains(&self.id())
                {
                    self.counts.wakes += 1;
                }
                Input::Reply(self.key, asker, reply)
            }
        }
    }

    fn ids(&self, lock: usize) -> AttemptIds {
        // The ids sort in another order than the zklocks arrive.
        AttemptIds(u128::from(mix(self.number + 1)) << 64 | (lock as u128) << 48)
    }

    /// The part that the names of all its nodes share.
    fn id(&self) -> String {
        let number = mix(self.number + 1);
        format!("_c_{:08x}-{:04x}-{:04x}-", number >> 32, number >> 16 & 0xffff, number & 0xffff)
    }

    fn set_alarm(&mut self, ensemble: &mut Ensemble) {
        let now = ensemble.now();
        let clock = self.options.clock;
        let when = |moment: BootTime| {
            let shown = u64::try_from(moment.since_start().as_nanos()).unwrap_or(u64::MAX);
            clock.when(shown).max(now)
        };
        let command = self.command.as_ref().filter(|command| command.runs());
        let ends = command.and_then(Command::next_end);
        let is_watched =
            self.frozen_until > now && command.is_some_and(|command| command.leader().exit != EXIT_DEAD);
        let act = self.deadline.filter(|_| is_watched).map(|deadline| when(deadline.act));
        let wake = self.driver.as_ref().and_then(|driver| driver.run().wake_at(self.clock(now)));
        let run = wake.map(|wake| when(wake).max(self.frozen_until));
        let Some(wake) = [ends, act, run].into_iter().flatten().min() else { return };
        if wake < self.wakes_at || self.wakes_at <= now {
            self.wakes_at = wake;
            ensemble.wake_at(wake, self.number << 1 | 1);
        }
    }

    #[allow(clippy::too_many_lines, reason = "one arm for each effect")]
    fn carry_out(&mut self, ensemble: &mut Ensemble, effect: Effect) -> Option<Input> {
        let now = ensemble.now();
        match effect {
            Effect::Connect { key, deadline } => {
                if let Some(mut former) = self.client.take() {
                    former.die(ensemble);
                }
                let nanos = |deadline: BootTime| u64::try_from(deadline.since_start().as_nanos()).unwrap();
                let settings = Settings {
                    zone: self.options.zone,
                    servers: self.options.servers.clone(),
                    timeout: self.options.timeout,
                    deadline: deadline.map(nanos),
                    clock: self.options.clock,
                    acl: Acl::OPEN,
                    seed: self.number,
                };
                self.key = key;
                self.client = Some(Box::new(Client::open(ensemble, settings, self.number << 1)));
            }
            Effect::Introduce => {
                let ids = (0..self.options.locks.len()).map(|lock| self.ids(lock)).collect();
                let introduction = Introduction {
                    record: record(format!("host{}", self.number), 1_000, self.options.mode),
                    ids,
                };
                return Some(Input::Introduced(introduction));
            }
            Effect::FindAncestors => return Some(Input::Ancestors(vec![])),
            Effect::Ask(asker, request) => self.ask(ensemble, asker, request),
            Effect::Release(nodes) => {
                self.counts.requests += nodes.len() as u64 + 1;
                self.released = true;
                if let Some(client) = &mut self.client {
                    client.release(ensemble, nodes);
                }
            }
            // Here the nodes aren't deleted but go with their session.
            Effect::Clean(_) => return Some(Input::Cleaned(false)),
            Effect::StartCommand { variables, latest, deadline } => {
                let started = if latest.is_some_and(|latest| self.clock(now) >= latest) {
                    Err((FAILURE, "too late".to_owned()))
                } else {
                    let token = variables.iter().find(|(name, _)| name == "ZKLOCK_FENCING_TOKEN");
                    self.token = token.and_then(|(_, token)| token.parse().ok()).unwrap_or_default();
                    self.command = Some(Command::single(self.options.lasts, None, now));
                    self.deadline = deadline;
                    Ok(())
                };
                return Some(Input::Started(started));
            }
            Effect::SetDeadline(deadline) => self.deadline = deadline,
            Effect::Job(JobEffect::Reap) => {
                return Some(Input::Reaped(self.command.as_ref().map(|command| command.leader().exit)));
            }
            Effect::Job(JobEffect::LookAtChildren { all }) => {
                let leader = self.command.as_mut().and_then(Command::leader_change);
                let none_left = all && self.command.as_ref().is_none_or(Command::none_left);
                return Some(Input::Children { leader, group: None, none_left });
            }
            Effect::Job(JobEffect::Kill { .. }) => {
                self.kill(now);
                let next = self.command.as_ref().and_then(Command::next_end).map(|gone| self.clock(gone));
                let round = KillRound { gone: next.is_none(), next, stuck: false, left: vec![] };
                return Some(Input::KillRound(round));
            }
            Effect::FlushOutput(_) => return Some(Input::OutputFlushed),
            Effect::Finish(end) => {
                let (End::Exit(exit) | End::Leave(exit, _)) = end else { panic!("{end:?}") };
                self.ends(ensemble, exit);
            }
            _ => {}
        }
        None
    }

    fn ask(&mut self, ensemble: &mut Ensemble, asker: Asker, request: Request) {
        match &request {
            Request::Confirm(_) => self.counts.confirmations += 1,
            Request::List(_) | Request::CatchUpAndList(_) => {
                self.counts.lists += 1;
                self.counts.requests += 1;
            }
            _ => self.counts.requests += 1,
        }
        if let Some(client) = &mut self.client {
            client.ask(ensemble, number(asker), request);
        }
    }

    fn ends(&mut self, ensemble: &mut Ensemble, exit: Exit) {
        if let Some(mut client) = self.client.take() {
            client.die(ensemble);
        }
        self.exit = Some(exit);
        self.driver = None;
    }
}
