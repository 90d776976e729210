//! Explores the recipe with a few zklocks for one or two locks. It tries every fault at every point, one or two at a
//! time: a message held up, a connection lost, a zklock killed.
//!
//! | in reality | here |
//! |---|---|
//! | worker and monitor | the simulated host, with the shipped loops |
//! | servers, sessions, watches | the simulated ensemble and the simulated client |
//! | time | all messages take the same time, the host takes none but between its processes, the command a few milliseconds |
//!
//! Between two messages of clients, nothing that a zklock does can depend on what else is chosen there. So each message
//! is a point: before it arrives at a server, and before it arrives at a client.

use std::time::Duration;

use zklock_core::exit::Exit;
use zklock_core::protocol::{Asker, QuestionIndex, Request};
use zklock_core::queue::name::{Mode, Name};

use super::choices::{Choices, Outcome};
use crate::ensemble::explore::Upcoming;
use crate::ensemble::{Config, MS};
use crate::fault::Fault;
use crate::host::Zklock;
use crate::scenario::{Contender, Scenario};
use crate::world::{Event, World};

/// The session timeout, which is two ticks.
pub(crate) const T: u64 = 2_400 * MS;
/// How long a message is held up: long enough for the others to come and go.
const HOLD: u64 = 25 * MS;
/// Due actions are done within this time if nothing is held up.
const AT_ONCE: u64 = 10 * MS;

/// The contenders and servers of a scene.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) servers: usize,
    pub(crate) contenders: Vec<Contender>,
    /// Whether the lock path exists already.
    pub(crate) is_made: bool,
    /// Whether any two faults may be combined. With more than two contenders that would be too many schedules, so only
    /// some are.
    pub(crate) any_two: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Departure {
    /// The fault lasts this long.
    Hit(Fault, u64),
    /// The connection is lost, and the next one goes to another server.
    Move,
    /// All other followers apply commits late.
    Lag,
    CrashHost,
    Write,
}

use Departure::{CrashHost, Hit, Lag, Move, Write};

const RESET: Departure = Hit(Fault::CutClients, 0);
/// One direction is slow for a moment, so that other messages under way arrive first.
const HOLDS: [Departure; 2] = [Hit(Fault::BlackholeToServers, HOLD), Hit(Fault::BlackholeToClients, HOLD)];
/// The line is cut, or the worker frozen, until the session has expired.
const EXPIRE: Departure = Hit(Fault::Blackhole, 2 * T);
const FREEZE: Departure = Hit(Fault::StopWorker, 2 * T);
const DELETE: Departure = Hit(Fault::DeleteNode, 0);

struct Exploration<'a> {
    scene: &'a Scene,
    choices: &'a mut Choices,
    world: World,
    /// The zklocks whose exit may differ from their command's.
    excused: Vec<bool>,
    /// A fault has delayed messages.
    was_slow: bool,
    /// From this time on nothing is held up and no zklock is looking for a server.
    quiet_from: u64,
}

pub(crate) fn run(scene: &Scene, choices: &mut Choices) -> Outcome {
    let (servers, contenders) = (scene.servers, scene.contenders.clone());
    let config = Config {
        tick: T / 2,
        zones: contenders.len() + 1,
        client_delay: MS / 10,
        client_jitter: 0,
        peer_delay: MS / 20,
        peer_jitter: 0,
        log_delay: MS / 10,
        ..Config::new(servers, 1)
    };
    let tick = Duration::from_nanos(T / 2);
    let scenario = Scenario { seed: 1, tick, servers, contenders, faults: vec![] };
    let mut world = World::with(config, scenario, choices.prints);
    if scene.is_made {
        world.lay_locks();
    }
    world.await_servers();
    world.open_operator();
    world.pass(world.now + 2 * T);
    for (index, contender) in scene.contenders.iter().enumerate() {
        world.after(contender.starts, Event::Start(index));
    }
    let excused = vec![false; scene.contenders.len()];
    let mut exploration = Exploration { scene, choices, world, excused, was_slow: false, quiet_from: 0 };
    exploration.goes_on();
    exploration.world.check_the_end()
}

impl World {
    /// Creates the nodes of both locks before the run begins.
    pub(super) fn lay_locks(&mut self) {
        for path in ["/locks", "/locks/a", "/locks/b"] {
            self.ensemble.lay(path);
        }
    }
}

