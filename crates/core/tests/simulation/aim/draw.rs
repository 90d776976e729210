//! Draws worlds with an aimed fault from a seed.

use std::time::Duration;

use fastrand::Rng;
use zklock_core::exit::Exit;

use super::{Aim, Kind, MS, Starvation, What};
use crate::bounds::stops_after;
use crate::client::HostClock;
use crate::command::CommandBehaviour;
use crate::host::Pace;
use crate::scenario::{Contender, PROGRESS, Scenario, pick};

const S: u64 = 1_000 * MS;

impl Scenario {
    /// Draws a holder or waiter as the victim, with others queued behind it.
    pub(crate) fn draw_aimed(seed: u64, rng: &mut Rng) -> Self {
        let tick = Duration::from_millis(*pick(rng, &[500, 1_000, 2_000]));
        let nanos = u64::try_from(tick.as_nanos()).unwrap();
        // Some faults need such precise timing that they need a timeout of their own.
        let (ticks, what) = match rng.u8(0..8) {
            0 => {
                let ticks = *pick(rng, &[8, 10, 10]);
                (ticks, Some(What::Starved(Starvation::exact(rng, nanos * ticks))))
            }
            1 => (2, Some(What::SlowConnect { delay: 2 * nanos * rng.u64(95..118) / 1_000 })),
            2 => {
                let ticks = *pick(rng, &[2, 3, 4, 8, 10]);
                (ticks, Some(What::MovedBack { lag: nanos * ticks * rng.u64(50..120) / 1_000 }))
            }
            _ => (*pick(rng, &[2, 2, 2, 3, 3, 4, 6, 8, 10]), None),
        };
        let mut aim = Aim::draw(rng, nanos, ticks, what);
        let timeout = nanos * ticks;
        let count = rng.usize(2..=3) + aim.victim;
        let mut starts = S + rng.u64(0..2 * S);
        let contenders: Vec<Contender> = (0..count)
            .map(|index| {
                let holds_long = index <= aim.victim;
                let contender = Contender::draw_aimed(rng, timeout, starts, holds_long);
                // The victim may begin a tick later than planned.
                starts += nanos + rng.u64(50 * MS..timeout / 3 + 51 * MS);
                contender
            })
            .collect();
        let mut contenders = contenders;
        if aim.what == What::Blink {
            // The default grace and a quick line, because both determine how long an interruption is survived.
            contenders[aim.victim].kill_after = Duration::from_secs(5);
            contenders[aim.victim].clock.drift_ppb = 0;
            contenders[aim.victim].line = MS / 4;
        }
        if let What::Lost { request: Kind::RecordSuccess, .. } = aim.what {
            contenders[aim.victim].once_per = Some(Duration::from_secs(1));
            contenders[aim.victim].command.exit = Exit::Code(0);
            contenders[aim.victim].command.lasts = rng.u64(0..2 * S);
            aim.after = 0;
        }
        Self { seed, tick, servers: 3, contenders, faults: vec![], aim: Some(aim) }
    }
}

impl Contender {
    fn draw_aimed(rng: &mut Rng, timeout: u64, starts: u64, holds_long: bool) -> Self {
        let lasts = if holds_long { 5 * timeout + rng.u64(0..5 * timeout) } else { rng.u64(0..3 * timeout) };
        let obeys = (rng.u8(0..4) == 0).then(|| rng.u64(0..400 * MS));
        // Clocks may drift apart by the reserve between KILL and the lease end: a fifth of a second per timeout, less
        // the time that KILL takes.
        let most = (200 * MS).min(timeout / 12) - 35 * MS;
        let most_ppb = i64::try_from(u128::from(most) * 1_000_000_000 / u128::from(timeout)).unwrap();
        Self {
            starts,
            kill_after: Duration::from_millis(*pick(rng, &[0, 0, 200, 1_000, 5_000])),
            command: CommandBehaviour { lasts, exit: Exit::Code(0), obeys, others: vec![] },
            line: MS / 2 + rng.u64(0..timeout / 240),
            clock: HostClock {
                start: rng.u64(0..1_000 * S),
                drift_ppb: *pick(rng, &[0, -most_ppb, -most_ppb, most_ppb]),
                slept: 0,
            },
            progress: Some(PROGRESS),
            pace: Pace::Drawn,
            ..Self::exact(timeout, lasts, 0)
        }
    }
}

