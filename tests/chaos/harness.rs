//! State that the contenders' threads and the fault injector share.

use crate::contender::{Contender, Place};
use crate::exit_check::{ExitCheck, LOST, check_exit};
use crate::fault_log::FaultLog;
use crate::history::History;
use crate::invocation::{Invocation, Kind, PERIOD};
use crate::options::Aim;
use crate::phases::{Life, Phases};
use crate::slack::{Losses, Slack};
use crate::support::clock;
use crate::support::{Fault, MARKER, Rng};
use nix::sys::signal::Signal;
use std::collections::{BTreeMap, HashMap};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Each contender that runs at a time has a host of its own with its own links to the servers, so a fault can meet the
/// holder and spare the next contender.
pub(crate) const HOSTS: usize = 7;

/// The host of the contenders that a fault starts for itself.
pub(crate) const DEDICATED_HOST: usize = HOSTS;

/// The violation reported for a run that a signal ended.
pub(crate) const INTERRUPTED: &str = "interrupted";

const POLL: Duration = Duration::from_millis(8);

pub(crate) struct Harness {
    pub(crate) place: Place,
    pub(crate) history: History,
    pub(crate) faults: FaultLog,
    pub(crate) stop: AtomicBool,
    /// The shortest session timeout that the servers grant.
    shortest_session: Duration,
    /// Set by a signal: the run ends, but still cleans up.
    interrupted: Arc<AtomicBool>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Vec<Arc<Contender>>,
    /// The contender that a fault needs next.
    next_dedicated: Option<Invocation>,
    dedicated_count: usize,
    /// How often each exit status occurred.
    exits: BTreeMap<String, usize>,
    losses: Losses,
    phases: Phases,
    violations: Vec<String>,
}

