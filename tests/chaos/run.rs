//! A run: servers, contenders and faults for a while, then healing and the final checks.

use crate::checker::Numbers;
use crate::contender::Place;
use crate::fault::{Moment, Plan, Reach};
use crate::final_check::check_after_healing;
use crate::harness::{HOSTS, Harness};
use crate::history::History;
use crate::injector::Injector;
use crate::invocation::LOCKS;
use crate::job::Workplace;
use crate::lan;
use crate::options::Options;
use crate::slack::{self, Slack, outlived};
use crate::support::clock;
use crate::support::network::{Network, ServerSettings};
use crate::support::{Fault, Observer, Rng, Server, kill_all, new_marker};
use crate::transaction_log::{Transaction, lost_transactions, removals, transactions};
use crate::wires::Wires;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The pause after all faults were healed.
const HEALED_PAUSE: Duration = Duration::from_secs(4);
/// The longest time that a fault waits before it is skipped: for another one to end, and for its moment.
const MAX_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY_TO_A_MOMENT: Duration = Duration::from_secs(4);
const READ_LOGS: Duration = Duration::from_secs(20);
/// A nap that takes longer by this is a standstill of the machine.
const STANDSTILL: Duration = Duration::from_millis(250);

/// The violation reported for a run that ended by an error of the checker itself.
pub(crate) const FAILED: &str = "the checker failed; see the message above";

/// The result of a run.
pub(crate) struct Outcome {
    pub(crate) violation: Option<String>,
    /// How the servers broke their own promises, so that no lock could hold or be acquired.
    pub(crate) broken_servers: Option<String>,
    pub(crate) numbers: Numbers,
    /// The faults during the longest pause.
    pub(crate) pause_faults: String,
    pub(crate) excerpt: String,
    pub(crate) faults: usize,
    pub(crate) fault_summary: String,
    pub(crate) last_faults: String,
    pub(crate) exits: String,
    /// See [`slack::told`].
    pub(crate) slack: String,
    pub(crate) took: Duration,
}

/// The settings of the servers, drawn from the seed.
pub(crate) fn server_settings(rng: &mut Rng) -> ServerSettings {
    ServerSettings { tick_ms: rng.pick(&[400, 500]), sync_limit: rng.pick(&[5, 8]) }
}

pub(crate) fn run(options: &Options, settings: ServerSettings, rng: &mut Rng, dir: &Path) -> Outcome {
    let wires: &dyn Wires = if options.hosts {
        &lan::start(settings, options.servers, HOSTS)
    } else {
        // On a busy machine another process can take a port between the choice of the port and the start of the server.
        let attempt = || catch_unwind(|| Network::start(settings, HOSTS)).ok();
        &attempt().or_else(attempt).unwrap_or_else(|| Network::start(settings, HOSTS))
    };
    let observer = Observer::new(&wires.direct());
    for lock in LOCKS {
        observer.mkdirs(lock);
    }
    let history = History::new(dir);
    let place = Place {
        dir: dir.to_owned(),
        marker: new_marker(),
        jobs: Workplace::new(dir, history.path()),
        hosts: wires.hosts(),
    };
    let harness = Harness::new(place, history, Duration::from_millis(u64::from(settings.tick_ms) * 2));
    let began = Instant::now();
    let (violation, took) = thread::scope(|scope| {
        let mut plan = Plan::new(rng.fork(), options);
        for host in 0..HOSTS {
            let (mut rng, harness) = (rng.fork(), &harness);
            scope.spawn(move || harness.run_slot(host, &mut rng));
        }
        scope.spawn(|| log_standstills(&harness));
        let course = AssertUnwindSafe(|| {
            let mut injector = Injector::new(wires, &harness, &observer);
            inject_faults(&mut injector, &mut plan, began + options.duration);
            injector.heal_all();
            let took = began.elapsed();
            let violation = harness.violation().or_else(|| check_after_healing(&harness, &observer));
            (violation.or_else(|| outlived(&slacks(wires, &harness))), took)
        });
        // A failed server or observer ends the run, and no process may be left.
        let failed = |_| (Some(FAILED.to_owned()), began.elapsed());
        let outcome = catch_unwind(course).unwrap_or_else(failed);
        harness.stop.store(true, Ordering::SeqCst);
        kill_all(&harness.place.marker);
        outcome
    });
    let broken_servers = lost_transactions(&logged(wires))
        .or_else(|| violation.as_ref().and_then(|_| serves_nobody(wires, &observer)));
    let numbers = harness.history.at_end(|checker| checker.numbers.clone());
    Outcome {
        violation,
        broken_servers,
        pause_faults: harness.faults.within(&numbers.longest_pause),
        numbers,
        excerpt: harness.history.excerpt(),
        faults: harness.faults.count(),
        fault_summary: harness.faults.summary(),
        last_faults: harness.faults.last(12),
        exits: harness.exits(),
        slack: slack::told(&slacks(wires, &harness)),
        took,
    }
}

