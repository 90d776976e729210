//! A run: servers, contenders and faults for a while, then healing and the final checks.

use crate::contender::Place;
use crate::fault::{Moment, Plan, Reach};
use crate::final_check::check_after_healing;
use crate::harness::{HOSTS, Harness};
use crate::injector::Injector;
use crate::invocation::LOCKS;
use crate::job::Workplace;
use crate::lan;
use crate::options::Options;
use crate::support::clock;
use crate::support::network::{Network, SERVERS, ServerSettings};
use crate::support::{Fault, History, Observer, Rng, Section, Server, kill_all, new_marker};
use crate::transaction_log::{Transaction, deletions, lost_transactions, transactions};
use crate::wires::Wires;
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
/// The history and the servers' logs have milliseconds of two clocks.
const ROUNDING: Duration = Duration::from_millis(4);
/// A nap that takes longer by this is a standstill of the machine.
const STANDSTILL: Duration = Duration::from_millis(250);

/// The violation reported for a run that ended by an error of the checker itself.
pub(crate) const FAILED: &str = "the checker failed; see the message above";

/// The result of a run.
pub(crate) struct Outcome {
    pub(crate) violation: Option<String>,
    /// How the servers broke their own promises, so that no lock could hold or be acquired.
    pub(crate) broken_servers: Option<String>,
    pub(crate) sections: Vec<Section>,
    pub(crate) excerpt: String,
    pub(crate) faults: usize,
    pub(crate) last_faults: String,
    pub(crate) took: Duration,
}

/// The settings of the servers, drawn from the seed.
pub(crate) fn server_settings(rng: &mut Rng) -> ServerSettings {
    ServerSettings { tick_ms: rng.pick(&[400, 500]), sync_limit: rng.pick(&[5, 8]) }
}

pub(crate) fn run(options: &Options, settings: ServerSettings, rng: &mut Rng, dir: &Path) -> Outcome {
    let wires: &dyn Wires = if options.hosts {
        &lan::start(settings, SERVERS, HOSTS)
    } else {
        // Another process can take a port between the choice of the port and the start of the server.
        let attempt = || catch_unwind(|| Network::start(settings, HOSTS)).ok();
        &attempt().or_else(attempt).unwrap_or_else(|| Network::start(settings, HOSTS))
    };
    let observer = Observer::new(&wires.direct());
    for lock in LOCKS {
        observer.mkdirs(lock);
    }
    let history = History::new(dir, "run");
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
        scope.spawn(|| log_standstills(wires, &harness));
        let course = AssertUnwindSafe(|| {
            let mut injector = Injector::new(wires, &harness, &observer);
            inject_faults(&mut injector, &mut plan, began + options.duration);
            injector.heal_all();
            let took = began.elapsed();
            let violation = harness.violation().or_else(|| check_after_healing(&harness, &observer));
            (violation.or_else(|| outlived(wires, &harness)), took)
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
    Outcome {
        violation,
        broken_servers,
        sections: harness.history.at_end(|checker| checker.sections().to_vec()),
        excerpt: harness.history.excerpt(),
        faults: harness.faults.count(),
        last_faults: harness.faults.last(12),
        took,
    }
}

/// A section that continued after its node was deleted, by the servers' own logs.
fn outlived(wires: &dyn Wires, harness: &Harness) -> Option<String> {
    // The sections first: the logs must be at least as new.
    let sections = harness.history.at_end(|checker| {
        checker.sections().iter().filter(|section| checker.counts(section)).cloned().collect::<Vec<_>>()
    });
    let (logged, epoch) = (logged(wires), clock::epoch());
    let deletions = deletions(&logged);
    sections.iter().find_map(|Section { name, places, last, .. }| {
        let deleted = places.iter().filter_map(|place| deletions.get(&*place.node)).min()?;
        let late = (epoch + *last).checked_sub(*deleted).filter(|late| *late > ROUNDING)?;
        Some(format!("OUTLIVED: {name} gave a sign of life {late:?} after its node was deleted"))
    })
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

/// Logs a fault when the machine is late with naps, or with answers of the servers: contenders may lose
/// their locks then, without a fault that was injected.
fn log_standstills(wires: &dyn Wires, harness: &Harness) {
    const NAP: Duration = Duration::from_millis(50);
    while !harness.stop.load(Ordering::SeqCst) {
        let began = Instant::now();
        thread::sleep(NAP);
        wires.servers().iter().for_each(|server| drop(server.mode()));
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
            injector.harness.report(outlived(injector.wires, injector.harness));
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