impl Exploration<'_> {
    fn goes_on(&mut self) {
        let limit = self.world.now + 12 * T;
        let all = 0..self.excused.len();
        while self.world.checks.violation.is_none() && !self.world.zklocks.iter().all(Zklock::is_over) {
            let (due, what) = self.world.upcoming();
            if due > limit {
                return;
            }
            if due > self.world.now + AT_ONCE {
                self.check_idle();
            }
            if let Upcoming::ToServer(zone) | Upcoming::ToClient(zone) = what
                && all.contains(&zone)
                && self.world.zklocks[zone].works()
            {
                self.may_depart(zone, what == Upcoming::ToServer(zone));
            }
            self.world.step();
            self.check();
        }
    }

    /// Offers the faults that may happen before this message of a zklock arrives.
    fn may_depart(&mut self, zone: usize, is_to_server: bool) {
        let mut departures = vec![HOLDS[usize::from(!is_to_server)], RESET];
        let has_others = self.scene.servers > 1;
        if is_to_server {
            departures.extend([EXPIRE, CrashHost]);
            departures.extend(has_others.then_some(Lag));
        } else {
            departures.extend([Hit(Fault::Terminate, 0), Hit(Fault::KillWorker, 0), FREEZE]);
            if !self.world.nodes_of(zone).is_empty() {
                departures.extend([DELETE, Write]);
            }
            departures.extend(has_others.then_some(Move));
        }
        if !self.scene.any_two && self.choices.taken() > 0 {
            departures.retain(|departure| *departure == if self.was_slow { DELETE } else { RESET });
        }
        let chosen = self.choices.choose(departures.len() + 1);
        if let Some(&departure) = chosen.checked_sub(1).and_then(|chosen| departures.get(chosen)) {
            self.world.trace.print(self.world.now, || format!("zklock {zone}: {departure:?}"));
            self.departs(zone, departure);
        }
    }

    fn departs(&mut self, zone: usize, departure: Departure) {
        let world = &mut self.world;
        let server = world.server_of(zone);
        let (is_slow, quiet_after) = match departure {
            Lag => (true, 3 * HOLD + T / 12),
            Move | RESET => (departure == RESET, HOLD + T / 12),
            EXPIRE | FREEZE => (false, 4 * T),
            Hit(Fault::KillWorker, _) | CrashHost => (false, 2 * T),
            Write | DELETE | Hit(Fault::Terminate, _) => (false, 0),
            Hit(..) => (true, HOLD + AT_ONCE),
        };
        self.was_slow |= is_slow;
        self.quiet_from = self.quiet_from.max(world.now + quiet_after);
        self.excused[zone] |= match departure {
            FREEZE => world.zklocks[zone].command.is_some(),
            _ => !is_slow && !matches!(departure, Move | Write),
        };
        match departure {
            Hit(fault, lasts) => world.inflict(zone, fault, lasts),
            Move => {
                if let Some(server) = server {
                    world.ensemble.refuse(zone, server, true);
                }
                world.inflict(zone, Fault::CutClients, 0);
            }
            Lag => {
                for other in (0..self.scene.servers).filter(|other| Some(*other) != server) {
                    world.inflict(other, Fault::LagServer, 2 * HOLD);
                    world.ensemble.set_lag(other, HOLD);
                }
            }
            CrashHost => {
                world.inflict(zone, Fault::KillWorker, 0);
                world.inflict(zone, Fault::KillMonitor, 0);
                let command = world.zklocks[zone].command.iter_mut();
                command.for_each(|command| command.processes[0].dead = true);
            }
            Write => {
                for node in world.nodes_of(zone) {
                    let write = Request::Write(node.into(), b"x".to_vec(), -1);
                    world.ask(world.operator.unwrap(), Asker::Question(QuestionIndex(0)), write);
                }
            }
        }
    }

    fn check(&mut self) {
        for (index, zklock) in self.world.zklocks.iter().enumerate() {
            let runs = zklock.command.as_ref().is_some_and(|command| command.runs(self.world.now));
            let exit = zklock.exit().filter(|_| !self.excused[index]);
            let checks = &mut self.world.checks;
            if runs && zklock.is_leaving() && !self.excused[index] {
                checks.violated(|| format!("zklock {index} releases its lock while its command runs"));
            }
            if let Some(exit) = exit.filter(|exit| *exit != Exit::Code(0) || zklock.command.is_none()) {
                checks.violated(|| format!("zklock {index} exits with {exit:?} for no reason"));
            }
            let session = self.world.sessions.get(zklock.main_session().unwrap_or(usize::MAX));
            if runs
                && !zklock.node_deleted
                && session.is_none_or(|session| !self.world.ensemble.has_session(session.session))
            {
                checks.violated(|| format!("the session of zklock {index} is over, and its command runs"));
            }
        }
    }

    /// Checks that every zklock that can run its command does so, because nothing happens for a while.
    fn check_idle(&mut self) {
        if self.world.now < self.quiet_from {
            return;
        }
        for index in 0..self.excused.len() {
            let zklock = &self.world.zklocks[index];
            let Contender { locks, mode, .. } = &zklock.contender;
            if !zklock.works() || zklock.is_leaving() || zklock.command.is_some() || locks.len() != 1 {
                continue;
            }
            let children = self.world.ensemble.children(locks[0]);
            let mut queue: Vec<Name<'_>> = children.iter().filter_map(|name| Name::parse(name)).collect();
            queue.sort_by_key(|name| name.sequence);
            let own = self.world.nodes_of(index);
            let is_own = |name: &Name<'_>| own.iter().any(|node| node.ends_with(name.text));
            let Some(place) = queue.iter().position(is_own) else { continue };
            let excludes = |name: &&Name<'_>| *mode != Mode::Shared || name.mode != Mode::Shared;
            if queue[..place].iter().filter(excludes).count() < mode.slots() as usize {
                self.world.checks.violated(|| format!("zklock {index} waits, and could run"));
            }
        }
    }
}