/// The slack of each section.
fn slacks(wires: &dyn Wires, harness: &Harness) -> HashMap<String, Slack> {
    // The sections first: the logs must be at least as new.
    let sections = harness.history.at_end(|checker| checker.last_seen());
    slack::slack(&sections, &removals(&logged(wires)))
}

/// What the servers do if they give an independent client no answer after all faults were healed.
fn serves_nobody(wires: &dyn Wires, observer: &Observer) -> Option<String> {
    catch_unwind(AssertUnwindSafe(|| observer.exists(LOCKS[0]))).err()?;
    let states: Vec<_> = wires.servers().iter().map(|server| (server.mode(), server.log_tail())).collect();
    Some(format!("they serve nobody although all faults are healed: {states:#?}"))
}

fn logged(wires: &dyn Wires) -> Vec<Transaction> {
    transactions(wires.servers().iter().map(Server::data))
}

/// Logs a fault when the machine is too busy for naps of the right length.
fn log_standstills(harness: &Harness) {
    const NAP: Duration = Duration::from_millis(20);
    while !harness.stop.load(Ordering::SeqCst) {
        let began = Instant::now();
        thread::sleep(NAP);
        let late = began.elapsed().saturating_sub(NAP);
        if late > STANDSTILL {
            let everyone = Reach { ensemble: true, hosts: vec![] };
            let target = format!("the machine, for {late:?}");
            harness.faults.add(Fault::Standstill, Duration::ZERO, everyone, &target);
        }
    }
}

/// Injects faults until the time is over or there is a violation.
fn inject_faults(injector: &mut Injector<'_>, plan: &mut Plan, until: Instant) {
    let never = AtomicBool::new(false);
    let wait = |injector: &mut Injector<'_>, span: Duration| {
        let until = until.min(Instant::now() + span);
        while Instant::now() < until && injector.harness.violation().is_none() {
            injector.heal_due();
            clock::nap(Duration::from_millis(20), &never);
        }
    };
    let mut read_logs_at = Instant::now() + READ_LOGS;
    while Instant::now() < until && injector.harness.violation().is_none() {
        if Instant::now() > read_logs_at {
            injector.harness.report(outlived(&slacks(injector.wires, injector.harness)));
            read_logs_at = Instant::now() + READ_LOGS;
        }
        let draw = plan.next_fault();
        if draw.heal_first {
            injector.heal_all();
            wait(injector, HEALED_PAUSE);
        }
        wait(injector, draw.after);
        if draw.moment != Moment::Any {
            let latest = until.min(Instant::now() + MAX_DELAY_TO_A_MOMENT);
            if let Some(met) = injector.await_moment(&draw, latest) {
                injector.begin(&draw, Some(&met));
            }
            continue;
        }
        let latest = until.min(Instant::now() + MAX_DELAY);
        while Instant::now() < latest
            && injector.harness.violation().is_none()
            && !injector.begin(&draw, None)
        {
            wait(injector, Duration::from_millis(50));
        }
    }
}
