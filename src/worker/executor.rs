//! Carries out the core's effects.

use std::mem;
use std::path::Path;

use anyhow::{Context, Result};
use nix::unistd::getpid;
use uuid::Uuid;
use zklock_core::environment::HeldLock;
use zklock_core::leftover_nodes::LeftoverNodes;
use zklock_core::message::Message;
use zklock_core::path::LockPath;
use zklock_core::protocol::LockNode;
use zklock_core::queue::contender::AttemptIds;
use zklock_core::queue::name::Mode;
use zklock_core::run::{Effect, End, Input, Introduction, Notification, Plan};

use crate::ensemble::Settings;
use crate::job::spawn::SpawnError;
use crate::job::{Job, PreparedLaunch};
use crate::link::{CleaningNews, WorkerSide, start_cleaning};
use crate::output;
use crate::plan::Invocation;
use crate::process::proc_stat::is_ancestor;
use crate::process::{clock, identity, proc_file, service_manager, sys};
use crate::worker::inbox::{Emitter, KEYS_AT_START};
use crate::worker::loop_timer::LoopTimer;
use crate::worker::main_session::MainSession;

/// The result of an effect.
#[derive(Debug)]
pub(super) enum Done {
    /// There is no immediate answer.
    Nothing,
    /// It took a while, in which a signal may have come.
    Later,
    /// This is the immediate answer for the core.
    Answer(Input),
    /// There is a session, which has to be polled to connect.
    Connecting,
    /// The run is over.
    Over(End),
}

/// The worker's resources for carrying out effects.
pub(super) struct Executor<'a> {
    worker: &'a mut WorkerSide,
    invocation: &'a Invocation,
    mode: Mode,
    /// The locks that were held around zklock when it began.
    held: Vec<HeldLock>,
    settings: &'a Settings,
    events: Emitter,
    timer: LoopTimer,
    session: Option<MainSession>,
    /// Whether a node was asked for since the last [`prepare`](Self::prepare).
    has_asked: bool,
    /// The command, until it is started.
    prepared: Option<PreparedLaunch>,
    job: Option<Job>,
    /// zklock's nodes: a message in JSON names the node that it is about.
    own: Vec<LockNode>,
}

impl<'a> Executor<'a> {
    /// An executor that hasn't opened a session or started a command.
    pub(super) fn new(
        worker: &'a mut WorkerSide,
        invocation: &'a Invocation,
        plan: &Plan,
        settings: &'a Settings,
        events: Emitter,
    ) -> Self {
        Self {
            worker,
            invocation,
            mode: plan.mode,
            held: plan.held.clone(),
            settings,
            events,
            timer: LoopTimer::new(),
            session: None,
            has_asked: false,
            prepared: None,
            job: None,
            own: vec![],
        }
    }

    /// Whether there is, or was, a session or a command.
    pub(super) fn has_begun(&self) -> bool {
        self.session.is_some() || self.job.is_some()
    }

    /// Whether the command may be running.
    pub(super) fn runs_command(&self) -> bool {
        self.job.as_ref().is_some_and(|job| job.exit().is_none())
    }

    /// Ends every process of a running command.
    pub(super) fn end_command(&self) {
        self.job.iter().for_each(Job::end);
    }

    /// What events come from: the link to the monitor and, if there is one, the session.
    pub(super) fn sources(&mut self) -> (&mut WorkerSide, Option<&mut MainSession>) {
        (self.worker, self.session.as_mut())
    }

