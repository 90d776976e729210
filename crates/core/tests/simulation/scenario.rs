//! Scenarios drawn from a seed: the contenders, and the faults that hit them.

use std::time::Duration;

use fastrand::Rng;
use zklock_core::exit::Exit;
use zklock_core::queue::name::Mode;
use zklock_core::signal::{SIGHUP, SIGKILL};

use super::client::HostClock;
use super::command::{CommandBehaviour, Other};
use super::fault::Fault;
use super::host::Pace;

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
pub(crate) const PROGRESS: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    pub(crate) tick: Duration,
    pub(crate) servers: usize,
    pub(crate) contenders: Vec<Contender>,
    pub(crate) faults: Vec<PlannedFault>,
}

/// One zklock, and its host.
#[derive(Debug, Clone)]
pub(crate) struct Contender {
    pub(crate) starts: u64,
    pub(crate) locks: Vec<&'static str>,
    pub(crate) mode: Mode,
    pub(crate) session_timeout: u64,
    pub(crate) kill_after: Duration,
    pub(crate) nonblock: bool,
    pub(crate) wait: Option<Duration>,
    pub(crate) once_per: Option<Duration>,
    /// How long it waits before it says what it waits for.
    pub(crate) progress: Option<Duration>,
    pub(crate) single_child: bool,
    pub(crate) command: CommandBehaviour,
    /// The longest time that a message takes in one direction.
    pub(crate) line: u64,
    /// The only server that it was told of, unless it knows all.
    pub(crate) server: Option<usize>,
    /// Its host's clock: start and drift.
    pub(crate) clock: HostClock,
    pub(crate) pace: Pace,
}

/// A fault, and when it comes.
#[derive(Debug, Clone)]
pub(crate) struct PlannedFault {
    pub(crate) at: u64,
    pub(crate) who: usize,
    pub(crate) fault: Fault,
    pub(crate) lasts: u64,
}

impl Scenario {
    pub(crate) fn draw(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let tick = Duration::from_millis(*pick(&mut rng, &[500, 1_000, 2_000]));
        let kind = rng.u8(0..10);
        let count = rng.usize(2..=6);
        let mut contenders: Vec<Contender> =
            (0..count).map(|_| Contender::draw(&mut rng, kind, tick)).collect();
        let span = 5 * S * contenders.len() as u64;
        let faults = (0..rng.usize(0..=5)).map(|_| PlannedFault::draw(&mut rng, count, span)).collect();
        let servers = *pick(&mut rng, &[1, 3, 3, 3]);
        for contender in &mut contenders {
            contender.single_child = rng.u8(0..4) == 0;
        }
        Self { seed, tick, servers, contenders, faults }
    }

    /// When the last fault is over.
    pub(crate) fn settled(&self) -> u64 {
        self.faults.iter().map(|fault| fault.at + fault.lasts).max().unwrap_or_default()
    }

    /// When everything must have ended.
    pub(crate) fn limit(&self) -> u64 {
        let commands: u64 = self.contenders.iter().map(|contender| contender.command.lasts + 45 * S).sum();
        let last = self.contenders.iter().map(|contender| contender.starts).max().unwrap_or_default();
        self.settled().max(last) + commands + 300 * S
    }
}

pub(crate) fn pick<'a, T>(rng: &mut Rng, from: &'a [T]) -> &'a T {
    &from[rng.usize(0..from.len())]
}

impl Contender {
    /// One for an exclusive lock, with a command that ignores TERM, on a host that takes no time but for KILL.
    pub(crate) fn exact(session_timeout: u64, lasts: u64, kill: u64) -> Self {
        Self {
            starts: 0,
            locks: vec!["/locks/a"],
            mode: Mode::Exclusive,
            session_timeout,
            kill_after: Duration::from_secs(5),
            nonblock: false,
            wait: None,
            once_per: None,
            progress: None,
            single_child: false,
            command: CommandBehaviour { lasts, exit: Exit::Code(0), obeys: None, others: vec![] },
            line: 0,
            server: None,
            clock: HostClock::default(),
            pace: Pace::Exact { kill },
        }
    }

    fn draw(rng: &mut Rng, kind: u8, tick: Duration) -> Self {
        let mode = match kind {
            0..6 => Mode::Exclusive,
            6..8 => *pick(rng, &[Mode::Exclusive, Mode::Shared, Mode::Shared]),
            _ => Mode::Slots(2),
        };
        let several = kind == 5 && rng.u8(0..4) != 0;
        let ticks = rng.u64(2..=15);
        let timeout = u64::try_from(tick.as_nanos()).unwrap() * ticks;
        // The line is usually quick enough. A slow one opens a session, for which each answer may take T/8.
        let line = if rng.u8(0..20) == 0 { timeout / 20 } else { rng.u64(MS..=timeout / 60) };
        let once = kind == 4 && rng.bool();
        Self {
            starts: 1_000 * MS + rng.u64(0..8 * S),
            locks: match rng.u8(0..2) {
                _ if !several => vec!["/locks/a"],
                0 => vec!["/locks/a", "/locks/b"],
                _ => vec!["/locks/b", "/locks/a"],
            },
            mode,
            session_timeout: timeout,
            kill_after: Duration::from_millis(*pick(rng, &[0, 200, 1_000, 5_000])),
            nonblock: rng.u8(0..12) == 0,
            wait: (rng.u8(0..8) == 0).then(|| Duration::from_millis(rng.u64(100..20_000))),
            once_per: once.then(|| Duration::from_secs(rng.u64(1..60))),
            progress: Some(PROGRESS),
            single_child: false,
            command: CommandBehaviour::draw(rng),
            line,
            server: None,
            clock: HostClock { start: rng.u64(0..1_000 * S), drift_ppb: rng.i64(-1..=1) * 500_000, slept: 0 },
            pace: Pace::Drawn,
        }
    }
}

impl CommandBehaviour {
    fn draw(rng: &mut Rng) -> Self {
        let obeys = |rng: &mut Rng| (rng.u8(0..4) != 0).then(|| rng.u64(0..400 * MS));
        let exit = match rng.u8(0..10) {
            0 => Exit::Signal(SIGKILL),
            1 => Exit::Signal(SIGHUP),
            2..5 => Exit::Code(rng.u8(1..=255)),
            _ => Exit::Code(0),
        };
        let lasts = if rng.bool() { rng.u64(0..500 * MS) } else { rng.u64(0..12 * S) };
        let others = if rng.u8(0..3) == 0 { rng.usize(1..4) } else { 0 };
        let others = (0..others)
            .map(|_| Other { lasts: rng.u64(0..20 * S), obeys: obeys(rng), in_group: rng.bool() })
            .collect();
        Self { lasts, exit, obeys: obeys(rng), others }
    }
}

impl PlannedFault {
    fn draw(rng: &mut Rng, count: usize, span: u64) -> Self {
        let faults = Fault::weighted(|row| row.simulated);
        let mut left = rng.usize(0..faults.iter().map(|(weight, _)| weight).sum());
        let chosen = faults.into_iter().find(|&(weight, _)| {
            let is_chosen = left < weight;
            left = left.saturating_sub(weight);
            is_chosen
        });
        Self {
            at: 1_000 * MS + rng.u64(0..span),
            who: rng.usize(0..count),
            fault: chosen.unwrap().1,
            lasts: rng.u64(50 * MS..30 * S),
        }
    }
}
