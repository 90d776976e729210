//! The series of faults that a seed gives.

use crate::lan::Place;
use crate::options::{Aim, Options};
use crate::support::{Fault, Rng, Target};
use std::time::Duration;

#[allow(clippy::enum_glob_use, reason = "below are only tables of faults")]
use Fault::*;

impl Fault {
    /// The holder's host is confined to the affected server; otherwise its client would move to another.
    pub(crate) fn targets_holder(self) -> bool {
        matches!(self, DeposeLeader | PulseFollower)
    }

    /// It starts a contender of its own.
    pub(crate) fn needs_dedicated_contender(self) -> bool {
        matches!(self, LateConnect | SlowConnection)
    }
}

const AIMED_AT_OFF: &[(usize, Fault)] = &[(8, StopWorker), (1, Blackhole), (1, StopMonitor)];
const AIMED_AT_NEWEST: &[(usize, Fault)] = &[(8, PulseFollower), (1, CutClients), (1, IsolateFollower)];
const AIMED_AT_SYNC: &[(usize, Fault)] = &[(8, DeposeLeader), (1, CutClients), (1, IsolateLeader)];
const AIMED_AT_CONNECT: &[(usize, Fault)] = &[(8, LateConnect), (1, CutClients)];
const AIMED_AT_DOOM: &[(usize, Fault)] = &[(8, SlowConnection), (1, StopWorker), (1, Suspend)];
const AIMED_AT_KILL: &[(usize, Fault)] = &[(4, KillBoth), (8, KillFound), (1, CutClients)];
const AIMED_AT_REVOKE: &[(usize, Fault)] = &[(8, Revoke), (1, CutClients), (1, Blackhole)];

/// One fault of the series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    /// The delay since the previous fault began.
    pub(crate) after: Duration,
    pub(crate) fault: Fault,
    pub(crate) duration: Duration,
    /// All faults are healed first, followed by a pause.
    pub(crate) heal_first: bool,
    /// A random number that chooses among the possible targets.
    pub(crate) choice: usize,
}

impl Draw {
    /// It changes servers or the links between them. Only one such fault is active at a time.
    pub(crate) fn affects_ensemble(&self) -> bool {
        match self.fault.target() {
            Target::Packets | Target::Machine => Place::of(self).is_ensemble(),
            target => target == Target::Servers,
        }
    }

    /// It changes the links between hosts and servers. Only one such fault per host is active at a time.
    pub(crate) fn affects_hosts(&self) -> bool {
        let fault = self.fault;
        match fault.target() {
            Target::Packets | Target::Machine => !Place::of(self).is_ensemble(),
            target => fault.targets_holder() || fault.needs_dedicated_contender() || target == Target::Links,
        }
    }
}

/// What a fault changes, and so whom it can disturb.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    /// Servers, or the links between them: every contender.
    pub(crate) ensemble: bool,
    /// The hosts whose links are changed.
    pub(crate) hosts: Vec<usize>,
}

/// The endless series of faults of a seed.
pub(crate) struct Plan {
    rng: Rng,
    /// The faults, each with its weight.
    mix: Vec<(usize, Fault)>,
}

impl Plan {
    /// The faults that the options name; without any, those of the aim, or else all.
    pub(crate) fn new(rng: Rng, options: &Options) -> Self {
        let only = &options.faults;
        let mix = match options.aim {
            _ if !only.is_empty() => only.iter().map(|&fault| (1, fault)).collect(),
            None if options.hosts => Fault::weighted(|row| row.hosts),
            None => Fault::weighted(|row| row.chaos),
            Some(Aim::Off) => AIMED_AT_OFF.to_vec(),
            Some(Aim::Newest) => AIMED_AT_NEWEST.to_vec(),
            Some(Aim::Sync) => AIMED_AT_SYNC.to_vec(),
            Some(Aim::Connect) => AIMED_AT_CONNECT.to_vec(),
            Some(Aim::Doom) => AIMED_AT_DOOM.to_vec(),
            Some(Aim::Revoke) => AIMED_AT_REVOKE.to_vec(),
            Some(Aim::Kill) => AIMED_AT_KILL.to_vec(),
        };
        Self { rng, mix }
    }

    pub(crate) fn next_fault(&mut self) -> Draw {
        let rng = &mut self.rng;
        let fault = rng.weighted(&self.mix);
        let millis = fault.row().millis;
        Draw {
            after: rng.millis(50, 1000),
            fault,
            duration: rng.millis(millis.start, millis.end),
            heal_first: rng.chance(5),
            choice: rng.index(1 << 30),
        }
    }
}
