//! Explores the recipe with a few zklocks for one or two locks. It tries every fault at every point, one or two at a
//! time: a message held up, a connection lost, a zklock killed.
//!
//! | in reality | here |
//! |---|---|
//! | the core | the shipped `Run` |
//! | servers, sessions, watches | the simulated ensemble and the simulated client |
//! | time | all messages take the same time, the host takes none, the command a few milliseconds |
//! | the monitor | kills the command of a killed worker, and deletes its node |
//!
//! Between two messages of clients, nothing that a zklock does can depend on what else is chosen there. So each message
//! is a point: before it arrives at a server, and before it arrives at a client.

use zklock_core::exit::Exit;
use zklock_core::protocol::{Request, SessionChange};
use zklock_core::queue::name::{Mode, Name};
use zklock_core::signal::SIGTERM;

use super::choices::{Choices, Outcome};
use crate::bare::{Bare, BareOptions};
use crate::client::{Client, ClientEvent, HostClock, Settings};
use crate::ensemble::explore::Upcoming;
use crate::ensemble::wire::Acl;
use crate::ensemble::{Config, Direction, Ensemble, MS, Output};

/// The session timeout, which is two ticks.
const T: u64 = 2_400 * MS;
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

#[derive(Debug, Clone, Copy)]
pub(crate) struct Contender {
    pub(crate) mode: Mode,
    pub(crate) locks: &'static [&'static str],
    pub(crate) starts: u64,
    pub(crate) lasts: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// One direction is slow for a moment, so that other messages under way arrive first.
    Hold(Direction),
    /// The connection is lost.
    Reset,
    /// The connection is lost, and the next one goes to another server.
    Move,
    /// All other followers apply commits late.
    Lag,
    /// The worker is frozen until its session has expired.
    Freeze,
    /// The line is cut until the session has expired.
    Expire,
    CrashHost,
    CrashWorker,
    Delete,
    Write,
    Signal,
}

/// An action scheduled for later.
#[derive(Debug, Clone, Copy)]
enum Act {
    Start(usize),
    Heal(usize),
    CatchUp,
    KillCommand(usize),
}

/// The first alarm token for actions.
const ACTS: u64 = 1 << 32;
const OPERATOR: u64 = ACTS - 2;

struct World<'a> {
    scene: &'a Scene,
    choices: &'a mut Choices,
    ensemble: Ensemble,
    zklocks: Vec<Option<Bare>>,
    facts: Vec<Facts>,
    acts: Vec<Act>,
    operator: Client,
    faults: Vec<Fault>,
    /// From this time on nothing is held up and no zklock is looking for a server.
    quiet_from: u64,
    violation: Option<String>,
}

/// The facts about a contender that the checks need.
#[derive(Debug, Clone, Copy, Default)]
struct Facts {
    /// Its exit may differ from its command's.
    excused: bool,
    /// Its node was deleted by hand, so the lock passes on immediately.
    deleted: bool,
    /// Its line was slow or cut.
    late: bool,
    ran: bool,
}

pub(crate) fn run(scene: &Scene, choices: &mut Choices) -> Outcome {
    let config = Config {
        tick: T / 2,
        zones: scene.contenders.len() + 1,
        client_delay: MS / 10,
        client_jitter: 0,
        peer_delay: MS / 20,
        peer_jitter: 0,
        log_delay: MS / 10,
        ..Config::new(scene.servers, 1)
    };
    let mut ensemble = Ensemble::new(config);
    while !ensemble.is_whole() {
        ensemble.step();
    }
    let operator = open_operator(&mut ensemble, scene);
    let count = scene.contenders.len();
    let mut world = World {
        scene,
        choices,
        ensemble,
        zklocks: (0..count).map(|_| None).collect(),
        facts: vec![Facts::default(); count],
        acts: vec![],
        operator,
        faults: vec![],
        quiet_from: 0,
        violation: None,
    };
    for (number, contender) in scene.contenders.iter().enumerate() {
        world.later(contender.starts, Act::Start(number));
    }
    world.goes_on();
    world.violation.map_or(Ok(None), Err)
}

/// Opens the session of an operator who changes locks by hand.
fn open_operator(ensemble: &mut Ensemble, scene: &Scene) -> Client {
    let settings = Settings {
        zone: scene.contenders.len(),
        servers: (0..scene.servers).collect(),
        timeout: 60_000 * MS,
        deadline: None,
        clock: HostClock::default(),
        seed: 0,
        acl: Acl::OPEN,
    };
    let mut operator = Client::open(ensemble, settings, OPERATOR);
    let mut left = if scene.is_made { 3 } else { 1 };
    while left > 0 {
        if let Some(output) = ensemble.step() {
            operator.take(ensemble, output);
        }
        while let Some(news) = operator.news() {
            left -= 1;
            if let (ClientEvent::Session(SessionChange::Connected { .. }), true) = (news, scene.is_made) {
                for lock in ["/l/a", "/l/b"] {
                    operator.ask(ensemble, 0, Request::MakeParents(lock.into()));
                }
            }
        }
    }
    operator
}

