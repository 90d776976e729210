//! A run: servers, contenders and faults for a while, then calm, and what must be true in it.

use crate::arena::Arena;
use crate::arena::{AMBUSHED, HOSTS};
use crate::calm::calm_down;
use crate::checker::Numbers;
use crate::clock;
use crate::contender::Place;
use crate::fault::{Fault, Plan};
use crate::options::{Aim, Options};
use crate::rng::Rng;
use crate::slack::{Slack, outlived, slack};
use crate::storm::Storm;
use crate::support::network::{Ensemble, Network};
use crate::support::{Observer, Server, kill_all, new_marker};
use crate::txn_log::departures;
use crate::watch::Watch;
use crate::wish::LOCKS;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long everything is left alone in a lull.
const CALM: Duration = Duration::from_secs(4);
/// How long a fault waits until it can happen; then the next one's turn comes.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same for one that wants a holder of its own kind.
const PATIENCE_FOR_A_HOLDER: Duration = Duration::from_secs(6);
/// How often the servers' logs are read.
const READ_LOGS: Duration = Duration::from_secs(20);
/// A nap that takes so much longer than it should is nobody's doing.
const STANDSTILL: Duration = Duration::from_millis(250);

/// What a run has found that ended by a mistake of its own.
pub(crate) const FAILED: &str = "the checker failed, as said above";

/// What a run has found.
pub(crate) struct Outcome {
    pub(crate) wrong: Option<String>,
    pub(crate) numbers: Numbers,
    /// What happened in the longest pause.
    pub(crate) pause_faults: String,
    pub(crate) excerpt: String,
    pub(crate) faults: usize,
    pub(crate) fault_summary: String,
    pub(crate) last_faults: String,
    pub(crate) ends: String,
    /// What the lost locks had to spare.
    pub(crate) losses: String,
    pub(crate) took: Duration,
}

/// The servers that a seed gets.
pub(crate) fn ensemble(rng: &mut Rng, aim: Option<Aim>) -> Ensemble {
    let drawn = Ensemble { tick_ms: rng.pick(&[400, 500]), sync_limit: rng.pick(&[5, 8]) };
    match aim {
        // A deposed leader answers `sync` for as long as it bears its followers' silence.
        Some(Aim::Sync) => Ensemble { tick_ms: 400, sync_limit: 15 },
        // The longer the tick, the later a session ends; rounding could hide what is wrong.
        Some(Aim::Newest | Aim::Connect) => Ensemble { tick_ms: 400, ..drawn },
        _ => drawn,
    }
}

pub(crate) fn run(options: &Options, ensemble: Ensemble, rng: &mut Rng, dir: &Path) -> Outcome {
    // On a busy machine another process can win a port between our choice and the server's start.
    let attempt = || catch_unwind(|| Network::start(ensemble, HOSTS + 1)).ok();
    let network = attempt().or_else(attempt).unwrap_or_else(|| Network::start(ensemble, HOSTS + 1));
    let observer = Observer::new(&network.direct());
    for lock in LOCKS {
        observer.mkdirs(lock);
    }
    let watch = Watch::new(dir);
    let place = Place {
        dir: dir.to_owned(),
        marker: new_marker(),
        history: watch.path().to_owned(),
        hosts: (0..=AMBUSHED).map(|host| network.connect_string(host)).collect(),
    };
    let arena = Arena::new(place, watch, Duration::from_millis(u64::from(ensemble.tick_ms) * 2));
    let began = Instant::now();
    let (wrong, took) = thread::scope(|scope| {
        let mut plan = Plan::new(rng.fork(), options.aim);
        for host in 0..HOSTS {
            let (mut rng, arena) = (rng.fork(), &arena);
            scope.spawn(move || arena.slot(host, &mut rng, options.aim));
        }
        scope.spawn(|| note_standstills(&arena));
        scope.spawn(|| arena.slot_of_the_ambushed());
        let story = AssertUnwindSafe(|| {
            let mut storm = Storm::new(&network, &arena, &observer);
            rage(&mut storm, &mut plan, began + options.lasts);
            storm.heal_all();
            let took = began.elapsed();
            let wrong = arena.wrong().or_else(|| calm_down(&arena, &observer));
            (wrong.or_else(|| outlived(&slacks(&network, &arena))), took)
        });
        // A server or an observer that fails us ends the run, and nobody shall outlive that.
        let failed = |_| (Some(FAILED.to_owned()), began.elapsed());
        let outcome = catch_unwind(story).unwrap_or_else(failed);
        arena.stop.store(true, Ordering::SeqCst);
        kill_all(&arena.place.marker);
        outcome
    });
    Outcome {
        wrong,
        pause_faults: arena.faults.within(&arena.watch.numbers().longest_pause),
        numbers: arena.watch.numbers(),
        excerpt: arena.watch.excerpt(),
        faults: arena.faults.count(),
        fault_summary: arena.faults.summary(),
        last_faults: arena.faults.last(12),
        ends: arena.ends(),
        losses: arena.losses(&slacks(&network, &arena)),
        took,
    }
}

/// How much time there was between the end of each section and that of its node.
fn slacks(network: &Network, arena: &Arena) -> HashMap<String, Slack> {
    // First the sections: what they are judged by comes later.
    let sections = arena.watch.last_seen();
    slack(&sections, &departures(network.servers.iter().map(Server::data)))
}

/// Notes it as a fault when the machine is too busy for anybody to keep a rhythm.
fn note_standstills(arena: &Arena) {
    const NAP: Duration = Duration::from_millis(20);
    while !arena.stop.load(Ordering::SeqCst) {
        let began = Instant::now();
        thread::sleep(NAP);
        let late = began.elapsed().saturating_sub(NAP);
        if late > STANDSTILL {
            arena.faults.add(Fault::Standstill, Duration::ZERO, &[], &format!("the machine, for {late:?}"));
        }
    }
}

/// Faults until the time is over, or something is wrong.
fn rage(storm: &mut Storm<'_>, plan: &mut Plan, until: Instant) {
    let never = AtomicBool::new(false);
    let wait = |storm: &mut Storm<'_>, span: Duration| {
        let until = until.min(Instant::now() + span);
        while Instant::now() < until && storm.arena.wrong().is_none() {
            storm.heal_due();
            clock::nap(Duration::from_millis(20), &never);
        }
    };
    let mut read_logs_at = Instant::now() + READ_LOGS;
    while Instant::now() < until && storm.arena.wrong().is_none() {
        if Instant::now() > read_logs_at {
            storm.arena.accuse(outlived(&slacks(storm.network, storm.arena)));
            read_logs_at = Instant::now() + READ_LOGS;
        }
        let draw = plan.draw();
        if draw.lull {
            storm.heal_all();
            wait(storm, CALM);
        }
        wait(storm, draw.after);
        let patience = if draw.fault.is_aimed() { PATIENCE_FOR_A_HOLDER } else { PATIENCE };
        let latest = until.min(Instant::now() + patience);
        while Instant::now() < latest && storm.arena.wrong().is_none() && !storm.begin(&draw) {
            wait(storm, Duration::from_millis(50));
        }
    }
}
