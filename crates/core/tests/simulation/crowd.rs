//! Measures what a crowd of contenders for one lock costs, by its size. Each contender is a whole zklock with a
//! host of its own.
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

use std::fmt;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use uuid::Uuid;
use zklock_core::exit::Exit;
use zklock_core::protocol::{Asker, QuestionIndex, Request};
use zklock_core::queue::name::{Family, Mode, prefix};

use super::ensemble::{Config, MS, mix};
use super::host::Zklock;
use super::options::Options;
use super::scenario::{Contender, Scenario};
use super::world::{Event, World};

const SECOND: u64 = 1_000 * MS;
const TICK: u64 = 2 * SECOND;
const SLOTS: u32 = 10;
const LOCK: &str = "/locks/a";

/// The kind of contenders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    Exclusive,
    /// One writer, and readers queued behind it.
    Readers,
    Slots,
}

impl Kind {
    fn mode(self, first: bool) -> Mode {
        match self {
            Self::Exclusive => Mode::Exclusive,
            Self::Readers if first => Mode::Exclusive,
            Self::Readers => Mode::Shared,
            Self::Slots => Mode::Slots(SLOTS),
        }
    }

    /// How many contenders hold the lock while the others arrive.
    fn holders(self) -> usize {
        if self == Self::Slots { SLOTS as usize } else { 1 }
    }

    /// A contender, which is a holder or a waiter.
    fn contender(self, number: usize) -> Contender {
        let lasts = if number < self.holders() { u64::MAX / 4 } else { MS };
        Contender { mode: self.mode(number == 0), ..Contender::exact(30 * SECOND, lasts, 0) }
    }
}

/// The measured cost of a crowd.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) kind: Kind,
    /// Contenders that wait.
    pub(crate) waiters: usize,
    /// Idle nodes queued behind the waiters.
    pub(crate) nodes: usize,
    /// Waiters that have run their command.
    pub(crate) served: usize,
    /// Bytes of memory per contender, including its simulated session and the servers' state.
    pub(crate) bytes: usize,
    pub(crate) requests_to_queue: f64,
    pub(crate) requests_for_a_turn: f64,
    pub(crate) lists_for_a_turn: f64,
    pub(crate) wakes_for_a_release: f64,
    pub(crate) confirmations_a_second: f64,
    pub(crate) drained_in: Duration,
    pub(crate) computed_in: Duration,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?}: {} waiters and {} more nodes, {} served: {} bytes each; {:.2} requests to queue; {:.3} requests, {:.3} of them lists, \
             and {:.3} wake-ups for a turn; {:.4} confirmations a second each; {:.3?} a hand-off, all in {:.1?}; took {:.1?}",
            self.kind,
            self.waiters,
            self.nodes,
            self.served,
            self.bytes,
            self.requests_to_queue,
            self.requests_for_a_turn,
            self.lists_for_a_turn,
            self.wakes_for_a_release,
            self.confirmations_a_second,
            self.drained_in / u32::try_from(self.served).unwrap_or(1),
            self.drained_in,
            self.computed_in,
        )
    }
}

