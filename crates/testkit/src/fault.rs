//! Every fault by name: those of `scripts/chaos` and of `scripts/simulate`.
//!
//! A new fault is a variant and its row here, and an arm where each of the programs injects it: the real one in
//! `real/process_fault.rs` (processes), `tests/chaos/target.rs` (lock nodes) or
//! `tests/chaos/injection.rs` (servers), and `tests/chaos/proxies.rs` or `tests/chaos/lan/` (links); the simulated one in
//! `crates/core/tests/simulation/host/faults.rs`.

use clap::ValueEnum;
use std::fmt;
use std::ops::Range;

/// A fault. `scripts/chaos --fault list` prints the names and the first lines of these comments.
///
/// The target is chosen at injection: servers by their role, contenders by their state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum)]
pub enum Fault {
    /// STOP the leader, and CONT
    FreezeLeader,
    /// STOP a follower, and CONT
    FreezeFollower,
    /// STOP all followers, and CONT
    FreezeFollowers,
    /// STOP all servers, and CONT
    FreezeAll,
    /// STOP any server, and CONT
    FreezeServer,
    /// kill -9 of the leader, and start it again
    KillLeader,
    /// kill -9 of a follower, and start it again
    KillFollower,
    /// kill -9 of any server, and start it again
    KillServer,
    /// Nothing passes between the leader and the others
    ///
    /// They depose it when they notice, and it steps down when it notices.
    IsolateLeader,
    /// Nothing passes between a follower and the others
    IsolateFollower,
    /// Nothing passes between any server and the others
    IsolateServer,
    /// The others receive nothing from the leader; it receives theirs
    MuteLeader,
    /// The others receive nothing from a follower; it receives theirs
    MuteFollower,
    /// The leader receives nothing from the others; they receive its messages
    DeafenLeader,
    /// A follower receives nothing from the others; they receive its messages
    DeafenFollower,
    /// A server applies commits late
    LagServer,
    /// The connections to the servers are closed
    CutClients,
    /// Nothing reaches the servers
    BlackholeToServers,
    /// Nothing reaches zklock
    BlackholeToClients,
    /// Nothing reaches the servers or comes back
    Blackhole,
    /// The same, with one server
    BlackholeOneServer,
    /// The connection to the servers is slow for a while
    Delay,
    /// The next request of a kind is lost, and the connection with it
    LoseRequest,
    /// The next request of a kind is carried out, and the connection is cut instead of the answer
    LoseAnswer,
    /// Packets are lost, between two places on hosts of their own
    LosePackets,
    /// A third of the packets is lost
    LoseThird,
    /// Large packets are lost, as on a path that doesn't report its MTU
    LoseLarge,
    /// Each packet is answered by a reset
    ResetPackets,
    /// No new connection can be opened; open ones work
    LoseSyn,
    /// The packets of open connections are lost, as by a NAT that has forgotten them; new ones work
    ForgetConnections,
    /// The cable of a machine is out, and in again
    Unplug,
    /// A machine has no address, and has it again
    RemoveAddress,
    /// A machine has another address, and its own again
    ChangeAddress,
    /// A server's address is at another machine, and back
    MoveAddress,
    /// The host is suspended
    SuspendHost,
    /// kill -9 of zklock's monitor
    KillMonitor,
    /// kill -9 of zklock's worker
    KillWorker,
    /// The worker's loop fails: it can't poll any more
    FailWorker,
    /// kill -9 of monitor, worker and command at once, as a crash of the host would
    KillHost,
    /// kill -9 of monitor and worker at once: only the command's process group must end
    KillBoth,
    /// kill -9 of all that pgrep finds by zklock's name or lock path
    KillFound,
    /// kill -9 of the monitor and the command's first process at once: what pgrep -f finds by the command's name
    KillCommand,
    /// kill -9 of the command's first process
    KillFirstProcess,
    /// STOP the monitor, and CONT
    StopMonitor,
    /// STOP the worker, and CONT
    StopWorker,
    /// STOP the worker; as soon as it is resumed, STOP the monitor
    StopWorkerThenMonitor,
    /// Ctrl-Z
    Suspend,
    /// CONT to zklock
    Continue,
    /// TERM to zklock
    Terminate,
    /// INT to zklock
    Interrupt,
    /// HUP to zklock
    HangUp,
    /// USR1 to zklock
    UserSignal,
    /// An administrator revokes the lock
    Revoke,
    /// An administrator deletes the lock node
    DeleteNode,
    /// The machine that runs the test hung for a moment (not injected)
    Standstill,
}

/// What a fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Servers, or the links between them.
    Servers,
    /// The links between a host and the servers.
    Links,
    /// The packets between two places, of hosts or of servers.
    Packets,
    /// A machine: a host or that of a server.
    Machine,
    Host,
    /// The processes of one zklock.
    Processes,
    /// The lock node of one zklock.
    Node,
}

/// Who injects a fault. A weight of 0 means: not drawn there.
pub struct Row {
    pub target: Target,
    /// Its weight in `scripts/chaos`, with and without `--hosts`, and how long it lasts there, in milliseconds.
    pub chaos: usize,
    pub hosts: usize,
    pub millis: Range<u64>,
    /// Whether `scripts/chaos --escape` injects it.
    pub escapes: bool,
    /// Its weight in `scripts/simulate`.
    pub simulated: usize,
}

#[allow(clippy::enum_glob_use, reason = "a table of faults")]
use Fault::*;
#[allow(clippy::enum_glob_use, reason = "a table of faults")]
use Target::*;