impl Starvation {
    /// Fits as many confirmations as possible between two pings.
    fn exact(rng: &mut Rng, timeout: u64) -> Self {
        let (gap, quiet) = (Some(longest_gap(timeout)), rng.u32(1..4));
        Self { lag: rng.u64(0..timeout / 40), quiet, more: 4 - quiet, at_ping: true, gap }
    }

    fn draw(rng: &mut Rng, lag: u64, timeout: u64) -> Self {
        let at_ping = rng.u8(0..4) != 0;
        let gap = (at_ping && rng.bool()).then(|| longest_gap(timeout));
        Self { lag, quiet: rng.u32(0..4), more: rng.u32(1..=3), at_ping, gap }
    }
}

/// The longest gap between pings. A lease assumes a leader whose pings are less than T/3 apart, by the clock of any
/// host.
fn longest_gap(timeout: u64) -> u64 {
    timeout / 3 - timeout / 50 - 10 * MS
}

impl Aim {
    fn draw(rng: &mut Rng, tick: u64, ticks: u64, what: Option<What>) -> Self {
        let timeout = tick * ticks;
        // A span close to one of the intervals in the lease rule.
        let near = |rng: &mut Rng| {
            let part = timeout / *pick(rng, &[12, 6, 6, 4, 3, 3, 2]);
            part * rng.u64(70..130) / 100
        };
        // A lag above a twenty-fourth of the timeout costs the victim its connection.
        let lag = if rng.bool() { near(rng) } else { rng.u64(0..timeout / 24) };
        let what = what.unwrap_or_else(|| match rng.u8(0..34) {
            0..10 => What::Starved(Starvation::draw(rng, lag, timeout)),
            10..12 => What::Moved(Starvation::draw(rng, lag, timeout)),
            12..17 => What::SlowConnect { delay: timeout * rng.u64(85..118) / 1_000 },
            17..19 => {
                let directions = rng.u8(1..4);
                What::CutOff { from_leader: directions & 1 != 0, to_leader: directions & 2 != 0 }
            }
            19 => What::Frozen,
            20..22 => What::Deposed,
            22 => What::Closing,
            23..26 => What::Blink,
            26..28 => {
                let kinds =
                    [Kind::Create, Kind::Watch, Kind::List, Kind::Confirm, Kind::Write, Kind::RecordSuccess];
                What::Lost { request: *pick(rng, &kinds), offset: rng.u64(0..timeout / 100 + 5 * MS) }
            }
            28..30 => What::Orphaned,
            30..32 => What::Asleep,
            _ => What::Behind { lag: tick * rng.u64(20..48) / 10, release: rng.u64(0..timeout) },
        });
        let victim = match what {
            What::Behind { .. } | What::Orphaned => 1,
            What::Lost { .. } | What::MovedBack { .. } => rng.usize(0..2),
            _ => 0,
        };
        let lasts = match what {
            // What is left when the oldest confirmation that counts was sent 7T/12 ago, less the time to reconnect: a
            // pause of up to T/19, and 4R.
            What::Blink => stops_after(timeout) - timeout * 7 / 12 - timeout * rng.u64(40..75) / 1_000,
            What::Frozen | What::CutOff { .. } => near(rng) * rng.u64(1..4),
            What::Orphaned => 1,
            What::MovedBack { lag } => 2 * lag,
            What::Asleep => timeout * rng.u64(500..2_500) / 1_000,
            _ => 2 * timeout + 12 * tick,
        };
        let after = match what {
            What::Blink => rng.u32(8..16),
            What::Lost { .. } => rng.u32(0..3),
            _ => rng.u32(0..10),
        };
        let later = match what {
            What::SlowConnect { .. } => rng.u64(0..20 * MS),
            What::MovedBack { .. } => rng.u64(0..timeout / 100),
            _ => rng.u64(0..timeout / 12),
        };
        Self { victim, after, later, lasts, what }
    }
}