    /// Carries out an effect. After an error zklock can no longer control the command.
    pub(super) fn carry_out(&mut self, effect: Effect) -> Result<Done> {
        match effect {
            Effect::Connect { key, deadline } => {
                self.own.clear();
                let settings = Settings { deadline, ..self.settings.clone() };
                self.session = Some(MainSession::open(key, settings, &self.events));
                return Ok(Done::Connecting);
            }
            // Only what the node needs: the connect request isn't written before.
            Effect::Introduce => {
                self.worker.take_its_name();
                return Ok(Done::Answer(Input::Introduced(self.introduction())));
            }
            Effect::Ask(asker, request) => {
                if let Some(session) = &self.session {
                    session.requester.ask(asker, request);
                }
            }
            Effect::Release(nodes) => {
                if let Some(session) = &self.session {
                    session.requester.release(nodes);
                }
            }
            Effect::Clean(leftover) => self.clean(leftover)?,
            Effect::ReportCreate(path) => {
                self.has_asked = true;
                self.worker.report_create(&path);
            }
            Effect::ReportNodes { session_timeout, nodes } => {
                let millis = u64::try_from(session_timeout.as_millis()).unwrap_or(u64::MAX);
                self.own.clone_from(&nodes);
                self.worker.own(millis, nodes);
            }
            Effect::StartCommand { variables, latest, deadline } => {
                let unreceived = self.worker.join_group();
                self.worker.command_begins(deadline);
                self.timer.set_deadline(deadline);
                let prepared = match self.prepared.take() {
                    Some(prepared) => prepared,
                    None => PreparedLaunch::new(self.invocation, self.worker)?,
                };
                let started = match unreceived {
                    Some(_) if let Some(lock) = self.no_longer_held() => Err(SpawnError::NotHeld(lock)),
                    Some(_) => Job::start(prepared, &variables, self.worker, latest),
                    None => Err(SpawnError::MonitorEnding),
                };
                let started = started.map(|job| self.job = Some(job));
                // The terminal sent these before the command was in the group.
                let keys = KEYS_AT_START
                    .into_iter()
                    .filter(|&key| unreceived.is_some_and(|set| proc_file::contains(set, key)));
                keys.for_each(|key| self.events.emit(Input::Signal(key)));
                let started = started.map_err(|error| (error.code(), error.to_string()));
                return Ok(Done::Answer(Input::Started(started)));
            }
            Effect::Job(effect) => {
                let answer = self.job.as_mut().map(|job| job.carry_out(effect)).transpose()?.flatten();
                return Ok(answer.map_or(Done::Nothing, Done::Answer));
            }
            Effect::Suspend(signal) => self.worker.suspend(signal),
            Effect::ContinueMonitor => self.worker.continue_monitor(),
            Effect::SetDeadline(deadline) => {
                self.worker.set_deadline(deadline);
                self.timer.set_deadline(deadline);
            }
            Effect::CommandIsOver(exit, within) => {
                self.worker.command_is_over(exit, within);
                self.timer.set_deadline(None);
            }
            Effect::Say(path, message) => self.say(&path, &message),
            Effect::Line(Some((path, text))) => {
                output::draw_line(&format!("{path}: {text}"), self.worker.monitor);
            }
            Effect::Line(None) => output::erase_line(),
            Effect::Notify(Notification { status, extend }) => {
                service_manager::notify(status.as_deref(), extend);
            }
            Effect::FlushOutput(limit) => {
                output::drain(limit.min(output::WHILE_HELD));
                return Ok(Done::Later);
            }
            Effect::Detach => {
                output::drain(output::BRIEFLY);
                sys::detach_from_caller();
            }
            Effect::Finish(end) => return Ok(Done::Over(end)),
        }
        Ok(Done::Nothing)
    }

    /// A lock that was held around zklock and isn't any more: the zklock that held it isn't above this process now. One of
    /// 1.x doesn't say which it is.
    fn no_longer_held(&self) -> Option<String> {
        let is_above = |held: &HeldLock| is_ancestor(held.pid, Some(held.started), getpid()).unwrap_or(false);
        let gone = self.held.iter().find(|held| held.started > 0 && !is_above(held))?;
        Some(gone.path.clone())
    }

    /// Prepares the start of the command while the servers answer.
    pub(super) fn prepare(&mut self) -> Result<()> {
        if mem::take(&mut self.has_asked) && self.prepared.is_none() {
            self.prepared = Some(PreparedLaunch::new(self.invocation, self.worker)?);
        }
        Ok(())
    }

    /// The loop is about to wait.
    pub(super) fn gives_sign(&mut self) {
        self.timer.gives_sign(clock::now());
    }

    /// Deletes these nodes over a session of a thread, so that neither signals nor deadlines wait for it.
    fn clean(&self, leftover: LeftoverNodes) -> Result<()> {
        let events = self.events.clone();
        let tells = move |news| {
            if let CleaningNews::Over(is_certain) = news {
                events.emit(Input::Cleaned(is_certain));
            }
        };
        start_cleaning(self.settings, leftover, tells).context("can't start a thread to ask the servers")
    }

    fn introduction(&mut self) -> Introduction {
        let program = Path::new(&self.invocation.shown);
        let session = &mut self.session;
        let proceed = || session.iter_mut().for_each(MainSession::proceed);
        let label = self.invocation.label.clone();
        let record = identity::record(self.worker.monitor, program, label, self.mode, proceed);
        let ids = self.invocation.locks.iter().map(|_| AttemptIds(Uuid::new_v4().as_u128())).collect();
        Introduction { record, ids }
    }

    fn say(&self, path: &LockPath, message: &Message) {
        let is_of_lock = |node: &&LockNode| node.path.is_child_of(path);
        output::say(path, self.own.iter().find(is_of_lock), message);
    }
}
