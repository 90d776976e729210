//! The series of faults that a seed gives.

use crate::lan::Place;
use crate::options::Options;
use crate::support::{Fault, Rng, Target};
use std::time::Duration;

/// When a fault comes that hits one contender. The start and the end of a command are short, so two fifths are aimed at
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Any,
    /// After a contender was started.
    Spawned,
    /// After the end of the holder before it, when the next one starts its command.
    First,
    /// About when the command ends.
    Ending,
    /// After the command's last word.
    Ended,
}

impl Moment {
    const WEIGHTS: [(usize, Self); 5] =
        [(6, Self::Any), (1, Self::Spawned), (1, Self::First), (1, Self::Ending), (1, Self::Ended)];

    /// The fault comes at most so many microseconds after it.
    fn micros(self) -> u64 {
        match self {
            Self::Any => 0,
            Self::Spawned => 90_000,
            Self::First | Self::Ending => 30_000,
            Self::Ended => 8_000,
        }
    }
}

/// One fault of the series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    /// The delay since the previous fault began.
    pub(crate) after: Duration,
    pub(crate) fault: Fault,
    pub(crate) moment: Moment,
    /// How long after that moment.
    pub(crate) offset: Duration,
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
        match self.fault.target() {
            Target::Packets | Target::Machine => !Place::of(self).is_ensemble(),
            target => target == Target::Links,
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
    /// The faults that the options name; without any, all of the mode.
    pub(crate) fn new(rng: Rng, options: &Options) -> Self {
        let only = &options.faults;
        let mix = match () {
            () if !only.is_empty() => only.iter().map(|&fault| (1, fault)).collect(),
            () if options.hosts => Fault::weighted(|row| row.hosts),
            () if options.escape => Fault::weighted(|row| usize::from(row.escapes)),
            () => Fault::weighted(|row| row.chaos),
        };
        Self { rng, mix }
    }

    pub(crate) fn next_fault(&mut self) -> Draw {
        let rng = &mut self.rng;
        let fault = rng.weighted(&self.mix);
        let millis = fault.row().millis;
        let moment = match fault.target() {
            Target::Processes | Target::Node | Target::Links => rng.weighted(&Moment::WEIGHTS),
            _ => Moment::Any,
        };
        Draw {
            after: rng.millis(50, 1000),
            fault,
            moment,
            offset: Duration::from_micros(rng.below(moment.micros() + 1)),
            duration: rng.millis(millis.start, millis.end),
            heal_first: rng.chance(5),
            choice: rng.index(1 << 30),
        }
    }
}
