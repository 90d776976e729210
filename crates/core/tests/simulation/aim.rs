//! Faults that wait for the moment at which they do the most harm, because chance alone rarely hits it: the answer to a
//! certain request is lost, or a server is behind while the lock passes on.
//! `explore` tries the other moments of a lease.
//!
//! Each world has at most one. Its victim holds the lock or is about to, and other contenders are queued behind it.

use std::time::Duration;

use fastrand::Rng;
use zklock_core::exit::Exit;
use zklock_core::protocol::{Reply, Request};

use super::client::HostClock;
use super::command::CommandBehaviour;
use super::fault::Fault;
use super::host::Pace;
use super::scenario::{Contender, PROGRESS, Scenario, pick};
use super::world::{Event, SessionOwner, World};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// A fault aimed at one contender. Times are in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Aim {
    pub(crate) victim: usize,
    /// How many requests of the kind, or how many confirmations, precede the fault.
    after: u32,
    /// The delay after that until the fault begins.
    later: u64,
    /// How long the fault lasts. Then everything is healed.
    lasts: u64,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    /// The connection breaks just after a request of this kind was sent, before or after it takes effect.
    Lost(Kind),
    /// Its follower receives the leader's messages late by `lag` and its own don't arrive, while the lock passes to the
    /// victim and on to the next contender.
    Behind { lag: u64, release: u64 },
    /// The session moves to a server that applies commits late by `lag`, just after the create was answered: that server
    /// doesn't have the victim's node yet.
    MovedBack { lag: u64 },
}

/// The kind of request whose answer is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Create,
    Watch,
    List,
    Confirm,
    Write,
    RecordSuccess,
}

impl Kind {
    fn of(request: &Request) -> Option<Self> {
        match request {
            Request::Create { .. } => Some(Self::Create),
            Request::Watch(_) => Some(Self::Watch),
            Request::List(_) | Request::CatchUpAndList(_) => Some(Self::List),
            Request::Confirm(_) => Some(Self::Confirm),
            Request::Write(..) => Some(Self::Write),
            Request::RecordSuccess { .. } => Some(Self::RecordSuccess),
            _ => None,
        }
    }
}

/// A step of an aimed fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Move {
    Begin,
    Release,
    Heal,
}

/// How far the aimed fault has got.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// How many of the requests or confirmations that precede the fault have come.
    seen: u32,
    healed: bool,
}

impl World {
    /// Whether the aimed fault is over, or there is none.
    pub(crate) fn is_aim_over(&self) -> bool {
        self.scenario.aim.is_none() || self.progress.healed
    }

    /// Lets the victim begin at one follower, and the others elsewhere, if the fault hits a server.
    pub(crate) fn aim_begins(&mut self, index: usize) {
        let (Some(aim), Some(leader)) = (&self.scenario.aim, self.ensemble.leader()) else { return };
        let servers = self.scenario.servers;
        for server in 0..servers {
            let is_hit = server == (leader + 1) % servers;
            let goes = matches!(aim.what, What::Lost(_)) || (index == aim.victim) == is_hit;
            self.ensemble.refuse(index, server, !goes);
        }
    }

    /// Reacts to a request of the victim.
    pub(crate) fn aim_sees_question(&mut self, owner: SessionOwner, request: &Request) {
        let Some(aim) = self.scenario.aim.as_ref().filter(|aim| owner == SessionOwner::Worker(aim.victim))
        else {
            return;
        };
        match aim.what {
            What::MovedBack { lag }
                if matches!(request, Request::Create { .. }) && self.progress.seen == 0 =>
            {
                if let Some((_, other)) = self.followers_of(aim.victim) {
                    self.ensemble.set_lag(other, lag);
                }
            }
            What::Lost(kind) if Kind::of(request) == Some(kind) => self.aim_counts(),
            _ => {}
        }
    }

    /// Reacts to a reply to the victim.
    pub(crate) fn aim_sees_answer(&mut self, owner: SessionOwner, reply: &Reply) {
        let aim = self.scenario.aim.as_ref().filter(|aim| owner == SessionOwner::Worker(aim.victim));
        match (aim.map(|aim| aim.what), reply) {
            (Some(What::MovedBack { .. }), Reply::Created(Ok(_)))
            | (Some(What::Behind { .. }), Reply::Confirmed(_, Ok(()))) => self.aim_counts(),
            _ => {}
        }
    }

    /// Schedules the fault if enough has preceded it.
    fn aim_counts(&mut self) {
        let Some(Aim { after, later, lasts, .. }) = self.scenario.aim else { return };
        self.progress.seen += 1;
        if self.progress.seen == after + 1 {
            self.after(later, Event::Aim(Move::Begin));
            self.after(later + lasts, Event::Aim(Move::Heal));
        }
    }

