//! Measures what a crowd of contenders for one lock costs, by its size. Each contender is the shipped `Run` with its
//! own session.
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use uuid::Uuid;
use zklock_core::protocol::{Request, SessionChange};
use zklock_core::queue::name::{Family, Mode, prefix};

use super::bare::{Bare, BareOptions, Counts};
use super::client::{Client, ClientEvent, HostClock, Settings};
use super::ensemble::wire::Acl;
use super::ensemble::{Config, ConnId, Ensemble, MS, Output, mix};
use super::options::Options;

const SECOND: u64 = 1_000 * MS;
const SLOTS: u32 = 10;
const LOCK: &[&str] = &["/locks/job"];

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

    fn most_at_once(self, count: usize) -> usize {
        if self == Self::Readers { count } else { self.holders() }
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

struct Crowd {
    kind: Kind,
    ensemble: Ensemble,
    contenders: Vec<Bare>,
    by_conn: HashMap<ConnId, usize>,
    running: usize,
    over: usize,
    last_token: i64,
    /// The owner of the idle nodes.
    extra: Option<Client>,
}

/// Queues this many waiters behind the holders, and this many idle nodes behind the waiters. Then the first `turns`
/// waiters run their commands.
///
/// Each contender lists the queue twice, so a full crowd of n costs n² names. With idle nodes behind it, a small crowd
/// shows what a hand-off costs in a long queue.
pub(crate) fn run(kind: Kind, waiters: usize, nodes: usize, turns: usize) -> Figures {
    let began = Instant::now();
    let mut ensemble = Ensemble::new(Config { tick: 2 * SECOND, ..Config::new(3, 1) });
    while !ensemble.is_whole() {
        ensemble.next(ensemble.now() + 100 * MS);
    }
    let count = waiters + kind.holders();
    let mut crowd = Crowd {
        kind,
        ensemble,
        contenders: Vec::with_capacity(count),
        by_conn: HashMap::new(),
        running: 0,
        over: 0,
        last_token: 0,
        extra: None,
    };
    let before = resident();
    for number in 0..count {
        // The first contender creates the lock path.
        crowd.enter(number);
        crowd.pass(if number < kind.holders() { SECOND / 10 } else { MS / 20 });
    }
    crowd.pass(SECOND);
    assert_eq!(crowd.running, kind.holders());
    let bytes = resident().saturating_sub(before) / count;
    let queued = crowd.counts();
    crowd.add_nodes(nodes);
    let since = crowd.ensemble.now();
    for holder in 0..kind.holders() {
        crowd.touch(holder, Bare::end_command);
    }
    let turns = turns.min(waiters);
    while crowd.over < kind.holders() + turns {
        crowd.pass(MS);
        assert!(
            crowd.ensemble.now() - since < 10 * SECOND + waiters as u64 * 20 * MS,
            "nobody has a turn any more"
        );
    }
    let drained_in = crowd.ensemble.now() - since;
    let drained = crowd.counts();
    let served = crowd.over - kind.holders();
    let each = |before: u64, after: u64, among: usize| (after - before) as f64 / among as f64;
    Figures {
        kind,
        waiters,
        nodes,
        served,
        bytes,
        requests_to_queue: each(0, queued.requests, count),
        requests_for_a_turn: each(queued.requests, drained.requests, crowd.over),
        lists_for_a_turn: each(queued.lists, drained.lists, crowd.over),
        wakes_for_a_release: each(queued.wakes, drained.wakes, crowd.over),
        confirmations_a_second: each(queued.confirmations, drained.confirmations, waiters)
            / drained_in as f64
            * SECOND as f64
            * if turns == waiters { 2.0 } else { 1.0 },
        drained_in: Duration::from_nanos(drained_in),
        computed_in: began.elapsed(),
    }
}

impl Crowd {
    fn enter(&mut self, number: usize) {
        let holds = number < self.kind.holders();
        let options = BareOptions {
            locks: LOCK,
            mode: self.kind.mode(number == 0),
            timeout: 30 * SECOND,
            lasts: if holds { u64::MAX / 4 } else { MS },
            reaping: 0,
            zone: 0,
            servers: vec![0, 1, 2],
            clock: HostClock::default(),
        };
        let bare = Bare::begin(&mut self.ensemble, options, number as u64);
        self.contenders.push(bare);
        self.touch(number, |_, _| ());
    }

    /// Creates nodes in one session that is otherwise idle.
    fn add_nodes(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let settings = Settings {
            zone: 0,
            servers: vec![0],
            timeout: 60 * SECOND,
            deadline: None,
            clock: HostClock::default(),
            acl: Acl::OPEN,
            seed: 0,
        };
        let token = u64::MAX - 1;
        let mut client = Client::open(&mut self.ensemble, settings, token);
        let mut left = count;
        while left > 0 {
            let until = self.ensemble.now() + SECOND;
            let Some(output) = self.ensemble.next(until) else { continue };
            let number = self.number_of(&output);
            match number {
                Some(number) => self.touch(number, |bare, ensemble| bare.take(ensemble, output)),
                None => client.take(&mut self.ensemble, output),
            }
            while let Some(news) = client.news() {
                match news {
                    ClientEvent::Session(SessionChange::Connected { .. }) => {
                        for node in 0..count as u64 {
                            let uuid = Uuid::from_u64_pair(mix(node ^ 1 << 40), node);
                            let prefix = prefix(Family::Curator, self.kind.mode(false), uuid);
                            let parent = LOCK[0].to_owned();
                            let request =
                                Request::Create { parent: parent.into(), prefix, data: vec![0; 150] };
                            client.ask(&mut self.ensemble, 0, request);
                        }
                    }
                    ClientEvent::Reply(..) => left -= 1,
                    ClientEvent::Session(change) => panic!("{change:?}"),
                }
            }
        }
        self.extra = Some(client);
    }

    fn number_of(&self, output: &Output) -> Option<usize> {
        match output {
            Output::Woken(token) => {
                Some(Bare::number_of(*token) as usize).filter(|&number| number < self.contenders.len())
            }
            Output::FromServer(conn, _) | Output::Closed(conn) => self.by_conn.get(conn).copied(),
        }
    }

    /// Lets time pass.
    fn pass(&mut self, span: u64) {
        let until = self.ensemble.now() + span;
        while let Some(output) = self.ensemble.next(until) {
            if let Some(number) = self.number_of(&output) {
                self.touch(number, |bare, ensemble| bare.take(ensemble, output));
            } else if let Some(client) = &mut self.extra {
                client.take(&mut self.ensemble, output);
            }
        }
    }

    /// Acts on one contender, then updates the counts and checks the result.
    fn touch(&mut self, number: usize, act: impl FnOnce(&mut Bare, &mut Ensemble)) {
        let most = self.kind.most_at_once(self.contenders.len());
        let bare = &mut self.contenders[number];
        let (conn, token, ran, was_over) = (bare.conn(), bare.token, bare.runs(), bare.is_over());
        act(bare, &mut self.ensemble);
        if conn != bare.conn() || ran && bare.is_over() {
            conn.map(|conn| self.by_conn.remove(&conn));
        }
        bare.conn().map(|conn| self.by_conn.insert(conn, number));
        self.running -= usize::from(ran && !bare.runs());
        if bare.token != token {
            let is_exclusive = bare.options().mode == Mode::Exclusive;
            assert!(!is_exclusive || bare.token > self.last_token, "zklock {number} has an old token");
            self.last_token = bare.token;
            self.running += 1;
            assert!(self.running <= most, "{} commands at once", self.running);
        }
        if bare.is_over() && !was_over {
            assert_eq!(bare.exit, Some(zklock_core::exit::Exit::Code(0)), "zklock {number}");
            self.over += 1;
        }
    }

    fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        for Counts { requests, lists, confirmations, wakes } in self.contenders.iter().map(|bare| bare.counts)
        {
            sum.requests += requests;
            sum.lists += lists;
            sum.confirmations += confirmations;
            sum.wakes += wakes;
        }
        sum
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
