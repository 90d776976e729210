//! Where contenders come and go: what their threads and the faults share.

use crate::clock;
use crate::contender::{Contender, Place};
use crate::fault_log::FaultLog;
use crate::options::Aim;
use crate::rng::Rng;
use crate::story::judge;
use crate::watch::Watch;
use crate::wish::Wish;
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Contenders that run at the same time have hosts of their own, each with its own links to the servers: what
/// happens to the holder's need not happen to the next one's.
pub(crate) const HOSTS: usize = 7;

const LOOK: Duration = Duration::from_millis(8);

pub(crate) struct Arena {
    pub(crate) place: Place,
    pub(crate) watch: Watch,
    pub(crate) faults: FaultLog,
    pub(crate) stop: AtomicBool,
    only_sections: bool,
    /// Somebody wants the run to end: then it still has to clear up.
    interrupted: Arc<AtomicBool>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    living: Vec<Arc<Contender>>,
    /// How often contenders ended in which way.
    ends: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

impl Arena {
    pub(crate) fn new(place: Place, watch: Watch, only_sections: bool) -> Self {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            signal_hook::flag::register(signal as i32, Arc::clone(&interrupted)).expect("a handler");
        }
        let (faults, stop, state) = (FaultLog::default(), AtomicBool::new(false), Mutex::default());
        Self { place, watch, faults, stop, only_sections, interrupted, state }
    }

    /// One contender after another, until told to stop.
    pub(crate) fn slot(&self, host: usize, rng: &mut Rng, aim: Option<Aim>) {
        for round in 0.. {
            clock::nap(rng.millis(0, 700), &self.stop);
            let wish = Wish::draw(format!("h{host}n{round}"), host, rng, aim);
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            self.contend(wish);
        }
    }

    /// One contender, from its start to the judgement.
    pub(crate) fn contend(&self, wish: Wish) -> ExitStatus {
        let contender = Arc::new(Contender::spawn(wish, &self.place));
        self.state().living.push(Arc::clone(&contender));
        let status = loop {
            match contender.ended() {
                Some(status) => break status,
                None => thread::sleep(LOOK),
            }
        };
        let seen = self.watch.seen(contender.name());
        let stormy = self.faults.stormy(contender.born, clock::now());
        let wrong = judge(&contender, status, seen, stormy);
        if wrong.is_none() {
            contender.forget();
        }
        let mut state = self.state();
        state.living.retain(|living| living.name() != contender.name());
        *state.ends.entry(status.to_string()).or_default() += 1;
        state.wrong.extend(wrong);
        status
    }

    pub(crate) fn living(&self) -> Vec<Arc<Contender>> {
        self.state().living.clone()
    }

    /// What was wrong first: two sections, or the end of a contender. The latter proves nothing about a lock
    /// that is broken on purpose.
    pub(crate) fn wrong(&self) -> Option<String> {
        if self.interrupted.load(Ordering::SeqCst) {
            return Some("interrupted".to_owned());
        }
        let end = || self.state().wrong.first().filter(|_| !self.only_sections).cloned();
        self.watch.wrong().or_else(end)
    }

    pub(crate) fn ends(&self) -> String {
        let state = self.state();
        let ends: Vec<_> = state.ends.iter().map(|(end, count)| format!("{end} ({count})")).collect();
        ends.join(", ")
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
