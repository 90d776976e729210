//! State that the contenders' threads and the fault injector share.

use crate::contender::{Contender, Place};
use crate::exit_check::{ExitCheck, check_exit};
use crate::fault_log::FaultLog;
use crate::invocation::{Invocation, Kind, PERIOD};
use crate::support::clock;
use crate::support::{Fault, History, MARKER, Rng, Section};
use nix::sys::signal::Signal;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Each contender that runs at a time has a host of its own with its own links to the servers, so a fault can meet the
/// holder and spare the next contender.
pub(crate) const HOSTS: usize = 7;

/// The violation reported for a run that a signal ended.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// The last process of a command whose monitor was killed must be gone after this time.
const OUTLIVES_A_KILLED_MONITOR: Duration = Duration::from_secs(3);

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
    pub(crate) fn run_slot(&self, host: usize, rng: &mut Rng) {
        for round in 0.. {
            clock::nap(rng.millis(0, 700), &self.stop);
            let (name, descendants) = (format!("h{host}n{round}"), &self.place.jobs.descendants);
            let invocation = Invocation::draw(name, host, rng, descendants, self.shortest_session);
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            self.run_contender(invocation);
        }
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
        // A command may outlive a monitor that is killed.
        let is_killed = contender.contender_faults().iter().any(|fault| fault.kills_the_monitor());
        let allowed = if is_killed { OUTLIVES_A_KILLED_MONITOR } else { Duration::ZERO };
        let latest = clock::now() + allowed;
        self.history.at_end(|checker| checker.must_be_gone(contender.name(), latest));
        let exit_check = self.exit_check(&contender, status);
        let mut violation = check_exit(&exit_check, &contender);
        if exit_check.kind == Kind::Once
            && status.success()
            && !contender.stderr().contains("not be recorded")
        {
            let recorded = self.history.at_end(|checker| checker.recorded(contender.name(), PERIOD));
            violation = violation.or(recorded.err());
        }
        if violation.is_none() {
            contender.delete_stderr();
        }
        let mut state = self.state();
        state.running.retain(|running| running.name() != contender.name());
        state.violations.extend(violation);
        status
    }

    fn exit_check(&self, contender: &Contender, status: ExitStatus) -> ExitCheck {
        let Invocation { host, kind, wait_limit, session, .. } = contender.invocation;
        let now = clock::now();
        let met = self.faults.affecting(host, contender.started, now);
        let lately = self.faults.affecting(host, now.saturating_sub(session), now);
        let section = self.section(contender.name());
        let is_slow = |fault: &Fault| matches!(fault, Fault::Delay | Fault::LoseThird | Fault::Standstill);
        ExitCheck {
            kind,
            wait_limit,
            session,
            contender_faults: contender.contender_faults(),
            disturbed: !met.is_empty(),
            // Beside other load a machine starves zklock without a fault.
            recently_disturbed: !lately.is_empty() || contender.stderr().contains("zklock woke up"),
            delayed: met.iter().any(is_slow),
            revoked_for: contender.revoked().and_then(|(since, node)| {
                let section = section.as_ref()?;
                // Otherwise the node belonged to an earlier session, and the contender has queued again.
                let is_its = section.places.iter().any(|place| place.node == node);
                section.last.checked_sub(since).filter(|_| is_its)
            }),
            section,
            status,
            took: now.saturating_sub(contender.started),
        }
    }

    /// Runs an administrative zklock command in the background, and calls `done` when it has succeeded.
    pub(crate) fn run_admin_command(&self, arguments: &[&str], done: impl FnOnce() + Send + 'static) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zklock"));
        command.args(arguments).env_clear().env(MARKER, &self.place.marker).env("HOME", &self.place.dir);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("zklock");
        thread::spawn(move || child.wait().is_ok_and(|status| status.success()).then(done));
    }

    /// A contender's section, as far as the history shows it.
    pub(crate) fn section(&self, name: &str) -> Option<Section> {
        self.history.at_end(|checker| checker.section(name).cloned())
    }

    /// Whether the command of a contender has ended by itself.
    pub(crate) fn has_ended(&self, name: &str) -> bool {
        self.section(name).is_some_and(|section| section.ended)
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
