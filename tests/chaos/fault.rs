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
    FreezeAll,
    KillLeader,
    KillFollower,
    /// Nothing passes between the leader and the others, who depose it when they notice, as it does itself.
    IsolateLeader,
    /// The same, and the others notice at once: it believes to lead long after they have elected another.
    DeposeLeader,
    IsolateFollower,
    /// The others hear nothing of it, and it hears them.
    MuteLeader,
    MuteFollower,
    /// It hears nothing of the others, and they hear it.
    DeafenLeader,
    DeafenFollower,
    /// The answer to a connect request is late, and the follower that gave it is isolated from then on, but for a moment
    /// in which it takes the lock: that session was never heard of again since it began.
    LateConnect,
    /// A follower is isolated but for a moment in which it confirms a write.
    PulseFollower,
    CutClients,
    HoleToServers,
    HoleToClients,
    Hole,
    HoleOfOneServer,
    Delay,
    /// The line is as slow from the beginning to the end, and nothing else ails it.
    SlowLine,
    /// The next request of a kind is lost, and the connection with it.
    LoseRequest,
    /// The next request of a kind is carried out, and the connection cut instead of the answer.
    LoseAnswer,
    KillMonitor,
    KillWorker,
    /// Monitor, worker and job at once, as when a machine dies.
    KillHost,
    StopMonitor,
    StopWorker,
    /// First the worker stands still, and as soon as it goes on the monitor.
    StopInTurn,
    Suspend,
    Terminate,
    Revoke,
    DeleteNode,
    /// Nobody's doing: the machine that all run on stood still for a moment.
    Standstill,
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
        self.is_aimed() || self.is_ambush() || (CutClients..=LoseAnswer).contains(&self)
    }

    /// The holder's host is confined to the server in question, or it would just go to another.
    pub(crate) fn is_aimed(self) -> bool {
        matches!(self, DeposeLeader | PulseFollower)
    }

    /// It meets a contender that is there for nothing else.
    pub(crate) fn is_ambush(self) -> bool {
        matches!(self, LateConnect | SlowLine)
    }

    fn lasts(self, rng: &mut Rng) -> Duration {
        match self {
            FreezeLeader | FreezeFollower => rng.millis(200, 5000),
            FreezeFollowers | KillLeader | KillFollower => rng.millis(200, 3000),
            FreezeAll => rng.millis(100, 4000),
            IsolateLeader | IsolateFollower => rng.millis(500, 6000),
            MuteLeader | MuteFollower | DeafenLeader | DeafenFollower => rng.millis(500, 5000),
            LateConnect => Duration::from_secs(13),
            SlowLine => Duration::from_secs(12),
            DeposeLeader => rng.millis(5000, 8500),
            PulseFollower => rng.millis(4000, 6000),
            HoleToServers | HoleToClients | Hole | HoleOfOneServer => rng.millis(100, 6000),
            Delay => rng.millis(1000, 5000),
            LoseRequest | LoseAnswer => rng.millis(1500, 6000),
            StopMonitor | StopWorker => rng.millis(50, 7000),
            StopInTurn => rng.millis(50, 1500),
            Suspend => rng.millis(50, 4000),
            CutClients | KillMonitor | KillWorker | KillHost | Terminate | Revoke | DeleteNode
            | Standstill => Duration::ZERO,
        }
    }
}

const EVERYTHING: &[(usize, Fault)] = &[
    (5, FreezeLeader),
    (4, FreezeFollower),
    (3, FreezeFollowers),
    (3, FreezeAll),
    (4, KillLeader),
    (3, KillFollower),
    (4, IsolateLeader),
    (4, DeposeLeader),
    (4, IsolateFollower),
    (3, MuteLeader),
    (2, MuteFollower),
    (3, DeafenLeader),
    (2, DeafenFollower),
    (2, LateConnect),
    (4, PulseFollower),
    (9, CutClients),
    (8, HoleToServers),
    (8, HoleToClients),
    (10, Hole),
    (6, HoleOfOneServer),
    (7, Delay),
    (4, SlowLine),
    (6, LoseRequest),
    (10, LoseAnswer),
    (9, KillMonitor),
    (9, KillWorker),
    (5, KillHost),
    (6, StopMonitor),
    (14, StopWorker),
    (8, StopInTurn),
    (8, Suspend),
    (8, Terminate),
    (6, Revoke),
    (5, DeleteNode),
];
const AGAINST_NO_LEASE: &[(usize, Fault)] = &[(8, StopWorker), (1, Hole), (1, StopMonitor)];
const AGAINST_NEWEST: &[(usize, Fault)] = &[(8, PulseFollower), (1, CutClients), (1, IsolateFollower)];
const AGAINST_SYNC: &[(usize, Fault)] = &[(8, DeposeLeader), (1, CutClients), (1, IsolateLeader)];
const AGAINST_CONNECT: &[(usize, Fault)] = &[(8, LateConnect), (1, CutClients)];
const AGAINST_DOOM: &[(usize, Fault)] = &[(8, SlowLine), (1, StopWorker), (1, Suspend)];
const AGAINST_REVOKED: &[(usize, Fault)] = &[(8, Revoke), (1, CutClients), (1, Hole)];

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
            Some(Aim::Connect) => AGAINST_CONNECT,
            Some(Aim::Doom) => AGAINST_DOOM,
            Some(Aim::Revoke) => AGAINST_REVOKED,
        });
        Draw {
            after: rng.millis(50, 1000),
            fault,
            lasts: fault.lasts(rng),
            lull: rng.chance(5),
            dice: rng.below(1 << 30),
        }
    }
}
