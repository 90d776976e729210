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

use std::time::Duration;

use zklock_core::queue::name::Mode::{self, Exclusive, Shared, Slots};

use self::choices::{Choices, Outcome};
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
    let once = two().into_iter().map(|one| Contender { once_per: Some(Duration::ZERO), ..one }).collect();
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
        ("once per period", 1, scene(1, once, false)),
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
};

/// The lease scenes: name, largest number of departures, setups.
fn leases() -> Vec<(&'static str, usize, Vec<Setup>)> {
    let with = |setup: Setup| [0, 3].map(|begin| Setup { offset: begin, phase: begin, ..setup }).to_vec();
    // A clock that loses a twelfth of the session timeout while the timeout passes.
    let slow_by = 1_000_000_000 / 13;
    let silence = Setup { faults: &[Fault::Silence], horizon: 24, ..SLOW };
    let waiting = |faults: &'static [Fault]| {
        [3, 12].map(|steps| Setup { waits_for: Some(steps), horizon: 30, faults, ..SLOW }).to_vec()
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
type Search = (&'static str, usize, Box<dyn Fn(&mut Choices) -> Outcome + Sync>);

fn searches() -> impl Iterator<Item = Search> {
    let pairs = pair::scenes().into_iter().map(|(name, most, scene)| -> Search {
        (name, most, Box::new(move |choices| pair::run(&scene, choices)))
    });
    let recipes = recipes().into_iter().map(|(name, most, scene)| -> Search {
        (name, most, Box::new(move |choices| recipe::run(&scene, choices)))
    });
    let leases = leases().into_iter().map(|(name, most, setups)| -> Search {
        let run = move |choices: &mut Choices| lease::run(&setups[choices.choose(setups.len())], choices);
        (name, most + 1, Box::new(run))
    });
    pairs.chain(recipes).chain(leases)
}

/// Explores all scenes whose name contains `wanted`. Returns whether nothing was violated.
pub(crate) fn all(wanted: &str) -> bool {
    let wanted = searches().filter(|(name, ..)| name.contains(wanted));
    wanted.fold(true, |good, (name, most, run)| choices::report(name, most, run) && good)
}
