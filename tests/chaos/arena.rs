//! Where contenders come and go: what their threads and the faults share.

use crate::clock;
use crate::contender::{Contender, Place};
use crate::fault::Fault;
use crate::fault_log::FaultLog;
use crate::hit::Hit;
use crate::options::Aim;
use crate::rng::Rng;
use crate::slack::{Losses, Slack};
use crate::story::{LOST, Story, judge};
use crate::support::MARKER;
use crate::watch::Watch;
use crate::wish::{Kind, PERIOD, Wish};
use nix::sys::signal::Signal;
use std::collections::{BTreeMap, HashMap};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Contenders that run at the same time have hosts of their own, each with its own links to the servers: what
/// happens to the holder's need not happen to the next one's.
pub(crate) const HOSTS: usize = 7;

/// One more, for contenders that are ambushed.
pub(crate) const AMBUSHED: usize = HOSTS;

/// What is wrong with a run that somebody ended.
pub(crate) const INTERRUPTED: &str = "interrupted";

const LOOK: Duration = Duration::from_millis(8);

pub(crate) struct Arena {
    pub(crate) place: Place,
    pub(crate) watch: Watch,
    pub(crate) faults: FaultLog,
    pub(crate) stop: AtomicBool,
    /// The shortest session that the servers grant.
    shortest: Duration,
    /// Somebody wants the run to end: then it still has to clear up.
    interrupted: Arc<AtomicBool>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    living: Vec<Arc<Contender>>,
    /// Who is to be ambushed next.
    bait: Option<Wish>,
    baits: usize,
    /// How often contenders ended in which way.
    ends: BTreeMap<String, usize>,
    losses: Losses,
    wrong: Vec<String>,
}

impl Arena {
    pub(crate) fn new(place: Place, watch: Watch, shortest: Duration) -> Self {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            signal_hook::flag::register(signal as i32, Arc::clone(&interrupted)).expect("a handler");
        }
        let (faults, stop, state) = (FaultLog::default(), AtomicBool::new(false), Mutex::default());
        Self { place, watch, faults, stop, shortest, interrupted, state }
    }

    /// One contender after another, until told to stop.
    pub(crate) fn slot(&self, host: usize, rng: &mut Rng, aim: Option<Aim>) {
        for round in 0.. {
            clock::nap(rng.millis(0, 700), &self.stop);
            let wish = Wish::draw(format!("h{host}n{round}"), host, rng, aim, self.shortest);
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            self.contend(wish);
        }
    }

    /// Those who are ambushed, until told to stop.
    pub(crate) fn slot_of_the_ambushed(&self) {
        while !self.stop.load(Ordering::SeqCst) {
            let bait = self.state().bait.clone();
            if let Some(wish) = bait {
                self.contend(wish);
                self.state().bait = None;
            }
            thread::sleep(LOOK);
        }
    }

    /// Has somebody come who is to be ambushed: with this session timeout, and for so long. `false`: the last one is
    /// still there.
    pub(crate) fn bait(&self, session: Duration, lasts: Duration) -> bool {
        let mut state = self.state();
        if state.bait.is_some() || self.stop.load(Ordering::SeqCst) {
            return false;
        }
        state.baits += 1;
        state.bait = Some(Wish::alone(format!("bait{}", state.baits), AMBUSHED, session, lasts));
        true
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
        self.watch.zklock_ended(contender.name());
        let story = self.story(&contender, status);
        let mut wrong = judge(&story, &contender);
        if story.kind == Kind::Once
            && status.success()
            && !contender.stderr().contains("could not be recorded")
        {
            wrong = wrong.or(self.watch.recorded(contender.name(), PERIOD).err());
        }
        if wrong.is_none() {
            contender.forget();
        }
        let mut state = self.state();
        if story.seen.begun
            && let Some(cause) = self.cost_it_the_lock(&story, &contender)
        {
            state.losses.add(contender.name(), cause);
        }
        state.living.retain(|living| living.name() != contender.name());
        *state.ends.entry(status.to_string()).or_default() += 1;
        state.wrong.extend(wrong);
        status
    }

    fn story(&self, contender: &Contender, status: ExitStatus) -> Story {
        let Wish { host, kind, patience, session, .. } = contender.wish;
        let now = clock::now();
        let met = self.faults.met_by(host, contender.born, now);
        let lately = self.faults.met_by(host, now.saturating_sub(session), now);
        // Whatever is started on a line that is always as slow survives that.
        let is_storm = |met: &[Fault]| met.iter().any(|fault| *fault != Fault::SlowLine);
        let is_slow = |fault: &Fault| matches!(fault, Fault::Delay | Fault::SlowLine | Fault::Standstill);
        Story {
            kind,
            patience,
            session,
            hits: contender.hits(),
            seen: self.watch.seen(contender.name()),
            in_storm: is_storm(&met),
            in_fresh_storm: is_storm(&lately),
            delayed: met.iter().any(is_slow),
            revoked_for: contender.revoked().and_then(|(since, node)| {
                let last = self.watch.last_seen().remove(contender.name())?;
                // Or the node was of a session that is over, and it queued again.
                last.at.checked_sub(since).filter(|_| last.nodes.contains(&node))
            }),
            status,
            took: now.saturating_sub(contender.born),
        }
    }

    /// What cost it the lock, if that was lost: what was done to it, or else the last fault that it met.
    fn cost_it_the_lock(&self, story: &Story, contender: &Contender) -> Option<String> {
        let killed = story.status.signal() == Some(9) && story.hits.contains(&Hit::KilledMonitor);
        if story.status.code() != Some(LOST) && !killed {
            return None;
        }
        let from = clock::now().saturating_sub(story.session);
        let met = || self.faults.met_by(contender.wish.host, from, clock::now());
        let hit = story.hits.last().map(|hit| format!("{hit:?}"));
        let fault = || met().last().map_or("a busy machine".to_owned(), |fault| format!("{fault:?}"));
        Some(hit.unwrap_or_else(fault))
    }

    /// Has a zklock do what operators do, and doesn't wait for it; then says that it is done.
    pub(crate) fn operate(&self, words: &[&str], done: impl FnOnce() + Send + 'static) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zklock"));
        command.args(words).env_clear().env(MARKER, &self.place.marker).env("HOME", &self.place.dir);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("zklock");
        thread::spawn(move || child.wait().is_ok_and(|status| status.success()).then(done));
    }

    /// The lost locks: see [`Losses::table`].
    pub(crate) fn losses(&self, slack: &HashMap<String, Slack>) -> String {
        self.state().losses.table(slack)
    }

    /// Something is wrong that isn't seen in one section or one end.
    pub(crate) fn accuse(&self, wrong: Option<String>) {
        self.state().wrong.extend(wrong);
    }

    pub(crate) fn living(&self) -> Vec<Arc<Contender>> {
        self.state().living.clone()
    }

    /// What was wrong first: two sections, or the end of a contender.
    pub(crate) fn wrong(&self) -> Option<String> {
        if self.interrupted.load(Ordering::SeqCst) {
            return Some(INTERRUPTED.to_owned());
        }
        let end = || self.state().wrong.first().cloned();
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