impl World<'_> {
    fn later(&mut self, after: u64, act: Act) {
        self.ensemble.wake_at(self.ensemble.now() + after, ACTS + self.acts.len() as u64);
        self.acts.push(act);
    }

    fn goes_on(&mut self) {
        let limit = self.ensemble.now() + 12 * T;
        while self.violation.is_none() && !self.is_over() {
            let Some((due, what)) = self.ensemble.upcoming() else { return };
            if due > limit {
                let left = (0..self.zklocks.len()).filter(|&number| !self.is_ended(number));
                let left: Vec<_> =
                    left.map(|number| (number, self.zklocks[number].as_ref().map(Bare::phase))).collect();
                self.violated(|| format!("these never end: {left:?}"));
                return;
            }
            if due > self.ensemble.now() + AT_ONCE {
                self.check_idle();
            }
            match what {
                Upcoming::ToServer(zone) => self.may_fail(zone, Direction::ToServer),
                Upcoming::ToClient(zone) => self.may_fail(zone, Direction::ToClient),
                Upcoming::Other => {}
            }
            if let Some(output) = self.ensemble.step() {
                self.comes_out(output);
            }
        }
        self.check_the_end();
    }

    fn is_ended(&self, number: usize) -> bool {
        self.zklocks[number].as_ref().is_some_and(|zklock| zklock.is_over() && !zklock.runs())
    }

    fn is_over(&self) -> bool {
        (0..self.zklocks.len()).all(|number| self.is_ended(number))
    }

    /// Offers the faults that may happen before this message of a zklock arrives.
    fn may_fail(&mut self, zone: usize, direction: Direction) {
        let Some(Some(zklock)) = self.zklocks.get(zone) else { return };
        if zklock.is_over() {
            return;
        }
        let mut faults = vec![Fault::Hold(direction), Fault::Reset];
        if direction == Direction::ToServer {
            faults.extend([Fault::Expire, Fault::CrashHost]);
            if self.scene.servers > 1 {
                faults.push(Fault::Lag);
            }
        } else {
            faults.extend([Fault::Signal, Fault::CrashWorker, Fault::Freeze]);
            if !self.nodes_of(zone).is_empty() {
                faults.extend([Fault::Delete, Fault::Write]);
            }
            if self.scene.servers > 1 {
                faults.push(Fault::Move);
            }
        }
        if !self.scene.any_two && self.choices.taken() > 0 {
            let is_slow = |fault: &Fault| matches!(fault, Fault::Hold(_) | Fault::Reset | Fault::Lag);
            let was_slow = self.faults.iter().any(is_slow);
            faults.retain(|fault| if was_slow { *fault == Fault::Delete } else { *fault == Fault::Reset });
        }
        let direction = self.choices.choose(faults.len() + 1);
        if let Some(&fault) = direction.checked_sub(1).and_then(|direction| faults.get(direction)) {
            self.choices.tell(self.ensemble.now(), || format!("zklock {zone}: {fault:?}"));
            self.faults.push(fault);
            self.strike(zone, fault);
        }
    }

    fn strike(&mut self, zone: usize, fault: Fault) {
        let now = self.ensemble.now();
        let servers = self.scene.servers;
        match fault {
            Fault::Hold(direction) => {
                (0..servers).for_each(|server| self.ensemble.set_hole(zone, server, direction, true));
                self.facts[zone].late = true;
                self.quiet_from = self.quiet_from.max(now + HOLD + AT_ONCE);
                self.later(HOLD, Act::Heal(zone));
            }
            Fault::Reset | Fault::Move => {
                if fault == Fault::Move
                    && let Some(server) = self.server_of(zone)
                {
                    self.ensemble.refuse(zone, server, true);
                    self.later(HOLD, Act::Heal(zone));
                }
                (0..servers).for_each(|server| self.ensemble.cut(zone, server));
                self.facts[zone].late = true;
                self.quiet_from = self.quiet_from.max(now + HOLD + T / 12);
            }
            Fault::Lag => {
                let server = self.server_of(zone);
                let others = (0..servers).filter(|other| Some(*other) != server);
                others.for_each(|other| self.ensemble.set_lag(other, HOLD));
                self.facts.iter_mut().for_each(|facts| facts.late = true);
                self.quiet_from = self.quiet_from.max(now + 3 * HOLD + T / 12);
                self.later(2 * HOLD, Act::CatchUp);
            }
            Fault::Freeze => {
                let facts = &mut self.facts[zone];
                (facts.late, facts.excused) = (true, facts.excused || facts.ran);
                self.quiet_from = self.quiet_from.max(now + 4 * T);
                if let Some(zklock) = &mut self.zklocks[zone] {
                    zklock.freeze(&mut self.ensemble, now + 2 * T);
                }
            }
            Fault::Expire => {
                for direction in [Direction::ToServer, Direction::ToClient] {
                    (0..servers).for_each(|server| self.ensemble.set_hole(zone, server, direction, true));
                }
                (self.facts[zone].late, self.facts[zone].excused) = (true, true);
                self.quiet_from = self.quiet_from.max(now + 4 * T);
                self.later(2 * T, Act::Heal(zone));
            }
            Fault::CrashHost | Fault::CrashWorker => {
                self.facts[zone].excused = true;
                self.quiet_from = self.quiet_from.max(now + 2 * T);
                let Some(zklock) = &mut self.zklocks[zone] else { return };
                zklock.crash(&mut self.ensemble);
                if fault == Fault::CrashHost {
                    zklock.command = None;
                } else {
                    self.later(3 * MS, Act::KillCommand(zone));
                }
            }
            Fault::Delete => {
                (self.facts[zone].excused, self.facts[zone].deleted) = (true, true);
                self.delete_nodes_of(zone);
            }
            Fault::Write => {
                for node in self.nodes_of(zone) {
                    self.operator.ask(&mut self.ensemble, 0, Request::Write(node.into(), b"x".to_vec(), -1));
                }
            }
            Fault::Signal => {
                self.facts[zone].excused = true;
                if let Some(zklock) = &mut self.zklocks[zone] {
                    zklock.signal(&mut self.ensemble, SIGTERM);
                }
            }
        }
    }

    fn server_of(&mut self, zone: usize) -> Option<usize> {
        let conn = self.zklocks[zone].as_ref().and_then(Bare::conn)?;
        self.ensemble.server_of(conn)
    }

    fn delete_nodes_of(&mut self, zone: usize) {
        for node in self.nodes_of(zone) {
            self.operator.ask(&mut self.ensemble, 0, Request::Delete(node.into()));
        }
    }

    fn nodes_of(&self, zone: usize) -> Vec<String> {
        let Some(zklock) = &self.zklocks[zone] else { return vec![] };
        let of = |lock: &&str| -> Vec<String> {
            self.ensemble.children(lock).into_iter().map(|name| format!("{lock}/{name}")).collect()
        };
        let all = self.scene.contenders[zone].locks.iter().flat_map(of);
        all.filter(|node| self.ensemble.owner(node) == Some(zklock.session)).collect()
    }

    fn comes_out(&mut self, output: Output) {
        let number = match &output {
            Output::Woken(token) if *token >= ACTS => {
                let act = self.acts[usize::try_from(*token - ACTS).unwrap()];
                return self.act(act);
            }
            Output::Woken(OPERATOR) => None,
            Output::Woken(token) => usize::try_from(Bare::number_of(*token)).ok(),
            Output::FromServer(conn, _) | Output::Closed(conn) => {
                let has = |zklock: &Option<Bare>| zklock.as_ref().and_then(Bare::conn) == Some(*conn);
                self.zklocks.iter().position(has)
            }
        };
        if let Some(number) = number {
            self.touch(number, |zklock, ensemble| zklock.take(ensemble, output));
        } else {
            self.operator.take(&mut self.ensemble, output);
            while self.operator.news().is_some() {}
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Start(number) => {
                let Contender { mode, locks, lasts, .. } = self.scene.contenders[number];
                let options = BareOptions {
                    locks,
                    mode,
                    timeout: T,
                    lasts,
                    reaping: T / 12,
                    zone: number,
                    servers: (0..self.scene.servers).collect(),
                    clock: HostClock::default(),
                };
                self.zklocks[number] = Some(Bare::begin(&mut self.ensemble, options, number as u64));
            }
            Act::Heal(zone) => {
                for direction in [Direction::ToServer, Direction::ToClient] {
                    (0..self.scene.servers)
                        .for_each(|server| self.ensemble.set_hole(zone, server, direction, false));
                }
                (0..self.scene.servers).for_each(|server| self.ensemble.refuse(zone, server, false));
            }
            Act::CatchUp => (0..self.scene.servers).for_each(|server| self.ensemble.set_lag(server, 0)),
            Act::KillCommand(number) => {
                if let Some(zklock) = &mut self.zklocks[number] {
                    zklock.command = None;
                }
                self.delete_nodes_of(number);
            }
        }
    }

    /// Acts on a zklock and checks the result.
    fn touch(&mut self, number: usize, act: impl FnOnce(&mut Bare, &mut Ensemble)) {
        let Some(zklock) = &mut self.zklocks[number] else { return };
        let (token, was_over) = (zklock.token, zklock.is_over());
        act(zklock, &mut self.ensemble);
        let (new_token, runs, released, exit) = (zklock.token, zklock.runs(), zklock.released, zklock.exit);
        let session = zklock.session;
        if new_token != token {
            self.choices.tell(self.ensemble.now(), || {
                format!("zklock {number} starts its command, token {new_token}")
            });
            self.facts[number].ran = true;
            self.check_start(number, new_token);
        }
        if runs && released && !self.facts[number].excused {
            self.violated(|| format!("zklock {number} releases its lock while its command runs"));
        }
        if let Some(exit) = exit.filter(|_| !was_over) {
            self.choices.tell(self.ensemble.now(), || format!("zklock {number} exits: {exit:?}"));
            let Facts { excused, late, ran, .. } = self.facts[number];
            if !excused && (exit != Exit::Code(0) || !ran) {
                self.violated(|| format!("zklock {number} exits with {exit:?} for no reason"));
            }
            if !late && !self.nodes_of(number).is_empty() && session != 0 && !was_over {
                self.violated(|| format!("zklock {number} is gone, and its node isn't"));
            }
        }
        self.check_sessions();
    }

    fn violated(&mut self, what: impl FnOnce() -> String) {
        self.violation.get_or_insert_with(what);
    }

    /// Checks a start: no command runs that the lock excludes.
    fn check_start(&mut self, number: usize, token: i64) {
        if self.facts[number].deleted {
            return;
        }
        let mine = self.scene.contenders[number];
        let shares = |other: &Contender| other.locks.iter().any(|lock| mine.locks.contains(lock));
        let others: Vec<usize> = (0..self.zklocks.len())
            .filter(|&other| other != number && shares(&self.scene.contenders[other]))
            .filter(|&other| !self.facts[other].deleted)
            .filter(|&other| self.zklocks[other].as_ref().is_some_and(Bare::runs))
            .collect();
        let too_many = match mine.mode {
            Mode::Slots(slots) => others.len() >= slots as usize,
            Mode::Shared => others.iter().any(|&other| self.scene.contenders[other].mode != Mode::Shared),
            Mode::Exclusive => !others.is_empty(),
        };
        if too_many {
            self.violated(|| format!("zklock {number} runs its command while {others:?} run theirs"));
        }
        let older = |other: &usize| {
            self.zklocks[*other].as_ref().is_some_and(|zklock| *other != number && zklock.token > token)
        };
        if mine.mode == Mode::Exclusive
            && mine.locks.len() == 1
            && let Some(other) = (0..self.zklocks.len()).find(older)
        {
            self.violated(|| format!("zklock {number} has a smaller token than zklock {other} had"));
        }
    }

    /// Checks that the session of every running command lives, unless its node was deleted by hand.
    fn check_sessions(&mut self) {
        for number in 0..self.zklocks.len() {
            let Some(zklock) = &self.zklocks[number] else { continue };
            if zklock.runs()
                && !zklock.is_over()
                && !self.facts[number].deleted
                && !self.ensemble.has_session(zklock.session)
            {
                self.violated(|| format!("the session of zklock {number} is over, and its command runs"));
            }
        }
    }

    /// Checks that every zklock that can run its command does so, because nothing happens for a while.
    fn check_idle(&mut self) {
        if self.ensemble.now() < self.quiet_from {
            return;
        }
        for number in 0..self.zklocks.len() {
            let Some(zklock) = &self.zklocks[number] else { continue };
            let locks = self.scene.contenders[number].locks;
            if zklock.is_over() || zklock.released || self.facts[number].ran || locks.len() != 1 {
                continue;
            }
            let children = self.ensemble.children(locks[0]);
            let mut queue: Vec<Name<'_>> = children.iter().filter_map(|name| Name::parse(name)).collect();
            queue.sort_by_key(|name| name.sequence);
            let owner = |name: &Name<'_>| self.ensemble.owner(&format!("{}/{}", locks[0], name.text));
            let Some(place) = queue.iter().position(|name| owner(name) == Some(zklock.session)) else {
                continue;
            };
            let mode = self.scene.contenders[number].mode;
            let excludes = |name: &&Name<'_>| mode != Mode::Shared || name.mode != Mode::Shared;
            let ahead = queue[..place].iter().filter(excludes).count();
            if ahead < mode.slots() as usize {
                self.violated(|| format!("zklock {number} waits, and could run"));
            }
        }
    }

    fn check_the_end(&mut self) {
        for number in 0..self.zklocks.len() {
            if !self.facts[number].late && !self.facts[number].excused && !self.nodes_of(number).is_empty() {
                self.violated(|| format!("a node of zklock {number} is left"));
            }
        }
    }
}
