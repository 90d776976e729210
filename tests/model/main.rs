//! The lock's and the lease's decisions, the very functions that the program runs, explored by a model checker.
//!
//! `recipe` is about the queue: several contenders, every order of events, lost connections, ends of sessions,
//! deaths, no time. `lease` is about time: one holder behind a slow follower, and one who is next. Both are
//! complete up to the bounds that they print.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a model that meets something unexpected ends there")]
#![allow(missing_docs, unreachable_pub, reason = "names and the head of each file are the documentation")]

mod ensemble;
mod lease;
mod link;
mod planted;
mod recipe;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::{self, Debug};
use std::hash::Hash;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model, Path};
use zklock::core::lock::contender::{Entry, Ids};
use zklock::core::lock::name::{Family, Mode};
use zklock::core::path::LockPath;

use self::lease::{Lease, REAPING};
use self::planted::Mistake;
use self::recipe::{Broken, Recipe, Troubles};

/// An exclusive contender whose attempts are named by `ids`.
fn entry(ids: Ids) -> Entry {
    Entry {
        path: lock_path(),
        family: Family::Curator,
        mode: Mode::Exclusive,
        data: vec![],
        data_with_slot: vec![],
        nonblock: false,
        ids,
    }
}

/// The lock that everybody wants.
fn lock_path() -> LockPath {
    LockPath::parse(OsStr::new("/l")).unwrap()
}

/// Explores everything within the bound, and says how much that was.
fn explore<M>(name: &str, bound: &str, model: M)
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq + Send + Sync,
{
    let began = Instant::now();
    let checker = model.checker().threads(2).spawn_bfs().join();
    say(format_args!(
        "model: {name}: {} states, {} unique, depth {}, bound: {bound}; {:.1?}",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth(),
        began.elapsed(),
    ));
    checker.assert_properties();
}

/// Looks for a way in which `property` fails, and fails itself if there is none.
fn notice<M>(what: &str, model: M, property: &'static str)
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq + Send + Sync,
{
    let wanted = HasDiscoveries::AnyOf(BTreeSet::from([property]));
    let checker = model.checker().threads(2).finish_when(wanted).spawn_bfs().join();
    let found = checker.discovery(property).map(Path::into_actions);
    say(format_args!("model: {what}: \"{property}\" fails after {:?}", found.as_ref().unwrap()));
}

/// Past the test harness, which keeps what a passing test prints to itself.
fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// The queue, where any two things may go wrong.
const RECIPE: Recipe = Recipe { contenders: 2, allowed: |troubles| troubles.total() <= 2, broken: None };

/// Time, with clocks that agree.
const LEASE: Lease =
    Lease { horizon: 17, late: 0, held_before: 0, breaks: 0, standstill: Duration::ZERO, planted: None };

/// A lost connection and somebody's hand in the queue, or one trouble of another kind: three contenders with any
/// two are too many to explore.
fn fewer(troubles: Troubles) -> bool {
    let Troubles { gaps, thefts, others } = troubles;
    troubles.total() <= 1 || gaps == 1 && thefts == 1 && others == 0
}

#[test]
fn recipe() {
    explore("recipe", "2 contenders, 2 troubles", RECIPE);
    let bound = "3 contenders, 1 trouble or a lost connection and a deleted node";
    explore("recipe", bound, Recipe { contenders: 3, allowed: fewer, ..RECIPE });
}

#[test]
fn a_broken_recipe_is_noticed() {
    let broken = |broken| Recipe { broken: Some(broken), ..RECIPE };
    notice("a contender that isn't told of a gap", broken(Broken::NeverTold), "no lost wake-up");
    notice("a new server that lags", broken(Broken::Lagging), "nobody fails without cause");
}

#[test]
fn lease() {
    explore("lease", "17 twelfths of a timeout", LEASE);
    let late = Lease { horizon: 13, late: 1, ..LEASE };
    explore("lease", "13 twelfths of a timeout, confirmations late by one", late);
    let held = Lease { horizon: 13, held_before: 2, ..LEASE };
    explore("lease", "13 twelfths of a timeout, answers that are held up once, early", held);
    let gap = Lease { horizon: 13, breaks: 1, ..LEASE };
    explore("lease", "13 twelfths of a timeout, 1 lost connection", gap);
    let lagging = Lease { horizon: 15, standstill: REAPING, ..LEASE };
    explore("lease", "15 twelfths of a timeout, a clock that loses one", lagging);
}

#[test]
fn a_broken_lease_is_noticed() {
    let planted = |mistake| Lease { planted: Some(mistake), ..LEASE };
    notice("a lease spaced by a sixth", planted(Mistake::SpacedBySixth), OUTLIVED);
    notice("a lease by count", planted(Mistake::ByCount), OUTLIVED);
    notice("a lease from the newest", planted(Mistake::FromNewest), OUTLIVED);
    let held = |mistake| Lease { horizon: 14, held_before: 1, ..planted(mistake) };
    notice("a lease dated from the answer", held(Mistake::FromAnswer), OUTLIVED);
    notice("a revived lease", held(Mistake::Revived), OUTLIVED);
}

#[test]
fn a_planted_lease_without_a_mistake_is_as_good_as_the_real_one() {
    let planted = Lease { horizon: 16, planted: Some(Mistake::Nothing), ..LEASE };
    explore("planted", "16 twelfths of a timeout", planted);
}

#[test]
fn a_clock_beyond_what_the_lease_assumes_is_noticed() {
    let standstill = REAPING * 2;
    notice("a clock that loses a sixth", Lease { standstill, ..LEASE }, OUTLIVED);
}

const OUTLIVED: &str = "a job is gone before its session ends";