impl Fault {
    #[allow(clippy::match_same_arms, reason = "a table: each fault has its row")]
    pub fn row(self) -> Row {
        match self {
            FreezeLeader => of(Servers).chaos(5, 200..5000).hosts(4),
            FreezeFollower => of(Servers).chaos(4, 200..5000).hosts(3),
            FreezeFollowers => of(Servers).chaos(3, 200..3000),
            FreezeAll => of(Servers).chaos(3, 100..4000).hosts(2),
            FreezeServer => of(Servers).simulated(10),
            KillLeader => of(Servers).chaos(4, 200..3000).hosts(3),
            KillFollower => of(Servers).chaos(3, 200..3000).hosts(2),
            KillServer => of(Servers).simulated(10),
            IsolateLeader => of(Servers).chaos(4, 500..6000),
            IsolateFollower => of(Servers).chaos(4, 500..6000),
            IsolateServer => of(Servers).simulated(19),
            MuteLeader => of(Servers).chaos(3, 500..5000),
            MuteFollower => of(Servers).chaos(2, 500..5000),
            DeafenLeader => of(Servers).chaos(3, 500..5000),
            DeafenFollower => of(Servers).chaos(2, 500..5000),
            LagServer => of(Servers).simulated(9),
            CutClients => of(Links).chaos(9, 0..0).simulated(12),
            BlackholeToServers => of(Links).chaos(8, 100..6000).simulated(8),
            BlackholeToClients => of(Links).chaos(8, 100..6000).simulated(7),
            Blackhole => of(Links).chaos(10, 100..6000).simulated(15).escapes(),
            BlackholeOneServer => of(Links).chaos(6, 100..6000),
            Delay => of(Links).chaos(7, 1000..5000),
            LoseRequest => of(Links).chaos(6, 1500..6000),
            LoseAnswer => of(Links).chaos(10, 1500..6000),
            LosePackets => of(Packets).hosts(20).lasts(100..6000),
            LoseThird => of(Packets).hosts(9).lasts(500..6000),
            LoseLarge => of(Packets).hosts(9).lasts(500..6000),
            ResetPackets => of(Packets).hosts(9).lasts(20..3000),
            LoseSyn => of(Packets).hosts(7).lasts(500..6000),
            ForgetConnections => of(Packets).hosts(9).lasts(2000..8000),
            Unplug => of(Machine).hosts(9).lasts(100..6000),
            RemoveAddress => of(Machine).hosts(7).lasts(100..6000),
            ChangeAddress => of(Machine).hosts(7).lasts(100..6000),
            MoveAddress => of(Servers).hosts(7).lasts(500..6000),
            SuspendHost => of(Host).simulated(18),
            KillMonitor => of(Processes).chaos(9, 0..0).hosts(2).simulated(6).escapes(),
            KillWorker => of(Processes).chaos(9, 0..0).hosts(2).simulated(6).escapes(),
            FailWorker => of(Processes).chaos(6, 0..0).escapes(),
            KillHost => of(Processes).chaos(5, 0..0).hosts(3),
            KillBoth => of(Processes).chaos(6, 0..0).escapes(),
            KillFound => of(Processes).chaos(6, 0..0).escapes(),
            KillCommand => of(Processes).chaos(5, 0..0).escapes(),
            KillFirstProcess => of(Processes).simulated(12),
            StopMonitor => of(Processes).chaos(6, 50..7000).simulated(6).escapes(),
            StopWorker => of(Processes).chaos(14, 50..7000).hosts(5).simulated(12).escapes(),
            StopWorkerThenMonitor => of(Processes).chaos(8, 50..1500),
            Suspend => of(Processes).chaos(8, 50..4000).simulated(5),
            Continue | Interrupt | HangUp | UserSignal => of(Processes).simulated(5),
            Terminate => of(Processes).chaos(8, 0..0).hosts(3).simulated(5),
            Revoke => of(Node).chaos(6, 0..0).hosts(8).simulated(12),
            DeleteNode => of(Node).chaos(5, 0..0).simulated(6).escapes(),
            Standstill => of(Host),
        }
    }

    pub fn target(self) -> Target {
        self.row().target
    }

    /// The faults of a program, each with its weight.
    pub fn weighted(weight: impl Fn(Row) -> usize) -> Vec<(usize, Self)> {
        let all = Self::value_variants().iter().map(|&fault| (weight(fault.row()), fault));
        all.filter(|&(weight, _)| weight > 0).collect()
    }

    /// Whether it comes from a process on the same host, which is suspended with the host.
    pub fn is_local(self) -> bool {
        matches!(self.target(), Processes | Host)
    }

    /// Whether it keeps zklock from reaching the servers for a while.
    pub fn cuts_off(self) -> bool {
        matches!(
            self,
            Self::BlackholeToServers | Self::BlackholeToClients | Self::Blackhole | Self::SuspendHost
        )
    }
}

fn of(target: Target) -> Row {
    Row { target, chaos: 0, hosts: 0, millis: 0..0, escapes: false, simulated: 0 }
}

impl Row {
    fn chaos(self, weight: usize, millis: Range<u64>) -> Self {
        Self { chaos: weight, millis, ..self }
    }

    /// Its weight with `--hosts`.
    fn hosts(self, weight: usize) -> Self {
        Self { hosts: weight, ..self }
    }

    fn lasts(self, millis: Range<u64>) -> Self {
        Self { millis, ..self }
    }

    fn escapes(self) -> Self {
        Self { escapes: true, ..self }
    }

    fn simulated(self, weight: usize) -> Self {
        Self { simulated: weight, ..self }
    }
}

impl fmt::Display for Fault {
    /// The name on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.pad(value.as_ref().map_or("", |value| value.get_name()))
    }
}
