//! Explores the lease: one zklock is connected to a follower that may be slow, and the next waiter is connected to the
//! leader. Pings and expiry are those of the simulated servers. The worst moments are chosen on a grid of a twelfth of
//! the session timeout.
//!
//! Safe means here: when the leader ends a session, the command that ran under it is gone. The command is as stubborn
//! as can be: KILL takes all the time that the lease leaves it.
//!
//! | departure | meaning |
//! |---|---|
//! | slow | messages from the leader to the follower in this step arrive some steps later |
//! | cut | from now on no message from the follower arrives at the leader |
//! | held | messages from the follower to zklock in this step arrive some steps later |
//! | frozen | zklock's worker is frozen for some steps |
//! | reset | zklock loses its connection |
//! | silence | zklock and its server receive nothing from each other for nearly a third of the session timeout, once the lease is in its steady rhythm: the command must continue |
//! | depose | the leader is cut off from the other servers, which elect another immediately |
//!
//! Messages take no time unless something holds them up, so that every contender receives everything as early as
//! possible.

use std::time::Duration;

use super::choices::{Choices, Outcome};
use super::recipe::T;
use crate::client::HostClock;
use crate::ensemble::{Config, Direction, MS};
use crate::fault::Fault as HostFault;
use crate::scenario::{Contender, PlannedFault, Scenario};
use crate::world::World;

/// How many steps a session timeout has.
const STEPS: u64 = 12;

/// A setup: everything that isn't chosen step by step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    /// The session timeout, in ticks.
    pub(crate) ticks: u64,
    /// How long after a ping of the leader zklock begins, in half steps.
    pub(crate) offset: u64,
    /// When in a tick the leader looks for expired sessions, in steps.
    pub(crate) phase: u64,
    /// How long the run lasts, in steps.
    pub(crate) horizon: u64,
    /// How much too slow the host's clock is, in parts per billion. If it is slow, the command dies immediately after
    /// KILL.
    pub(crate) slow_by: i64,
    /// If set, the other zklock was first, and its command ends this many steps later.
    pub(crate) waits_for: Option<u64>,
    /// Whether zklock is connected to the leader.
    pub(crate) is_at_leader: bool,
    pub(crate) faults: &'static [Fault],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Slow,
    Cut,
    Held,
    Frozen,
    Reset,
    /// zklock and its server receive nothing from each other for nearly a third of the session timeout. The lease must
    /// survive that.
    Silence,
    /// The leader is cut off from the other servers, which elect another immediately.
    Depose,
}

/// How many steps late a message may be.
const DELAYS: [u64; 8] = [1, 2, 3, 4, 5, 7, 9, 12];

const STEP: u64 = T / STEPS;

/// The zklock behind the slow follower, and the next in the queue.
const SLOW: usize = 0;
const NEXT: usize = 1;

struct Exploration<'a> {
    setup: &'a Setup,
    choices: &'a mut Choices,
    world: World,
    leader: usize,
    follower: usize,
    /// The connection from the follower to the leader is cut, or the leader is deposed.
    is_cut: bool,
    /// Something was slow, held up or frozen.
    was_late: bool,
    is_silent: bool,
    is_session_gone: bool,
    is_command_gone: bool,
}

/// Runs a setup.
pub(crate) fn run(setup: &Setup, choices: &mut Choices) -> Outcome {
    let tick = T / setup.ticks;
    let config = Config {
        tick,
        zones: 3,
        client_delay: 0,
        client_jitter: 0,
        peer_delay: 0,
        peer_jitter: 0,
        log_delay: 0,
        // A follower must not leave its leader because of silence.
        sync_limit: if setup.is_at_leader { 5 } else { 100 },
        ..Config::new(3, 1)
    };
    let slow = Contender {
        clock: HostClock { drift_ppb: -setup.slow_by, ..HostClock::default() },
        ..Contender::exact(T, 100 * T, if setup.slow_by == 0 { T / STEPS } else { 0 })
    };
    let next = Contender::exact(T, setup.waits_for.map_or(100 * T, |steps| steps * STEP), 0);
    let scenario = Scenario {
        seed: 1,
        tick: Duration::from_nanos(tick),
        servers: 3,
        contenders: vec![slow, next],
        faults: vec![],
    };
    let mut world = World::with(config, scenario, choices.prints);
    world.lay_locks();
    world.await_servers();
    let leader = world.ensemble.leader().unwrap();
    let follower = if setup.is_at_leader { leader } else { (leader + 1) % 3 };
    world.zklocks[SLOW].contender.server = Some(follower);
    world.zklocks[NEXT].contender.server = Some(leader);
    // Pings are sent every half tick.
    let begins = world.now + tick / 2 + setup.offset * STEP / 2;
    // Just before the leader would forget a touch at a step of the grid, or later.
    world.ensemble.set_phase(leader, (2 * tick - 1 - begins % tick + setup.phase * STEP) % tick);
    world.pass(begins);
    let mut exploration = Exploration {
        setup,
        choices,
        world,
        leader,
        follower,
        is_cut: false,
        was_late: false,
        is_silent: false,
        is_session_gone: false,
        is_command_gone: false,
    };
    exploration.goes_on();
    exploration.world.checks.violation.map_or(Ok(()), Err)
}