/// Queues this many waiters behind the holders, and this many idle nodes behind the waiters. Then the first `turns`
/// waiters run their commands.
///
/// Each contender lists the queue twice, so a full crowd of n costs n² names. With idle nodes behind it, a small crowd
/// shows what a hand-off costs in a long queue.
pub(crate) fn run(kind: Kind, waiters: usize, nodes: usize, turns: usize) -> Figures {
    let (began, holders) = (Instant::now(), kind.holders());
    let count = waiters + holders;
    let scenario = Scenario {
        seed: 1,
        tick: Duration::from_nanos(TICK),
        servers: 3,
        contenders: (0..count).map(|number| kind.contender(number)).collect(),
        faults: vec![],
        aim: None,
    };
    let config = Config { tick: TICK, zones: count + 1, ..Config::new(3, 1) };
    let before = resident();
    let mut world = World::with(config, scenario, false);
    world.await_servers();
    for number in 0..count {
        // The first contender creates the lock path.
        world.start(number);
        pass(&mut world, if number < holders { SECOND / 10 } else { MS / 20 });
    }
    pass(&mut world, SECOND);
    assert_eq!(world.commands(), holders as u64);
    let bytes = resident().saturating_sub(before) / count;
    let queued = world.counts;
    add_nodes(&mut world, kind, nodes);
    let since = world.now;
    for holder in 0..holders {
        let command = world.zklocks[holder].command.iter_mut();
        command.for_each(|command| command.leader_ends(Exit::Code(0), since));
        world.at(since, Event::Command(holder));
    }
    let turns = turns.min(waiters);
    let mut over = 0;
    while over < holders + turns {
        pass(&mut world, MS);
        let late = world.now - since > 10 * SECOND + waiters as u64 * 20 * MS;
        assert!(!late, "nobody has a turn any more");
        let exits = world.zklocks.iter().filter_map(Zklock::exit);
        over = exits.inspect(|exit| assert_eq!(*exit, Exit::Code(0))).count();
    }
    let drained_in = world.now - since;
    let drained = world.counts;
    let served = over - holders;
    let each = |before: u64, after: u64, among: usize| (after - before) as f64 / among as f64;
    Figures {
        kind,
        waiters,
        nodes,
        served,
        bytes,
        requests_to_queue: each(0, queued.requests, count),
        requests_for_a_turn: each(queued.requests, drained.requests, over),
        lists_for_a_turn: each(queued.lists, drained.lists, over),
        wakes_for_a_release: each(queued.wakes, drained.wakes, over),
        confirmations_a_second: each(queued.confirmations, drained.confirmations, waiters)
            / drained_in as f64
            * SECOND as f64
            * if turns == waiters { 2.0 } else { 1.0 },
        drained_in: Duration::from_nanos(drained_in),
        computed_in: began.elapsed(),
    }
}

/// Lets time pass in which nothing is violated.
fn pass(world: &mut World, span: u64) {
    world.pass(world.now + span);
    assert_eq!(world.checks.violation, None);
}

/// Creates nodes in one session that is otherwise idle.
fn add_nodes(world: &mut World, kind: Kind, count: usize) {
    if count == 0 {
        return;
    }
    world.open_operator();
    pass(world, 3 * SECOND);
    let queued = world.ensemble.children(LOCK).len();
    for node in 0..count as u64 {
        let uuid = Uuid::from_u64_pair(mix(node ^ 1 << 40), node);
        let prefix = prefix(Family::Curator, kind.mode(false), uuid);
        let create = Request::Create { path: format!("{LOCK}/{prefix}").into(), data: vec![0; 150] };
        world.ask(world.operator.unwrap(), Asker::Question(QuestionIndex(0)), create);
    }
    while world.ensemble.children(LOCK).len() < queued + count {
        pass(world, SECOND);
    }
}

/// The resident memory of this process, in bytes.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4_096
}

/// Runs a crowd of the wanted kind or of every kind, and prints and checks what it cost.
pub(crate) fn run_all(waiters: usize, options: &Options) {
    for &kind in options.kind.as_ref().map_or(Kind::value_variants(), std::slice::from_ref) {
        let figures = run(kind, waiters, options.nodes, options.turns.unwrap_or(waiters));
        println!("{figures}");
        figures.check();
    }
}

impl Figures {
    /// Checks the figures that must not grow with the crowd.
    fn check(&self) {
        // One list of the queue, and the release: delete and close. A slot takes one more list; readers start together.
        let requests = match self.kind {
            Kind::Exclusive => 3.1,
            Kind::Readers => 2.1,
            Kind::Slots => 4.1,
        };
        assert!(self.requests_for_a_turn <= requests, "{self}");
        assert!(self.wakes_for_a_release <= 1.0, "{self}");
    }
}