    pub(crate) fn aim_moves(&mut self, what: Move) {
        let Some(aim) = self.scenario.aim.clone() else { return };
        let Aim { victim, what: fault, .. } = aim;
        self.trace.print(self.now, || format!("aimed at zklock {victim}: {what:?} of {fault:?}"));
        match (what, fault) {
            (Move::Begin, What::Lost(_)) => self.reset(victim),
            (Move::Begin, What::MovedBack { .. }) => {
                if let Some((_, to)) = self.followers_of(victim) {
                    for other in 0..self.scenario.servers {
                        self.ensemble.refuse(victim, other, other != to);
                    }
                }
                self.reset(victim);
            }
            (Move::Begin, What::Behind { lag, release }) => {
                if let (Some(leader), Some((server, _))) = (self.ensemble.leader(), self.followers_of(victim))
                {
                    self.ensemble.delay_peer(leader, server, lag);
                    self.ensemble.set_data_hole(server, leader, true);
                }
                self.after(release, Event::Aim(Move::Release));
            }
            (Move::Release, _) => self.apply_fault(0, Fault::DeleteNode, 0),
            (Move::Heal, _) => self.aim_heals(),
        }
    }

    /// The follower that the victim is connected to, and the other one.
    fn followers_of(&self, victim: usize) -> Option<(usize, usize)> {
        let (leader, server) = (self.ensemble.leader()?, self.server_of(victim)?);
        let other = (0..self.scenario.servers).find(|other| ![leader, server].contains(other))?;
        (server != leader).then_some((server, other))
    }

    fn aim_heals(&mut self) {
        self.progress.healed = true;
        self.calm_since = self.now;
        let servers = self.scenario.servers;
        for server in 0..servers {
            self.ensemble.set_lag(server, 0);
            for other in 0..servers {
                self.ensemble.delay_peer(server, other, 0);
                self.ensemble.set_data_hole(server, other, false);
            }
            for index in 0..self.zklocks.len() {
                self.ensemble.refuse(index, server, false);
            }
        }
    }
}

impl Scenario {
    /// Draws a holder or waiter as the victim, with others queued behind it.
    pub(crate) fn draw_aimed(seed: u64, rng: &mut Rng) -> Self {
        let tick = Duration::from_millis(*pick(rng, &[500, 1_000, 2_000]));
        let nanos = u64::try_from(tick.as_nanos()).unwrap();
        let timeout = nanos * *pick(rng, &[2, 2, 3, 4, 6, 8, 10]);
        let aim = Aim::draw(rng, nanos, timeout);
        let count = rng.usize(2..=3) + aim.victim;
        let mut starts = S + rng.u64(0..2 * S);
        let mut contenders: Vec<Contender> = (0..count)
            .map(|index| {
                let contender = Contender::draw_aimed(rng, timeout, starts, index <= aim.victim);
                starts += rng.u64(50 * MS..timeout / 3 + 51 * MS);
                contender
            })
            .collect();
        if let What::Lost(Kind::RecordSuccess) = aim.what {
            let victim = &mut contenders[aim.victim];
            victim.once_per = Some(Duration::from_secs(1));
            victim.command.lasts = rng.u64(0..2 * S);
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

impl Aim {
    fn draw(rng: &mut Rng, tick: u64, timeout: u64) -> Self {
        let kinds = [Kind::Create, Kind::Watch, Kind::List, Kind::Confirm, Kind::Write, Kind::RecordSuccess];
        let what = match rng.u8(0..4) {
            0 | 1 => What::Lost(*pick(rng, &kinds)),
            2 => What::Behind { lag: tick * rng.u64(20..48) / 10, release: rng.u64(0..timeout) },
            _ => What::MovedBack { lag: timeout * rng.u64(50..120) / 1_000 },
        };
        let (victim, after, later, lasts) = match what {
            What::Lost(kind) => {
                let after = if kind == Kind::RecordSuccess { 0 } else { rng.u32(0..3) };
                (rng.usize(0..2), after, rng.u64(0..timeout / 100 + 5 * MS), 1)
            }
            What::Behind { .. } => (1, rng.u32(0..10), rng.u64(0..timeout / 12), 2 * timeout + 12 * tick),
            What::MovedBack { lag } => (rng.usize(0..2), 0, rng.u64(0..timeout / 100), 2 * lag),
        };
        Self { victim, after, later, lasts, what }
    }
}