impl Harness {
    pub(crate) fn new(place: Place, history: History, shortest_session: Duration) -> Self {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            signal_hook::flag::register(signal as i32, Arc::clone(&interrupted)).expect("a handler");
        }
        let (faults, stop, state) = (FaultLog::default(), AtomicBool::new(false), Mutex::default());
        Self { place, history, faults, stop, shortest_session, interrupted, state }
    }

    /// Runs one contender after another until `stop` is set.
    pub(crate) fn run_slot(&self, host: usize, rng: &mut Rng, aim: Option<Aim>) {
        for round in 0.. {
            clock::nap(rng.millis(0, 700), &self.stop);
            let invocation =
                Invocation::draw(format!("h{host}n{round}"), host, rng, aim, self.shortest_session);
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            self.run_contender(invocation);
        }
    }

    /// Runs the contenders that faults ask for, until `stop` is set.
    pub(crate) fn run_dedicated_slot(&self) {
        while !self.stop.load(Ordering::SeqCst) {
            let next_dedicated = self.state().next_dedicated.clone();
            if let Some(invocation) = next_dedicated {
                self.run_contender(invocation);
                self.state().next_dedicated = None;
            }
            thread::sleep(POLL);
        }
    }

    /// Starts a contender that a fault needs, with this session timeout and duration. `false`: the last one still runs.
    pub(crate) fn start_dedicated(&self, session: Duration, duration: Duration) -> bool {
        let mut state = self.state();
        if state.next_dedicated.is_some() || self.stop.load(Ordering::SeqCst) {
            return false;
        }
        state.dedicated_count += 1;
        state.next_dedicated = Some(Invocation::dedicated(
            format!("dedicated{}", state.dedicated_count),
            DEDICATED_HOST,
            session,
            duration,
        ));
        true
    }

    /// Runs one contender to its exit, and checks that.
    pub(crate) fn run_contender(&self, invocation: Invocation) -> ExitStatus {
        let contender = Arc::new(Contender::spawn(invocation, &self.place));
        self.state().running.push(Arc::clone(&contender));
        let status = loop {
            match contender.ended() {
                Some(status) => break status,
                None => thread::sleep(POLL),
            }
        };
        self.history.zklock_ended(contender.name());
        let exit_check = self.exit_check(&contender, status);
        let mut violation = check_exit(&exit_check, &contender);
        if exit_check.kind == Kind::Once
            && status.success()
            && !contender.stderr().contains("not be recorded")
        {
            violation = violation.or(self.history.recorded(contender.name(), PERIOD).err());
        }
        if violation.is_none() {
            contender.delete_stderr();
        }
        let last_seen = self.history.last_seen().remove(contender.name());
        let life = Life {
            host: contender.invocation.host,
            started: contender.started,
            command: last_seen.map(|last| (last.began, last.at)),
            exited: clock::now(),
        };
        let mut state = self.state();
        state.phases.add(&life, &self.faults);
        if exit_check.seen.begun
            && let Some(cause) = self.cause_of_loss(&exit_check, &contender)
        {
            state.losses.add(contender.name(), cause);
        }
        state.running.retain(|running| running.name() != contender.name());
        *state.exits.entry(status.to_string()).or_default() += 1;
        state.violations.extend(violation);
        status
    }

    fn exit_check(&self, contender: &Contender, status: ExitStatus) -> ExitCheck {
        let Invocation { host, kind, wait_limit, session, .. } = contender.invocation;
        let now = clock::now();
        let met = self.faults.affecting(host, contender.started, now);
        let lately = self.faults.affecting(host, now.saturating_sub(session), now);
        // A contender that is started on a line of constant delay survives that.
        let is_storm = |met: &[Fault]| met.iter().any(|fault| *fault != Fault::SlowConnection);
        let is_slow = |fault: &Fault| {
            matches!(fault, Fault::Delay | Fault::SlowConnection | Fault::LoseThird | Fault::Standstill)
        };
        ExitCheck {
            kind,
            wait_limit,
            session,
            contender_faults: contender.contender_faults(),
            seen: self.history.seen(contender.name()),
            disturbed: is_storm(&met),
            // Beside other load a machine starves zklock without a fault.
            recently_disturbed: is_storm(&lately) || contender.stderr().contains("zklock woke up"),
            delayed: met.iter().any(is_slow),
            revoked_for: contender.revoked().and_then(|(since, node)| {
                let last = self.history.last_seen().remove(contender.name())?;
                // Otherwise the node belonged to an earlier session, and the contender has queued again.
                last.at.checked_sub(since).filter(|_| last.nodes.contains(&node))
            }),
            status,
            took: now.saturating_sub(contender.started),
        }
    }

    /// The cause, if the lock was lost: the last fault of this contender, or else the last fault of the servers or the
    /// network.
    fn cause_of_loss(&self, exit_check: &ExitCheck, contender: &Contender) -> Option<String> {
        let killed = exit_check.status.signal() == Some(9)
            && exit_check.contender_faults.iter().any(|fault| fault.kills_the_monitor());
        if exit_check.status.code() != Some(LOST) && !killed {
            return None;
        }
        let from = clock::now().saturating_sub(exit_check.session);
        let met = || self.faults.affecting(contender.invocation.host, from, clock::now());
        let own = exit_check.contender_faults.last().map(ToString::to_string);
        let external = || met().last().map_or("a busy machine".to_owned(), ToString::to_string);
        Some(own.unwrap_or_else(external))
    }

    /// Runs an administrative zklock command in the background, and calls `done` when it has succeeded.
    pub(crate) fn run_admin_command(&self, arguments: &[&str], done: impl FnOnce() + Send + 'static) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zklock"));
        command.args(arguments).env_clear().env(MARKER, &self.place.marker).env("HOME", &self.place.dir);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("zklock");
        thread::spawn(move || child.wait().is_ok_and(|status| status.success()).then(done));
    }

    /// See [`Losses::table`].
    pub(crate) fn losses(&self, slack: &HashMap<String, Slack>) -> String {
        self.state().losses.table(slack)
    }

    /// See [`Phases::table`].
    pub(crate) fn phases(&self) -> String {
        self.state().phases.table()
    }

    /// Records a violation that no single section or exit shows.
    pub(crate) fn report(&self, violation: Option<String>) {
        self.state().violations.extend(violation);
    }

    pub(crate) fn running(&self) -> Vec<Arc<Contender>> {
        self.state().running.clone()
    }

    /// The first violation: in the history, or in the exit of a contender.
    pub(crate) fn violation(&self) -> Option<String> {
        if self.interrupted.load(Ordering::SeqCst) {
            return Some(INTERRUPTED.to_owned());
        }
        let end = || self.state().violations.first().cloned();
        self.history.violation().or_else(end)
    }

    pub(crate) fn exits(&self) -> String {
        let state = self.state();
        let exits: Vec<_> = state.exits.iter().map(|(end, count)| format!("{end} ({count})")).collect();
        exits.join(", ")
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
