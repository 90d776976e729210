//! The faults, and the series of faults that a seed gives.

use crate::options::Aim;
use crate::support::Rng;
use std::time::Duration;

/// The target is chosen at injection: servers by their role, contenders by their state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Fault {
    FreezeLeader,
    FreezeFollower,
    FreezeFollowers,
    FreezeAll,
    KillLeader,
    KillFollower,
    /// Nothing passes between the leader and the others. They depose it when they notice, and it steps down when it
    /// notices.
    IsolateLeader,
    /// As `IsolateLeader`, but the others notice immediately: the old leader acts as leader long after another is
    /// elected.
    DeposeLeader,
    IsolateFollower,
    /// The others receive nothing from it; it receives theirs.
    MuteLeader,
    MuteFollower,
    /// It receives nothing from the others; they receive its messages.
    DeafenLeader,
    DeafenFollower,
    /// The answer to a connect request is late. Then the follower that sent it is isolated, except for a moment in
    /// which the client acquires the lock: the leader receives nothing of that session after its beginning.
    LateConnect,
    /// A follower is isolated, except for a moment in which it confirms a write.
    PulseFollower,
    CutClients,
    BlackholeToServers,
    BlackholeToClients,
    Blackhole,
    BlackholeOneServer,
    Delay,
    /// The line has a constant delay, and no other fault.
    SlowConnection,
    /// The next request of a kind is lost, and the connection with it.
    LoseRequest,
    /// The next request of a kind is carried out, and the connection is cut instead of the answer.
    LoseAnswer,
    KillMonitor,
    KillWorker,
    /// Kills monitor, worker and job at once, as a crash of the host would.
    KillHost,
    /// Kills monitor and worker at once. The kernel ends the command's process group.
    KillBoth,
    /// Kills at once what an operator finds of a zklock by its name or its lock path.
    KillFound,
    StopMonitor,
    StopWorker,
    /// The worker is stopped; as soon as it is resumed, the monitor is stopped.
    StopWorkerThenMonitor,
    Suspend,
    Terminate,
    Revoke,
    DeleteNode,
    /// Not injected: the machine that runs the test stood still for a moment.
    Standstill,
}

#[allow(clippy::enum_glob_use, reason = "below are only tables of faults")]
use Fault::*;

impl Fault {
    /// It changes the links between servers. Only one such fault is active at a time.
    pub(crate) fn affects_ensemble(self) -> bool {
        self <= PulseFollower
    }

    /// It changes the links between hosts and servers. Only one such fault per host is active at a time.
    pub(crate) fn affects_hosts(self) -> bool {
        self.targets_holder() || self.needs_dedicated_contender() || (CutClients..=LoseAnswer).contains(&self)
    }

    /// The holder's host is confined to the affected server; otherwise its client would move to another.
    pub(crate) fn targets_holder(self) -> bool {
        matches!(self, DeposeLeader | PulseFollower)
    }

    /// It starts a contender of its own.
    pub(crate) fn needs_dedicated_contender(self) -> bool {
        matches!(self, LateConnect | SlowConnection)
    }

    fn duration(self, rng: &mut Rng) -> Duration {
        match self {
            FreezeLeader | FreezeFollower => rng.millis(200, 5000),
            FreezeFollowers | KillLeader | KillFollower => rng.millis(200, 3000),
            FreezeAll => rng.millis(100, 4000),
            IsolateLeader | IsolateFollower => rng.millis(500, 6000),
            MuteLeader | MuteFollower | DeafenLeader | DeafenFollower => rng.millis(500, 5000),
            LateConnect => Duration::from_secs(13),
            SlowConnection => Duration::from_secs(12),
            DeposeLeader => rng.millis(5000, 8500),
            PulseFollower => rng.millis(4000, 6000),
            BlackholeToServers | BlackholeToClients | Blackhole | BlackholeOneServer => rng.millis(100, 6000),
            Delay => rng.millis(1000, 5000),
            LoseRequest | LoseAnswer => rng.millis(1500, 6000),
            StopMonitor | StopWorker => rng.millis(50, 7000),
            StopWorkerThenMonitor => rng.millis(50, 1500),
            Suspend => rng.millis(50, 4000),
            CutClients | KillMonitor | KillWorker | KillHost | KillBoth | KillFound | Terminate | Revoke
            | DeleteNode | Standstill => Duration::ZERO,
        }
    }
}

const ALL_FAULTS: &[(usize, Fault)] = &[
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
    (8, BlackholeToServers),
    (8, BlackholeToClients),
    (10, Blackhole),
    (6, BlackholeOneServer),
    (7, Delay),
    (4, SlowConnection),
    (6, LoseRequest),
    (10, LoseAnswer),
    (9, KillMonitor),
    (9, KillWorker),
    (5, KillHost),
    (6, KillBoth),
    (6, KillFound),
    (6, StopMonitor),
    (14, StopWorker),
    (8, StopWorkerThenMonitor),
    (8, Suspend),
    (8, Terminate),
    (6, Revoke),
    (5, DeleteNode),
];
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

/// The endless series of faults of a seed.
pub(crate) struct Plan {
    rng: Rng,
    aim: Option<Aim>,
}

impl Plan {
    pub(crate) fn new(rng: Rng, aim: Option<Aim>) -> Self {
        Self { rng, aim }
    }

    pub(crate) fn next_fault(&mut self) -> Draw {
        let rng = &mut self.rng;
        let fault = rng.weighted(match self.aim {
            None => ALL_FAULTS,
            Some(Aim::Off) => AIMED_AT_OFF,
            Some(Aim::Newest) => AIMED_AT_NEWEST,
            Some(Aim::Sync) => AIMED_AT_SYNC,
            Some(Aim::Connect) => AIMED_AT_CONNECT,
            Some(Aim::Doom) => AIMED_AT_DOOM,
            Some(Aim::Revoke) => AIMED_AT_REVOKE,
            Some(Aim::Kill) => AIMED_AT_KILL,
        });
        Draw {
            after: rng.millis(50, 1000),
            fault,
            duration: fault.duration(rng),
            heal_first: rng.chance(5),
            choice: rng.index(1 << 30),
        }
    }
}
