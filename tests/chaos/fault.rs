//! What can go wrong, and how a seed becomes a series of it.

use crate::options::Aim;
use crate::rng::Rng;
use std::time::Duration;

/// Who or what exactly is met is decided when it happens: servers by their role, contenders by what they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Fault {
    FreezeLeader,
    FreezeFollower,
    FreezeFollowers,
    KillLeader,
    KillFollower,
    /// Nothing passes between the leader and the others, who depose it when they notice, as it does itself.
    IsolateLeader,
    /// The same, and the others notice at once: it believes to lead long after they have elected another.
    DeposeLeader,
    IsolateFollower,
    /// A follower is isolated but for a moment in which it confirms a write.
    PulseFollower,
    CutClients,
    HoleToServers,
    HoleToClients,
    Hole,
    HoleOfOneServer,
    Delay,
    KillMonitor,
    KillWorker,
    /// Monitor, worker and job at once, as when a machine dies.
    KillHost,
    StopMonitor,
    StopWorker,
    Terminate,
    DeleteNode,
}

#[allow(clippy::enum_glob_use, reason = "tables of faults, and nothing else, are below")]
use Fault::*;

impl Fault {
    /// It changes what servers can say to each other. There is one such fault at a time.
    pub(crate) fn is_of_ensemble(self) -> bool {
        self <= PulseFollower
    }

    /// It changes what hosts can say to servers. There is one such fault at a time for each host.
    pub(crate) fn is_of_hosts(self) -> bool {
        self.is_aimed() || (CutClients..=Delay).contains(&self)
    }

    /// The holder's host is confined to the server in question, or it would just go to another.
    pub(crate) fn is_aimed(self) -> bool {
        matches!(self, DeposeLeader | PulseFollower)
    }

    fn lasts(self, rng: &mut Rng) -> Duration {
        match self {
            FreezeLeader | FreezeFollower => rng.millis(200, 5000),
            FreezeFollowers | KillLeader | KillFollower => rng.millis(200, 3000),
            IsolateLeader | IsolateFollower => rng.millis(500, 6000),
            DeposeLeader => rng.millis(5000, 8500),
            PulseFollower => rng.millis(4000, 6000),
            HoleToServers | HoleToClients | Hole | HoleOfOneServer => rng.millis(100, 6000),
            Delay => rng.millis(1000, 5000),
            StopMonitor | StopWorker => rng.millis(50, 7000),
            CutClients | KillMonitor | KillWorker | KillHost | Terminate | DeleteNode => Duration::ZERO,
        }
    }
}

const EVERYTHING: &[(usize, Fault)] = &[
    (6, FreezeLeader),
    (6, FreezeFollower),
    (3, FreezeFollowers),
    (5, KillLeader),
    (4, KillFollower),
    (5, IsolateLeader),
    (6, DeposeLeader),
    (5, IsolateFollower),
    (7, PulseFollower),
    (7, CutClients),
    (5, HoleToServers),
    (5, HoleToClients),
    (6, Hole),
    (4, HoleOfOneServer),
    (6, Delay),
    (7, KillMonitor),
    (7, KillWorker),
    (5, KillHost),
    (5, StopMonitor),
    (9, StopWorker),
    (8, Terminate),
    (6, DeleteNode),
];
const AGAINST_NO_LEASE: &[(usize, Fault)] = &[(8, StopWorker), (1, Hole), (1, StopMonitor)];
const AGAINST_NEWEST: &[(usize, Fault)] = &[(8, PulseFollower), (1, CutClients), (1, IsolateFollower)];
const AGAINST_SYNC: &[(usize, Fault)] = &[(8, DeposeLeader), (1, CutClients), (1, IsolateLeader)];

/// One fault of the series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    /// So long after the one before has begun.
    pub(crate) after: Duration,
    pub(crate) fault: Fault,
    pub(crate) lasts: Duration,
    /// First everything is healed, and left alone for a while.
    pub(crate) lull: bool,
    /// Chooses among those that it can meet.
    pub(crate) dice: usize,
}

/// The endless series of faults of a seed.
pub(crate) struct Plan {
    rng: Rng,
    aim: Option<Aim>,
}

impl Plan {
    pub(crate) fn new(rng: Rng, aim: Option<Aim>) -> Self {
        Self { rng, aim }
    }

    pub(crate) fn draw(&mut self) -> Draw {
        let rng = &mut self.rng;
        let fault = rng.weighted(match self.aim {
            None => EVERYTHING,
            Some(Aim::Off) => AGAINST_NO_LEASE,
            Some(Aim::Newest) => AGAINST_NEWEST,
            Some(Aim::Sync) => AGAINST_SYNC,
        });
        Draw {
            after: rng.millis(200, 3000),
            fault,
            lasts: fault.lasts(rng),
            lull: rng.chance(15),
            dice: rng.below(1 << 30),
        }
    }
}