impl Exploration<'_> {
    fn goes_on(&mut self) {
        let is_first = self.setup.waits_for.is_some();
        if is_first {
            self.world.start(NEXT);
            self.pass(self.world.now);
        }
        for step in 0..self.setup.horizon {
            self.depart(step);
            if step == 0 {
                self.world.start(SLOW);
            } else if step == 3 && !is_first {
                self.world.start(NEXT);
            }
            self.pass(self.world.now + STEP);
            if self.world.checks.violation.is_some() || self.is_session_gone {
                return;
            }
        }
        if self.is_silent && self.is_command_gone {
            self.world.checks.violated(|| "a short silence stops the command".to_owned());
        }
    }

    fn depart(&mut self, step: u64) {
        // Messages of the step before stay late; messages of this step arrive after them.
        self.world.ensemble.delay_peer(self.leader, self.follower, 0);
        self.world.ensemble.delay_link(SLOW, self.follower, Direction::ToClient, 0);
        if self.is_cut || self.world.zklocks[SLOW].is_over() || self.is_silent {
            return;
        }
        let mut directions: Vec<(Fault, u64)> = vec![];
        for &fault in self.setup.faults {
            match fault {
                // A young lease has less reserve.
                Fault::Silence if step < 10 || step + 6 > self.setup.horizon => {}
                Fault::Cut | Fault::Reset | Fault::Silence | Fault::Depose => directions.push((fault, 0)),
                Fault::Frozen => directions.extend([1, 2].map(|steps| (fault, steps))),
                Fault::Slow | Fault::Held => directions.extend(DELAYS.map(|steps| (fault, steps))),
            }
        }
        // A fault that lasts some steps may only be followed by one that doesn't.
        if self.was_late {
            directions.retain(|&(_, steps)| steps == 0);
        }
        let direction = self.choices.choose(directions.len() + 1);
        let Some(&(fault, steps)) = direction.checked_sub(1).and_then(|direction| directions.get(direction))
        else {
            return;
        };
        let world = &mut self.world;
        world.trace.print(world.now, || format!("step {step}: {fault:?} {steps}"));
        // The lease may be lost, and the node be left to the session.
        let known =
            PlannedFault { at: world.now, who: SLOW, fault: HostFault::Blackhole, lasts: steps * STEP };
        world.scenario.faults.push(known);
        self.was_late |= steps > 0;
        self.is_cut |= matches!(fault, Fault::Cut | Fault::Depose);
        self.is_silent |= fault == Fault::Silence;
        match fault {
            Fault::Slow => world.ensemble.delay_peer(self.leader, self.follower, steps * STEP),
            Fault::Held => {
                world.ensemble.delay_link(SLOW, self.follower, Direction::ToClient, steps * STEP);
            }
            Fault::Cut => world.ensemble.set_data_hole(self.follower, self.leader, true),
            Fault::Depose => {
                world.ensemble.set_isolated(self.leader, true);
                for other in (0..3).filter(|other| *other != self.leader) {
                    world.ensemble.crash(other);
                    world.ensemble.restart(other);
                }
            }
            Fault::Frozen => world.apply_fault(SLOW, HostFault::StopWorker, steps * STEP),
            Fault::Silence => world.apply_fault(SLOW, HostFault::Blackhole, T / 3 - MS),
            Fault::Reset => world.apply_fault(SLOW, HostFault::CutClients, 0),
        }
    }

    fn pass(&mut self, end: u64) {
        while self.world.checks.violation.is_none() && self.world.upcoming().0 <= end {
            self.world.step();
            self.look();
        }
        self.world.pass(end);
    }

    /// Checks the state after each event.
    fn look(&mut self) {
        let (now, zklock) = (self.world.now, &self.world.zklocks[SLOW]);
        let Some(command) = &zklock.command else { return };
        let runs = command.runs(now);
        self.is_command_gone |= !runs;
        let session = self.world.session_of(SLOW);
        if session.is_none_or(|session| !self.world.ensemble.has_session(session)) {
            self.is_session_gone = true;
            if runs {
                self.world.checks.violated(|| "the session ends before the command does".to_owned());
            }
        }
    }
}
