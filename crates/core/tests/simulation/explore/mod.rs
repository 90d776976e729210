//! Runs a few zklocks under every schedule with a few departures from the plain one: for `scripts/simulate --explore`.
//! Here are the contenders, and how much is explored.
//!
//! | module | topic |
//! |---|---|
//! | [`choices`] | which schedules there are, and the search through them |
//! | [`recipe`] | the queue: messages held up, connections lost, zklocks killed, nodes deleted |
//! | [`pair`] | worker and monitor: reports, a death and a signal in every order |
//! | [`lease`] | time: a slow follower, a cut line, a slow clock |

mod choices;
mod lease;
mod pair;
mod recipe;

use zklock_core::queue::name::Mode::{self, Exclusive, Shared, Slots};

use self::choices::{Choices, Outcome, report};
use self::lease::{Fault, Setup};
use self::recipe::{Scene, T};
use super::ensemble::MS;
use super::scenario::Contender;

fn contender(mode: Mode, lasts: u64) -> Contender {
    Contender { mode, ..Contender::exact(T, lasts * MS, T / 12) }
}

fn scene(servers: usize, contenders: Vec<Contender>, any_two: bool) -> Scene {
    Scene { servers, contenders, is_made: true, any_two }
}

/// The recipe scenes: name, largest number of departures, contenders.
fn recipes() -> Vec<(&'static str, usize, Scene)> {
    let two = || vec![contender(Exclusive, 2), contender(Exclusive, 2)];
    let three = |modes: [Mode; 3]| modes.map(|mode| contender(mode, 2)).to_vec();
    let slots = vec![
        contender(Slots(2), 40),
        contender(Slots(2), 20),
        contender(Slots(2), 4_000),
        contender(Slots(2), 2),
    ];
    let orders = [["/locks/a", "/locks/b"], ["/locks/b", "/locks/a"]];
    let locks = orders.map(|locks| Contender { locks: locks.to_vec(), ..contender(Exclusive, 2) }).to_vec();
    let long = vec![contender(Exclusive, 6_000), contender(Exclusive, 2)];
    let unmade = Scene { is_made: false, ..scene(1, two(), true) };
    vec![
        ("two contenders", 2, scene(1, two(), true)),
        ("two contenders, three servers", 2, scene(3, two(), true)),
        ("two contenders, no path yet", 1, unmade),
        ("three contenders", 2, scene(1, three([Exclusive; 3]), false)),
        ("a writer, a reader, a writer", 2, scene(1, three([Exclusive, Shared, Exclusive]), false)),
        ("a reader, a writer, a reader", 2, scene(1, three([Shared, Exclusive, Shared]), false)),
        ("two slots for three", 2, scene(1, three([Slots(2); 3]), false)),
        ("two slots for four", 1, scene(1, slots, false)),
        ("two locks in either order", 1, scene(1, locks, false)),
        ("a long command", 1, scene(3, long, false)),
    ]
}

const SLOW: Setup = Setup {
    ticks: 2,
    offset: 0,
    phase: 0,
    horizon: 20,
    slow_by: 0,
    waits_for: None,
    is_at_leader: false,
    faults: &[Fault::Slow, Fault::Cut],
    any_two: false,
};

/// The lease scenes: name, largest number of departures, setups. The setups are a few, or with `is_whole` every
/// beginning within a tick.
fn leases(is_whole: bool) -> Vec<(&'static str, usize, Vec<Setup>)> {
    let places: &'static [u64] = if is_whole { &[0, 1, 2, 3, 4, 5] } else { &[0, 3] };
    let with = |setup: Setup| -> Vec<Setup> {
        let setup = Setup { any_two: is_whole, ..setup };
        let every = places.iter().flat_map(|offset| places.iter().map(move |phase| (*offset, *phase)));
        let every = every.filter(|(offset, phase)| is_whole || offset == phase);
        every.map(|(offset, phase)| Setup { offset, phase, ..setup }).collect()
    };
    // A clock that loses a twelfth of the session timeout while the timeout passes.
    let slow_by = 1_000_000_000 / 13;
    let silence = Setup { faults: &[Fault::Silence], horizon: 24, ..SLOW };
    let waits: &[u64] = if is_whole { &[1, 3, 5, 8, 12, 15] } else { &[3, 12] };
    let waiting = |faults: &'static [Fault]| -> Vec<Setup> {
        let setup = |steps: &u64| Setup { waits_for: Some(*steps), horizon: 30, faults, ..SLOW };
        waits.iter().map(setup).collect()
    };
    let at_leader = Setup { is_at_leader: true, faults: &[Fault::Depose], horizon: 80, ..SLOW };
    vec![
        ("a slow follower", 2, with(SLOW)),
        ("a slow follower, three ticks", 2, with(Setup { ticks: 3, ..SLOW })),
        ("answers that are held up", 2, with(Setup { faults: &[Fault::Held, Fault::Cut], ..SLOW })),
        ("a lost connection", 2, with(Setup { faults: &[Fault::Reset, Fault::Cut], ..SLOW })),
        ("a late worker", 2, with(Setup { faults: &[Fault::Frozen, Fault::Cut], ..SLOW })),
        ("one that has waited", 2, waiting(SLOW.faults)),
        ("one that has waited, and answers that are held up", 2, waiting(&[Fault::Held, Fault::Cut])),
        ("a silence", 1, with(silence)),
        ("a deposed leader", 1, with(at_leader)),
        ("a slow clock", 2, with(Setup { slow_by, ..SLOW })),
    ]
}

/// A search: its name, its largest number of departures, and its runs.
struct Search {
    name: &'static str,
    most: usize,
    run: Box<dyn Fn(&mut Choices) -> Outcome + Sync>,
}

/// The searches whose names contain `wanted`.
fn searches(wanted: &str, is_whole: bool) -> impl Iterator<Item = Search> {
    let pairs = pair::scenes().into_iter().map(|(name, most, scene)| -> Search {
        Search { name, most, run: Box::new(move |choices| pair::run(&scene, choices)) }
    });
    let recipes = recipes().into_iter().map(|(name, most, scene)| -> Search {
        Search { name, most, run: Box::new(move |choices| recipe::run(&scene, choices)) }
    });
    let leases = leases(is_whole).into_iter().map(|(name, most, setups)| {
        let run = move |choices: &mut Choices| lease::run(&setups[choices.choose(setups.len())], choices);
        Search { name, most: most + 1, run: Box::new(run) }
    });
    pairs.chain(recipes).chain(leases).filter(move |search| search.name.contains(wanted))
}

/// Explores all scenes whose name contains `wanted`. Returns whether nothing was violated.
pub(crate) fn all(wanted: &str, is_whole: bool) -> bool {
    let mut good = true;
    for Search { name, most, run } in searches(wanted, is_whole) {
        good &= report(name, most, run);
    }
    if "a clock beyond what the lease assumes".contains(wanted) {
        good &= beyond();
    }
    good
}

/// Checks that the search notices a fault that a lease doesn't withstand, so that a search without a finding proves
/// something.
fn beyond() -> bool {
    let setups: Vec<Setup> =
        (0..6).map(|phase| Setup { phase, slow_by: 1_000_000_000 / 4, ..SLOW }).collect();
    let found = choices::search(3, |choices| lease::run(&setups[choices.choose(setups.len())], choices));
    println!(
        "explore: a clock beyond what the lease assumes: {found}, {:?} {:?}",
        found.violation, found.least
    );
    found.violation.is_some()
}
