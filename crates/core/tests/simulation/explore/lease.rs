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
//! | isolate | the leader is cut off from the other servers |
//!
//! Messages take no time unless something holds them up, so that every contender receives everything as early as
//! possible.

use zklock_core::protocol::{Request, SessionChange};
use zklock_core::queue::name::Mode;

use super::choices::{Choices, Outcome};
use crate::bare::{Bare, BareOptions};
use crate::client::{Client, ClientEvent, HostClock, Settings};
use crate::ensemble::wire::Acl;
use crate::ensemble::{Config, Direction, Ensemble, MS, Output};

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
    /// Whether any two faults may be combined. Otherwise a fault that lasts some steps may only be followed by one that
    /// doesn't.
    pub(crate) any_two: bool,
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
    /// The leader can no longer exchange messages with the other servers.
    Isolate,
}

/// How many steps late a message may be.
const DELAYS: [u64; 8] = [1, 2, 3, 4, 5, 7, 9, 12];

const T: u64 = 2_400 * MS;
const STEP: u64 = T / STEPS;
const MAKER: u64 = 1 << 32;

struct World<'a> {
    setup: &'a Setup,
    choices: &'a mut Choices,
    ensemble: Ensemble,
    leader: usize,
    follower: usize,
    /// `slow` is the zklock behind the slow follower, `next` the other one.
    slow: Option<Bare>,
    next: Option<Bare>,
    /// The connection from the follower to the leader is cut, or the leader is isolated.
    is_cut: bool,
    /// Something was slow, held up or frozen.
    was_late: bool,
    /// The step in which a silence ends.
    silent_until: Option<u64>,
    /// When the session of `slow` was gone, and when its command was.
    session_gone: Option<u64>,
    command_gone: Option<u64>,
    violation: Option<String>,
}

/// Runs a setup. The measure is the smallest margin between session and command, in billionths of the session timeout.
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
    let mut ensemble = Ensemble::new(config);
    while !ensemble.is_whole() {
        ensemble.step();
    }
    let leads_from = ensemble.now();
    make_path(&mut ensemble);
    let leader = ensemble.leader().unwrap();
    // Pings are sent every half tick.
    let half = tick / 2;
    let begins =
        leads_from + (ensemble.now() - leads_from).div_ceil(half) * half + half + setup.offset * STEP / 2;
    // Just before the leader would forget a touch at a step of the grid, or later.
    ensemble.set_phase(leader, (2 * tick - 1 - begins % tick + setup.phase * STEP) % tick);
    ensemble.next(begins);
    while ensemble.now() < begins {
        ensemble.next(begins);
    }
    let mut world = World {
        setup,
        choices,
        leader,
        follower: if setup.is_at_leader { leader } else { (leader + 1) % 3 },
        ensemble,
        slow: None,
        next: None,
        is_cut: false,
        was_late: false,
        silent_until: None,
        session_gone: None,
        command_gone: None,
        violation: None,
    };
    world.goes_on();
    let margin = match (world.session_gone, world.command_gone) {
        (Some(session), Some(command)) => {
            Some((session.cast_signed() - command.cast_signed()) * 1_000_000 / (T / 1_000).cast_signed())
        }
        _ => None,
    };
    world.violation.map_or(Ok(margin), Err)
}

fn make_path(ensemble: &mut Ensemble) {
    let settings = Settings {
        zone: 2,
        servers: vec![0],
        timeout: 60_000 * MS,
        deadline: None,
        clock: HostClock::default(),
        seed: 0,
        acl: Acl::OPEN,
    };
    let mut maker = Client::open(ensemble, settings, MAKER);
    while !maker.is_over() {
        if let Some(output) = ensemble.step() {
            maker.take(ensemble, output);
        }
        while let Some(news) = maker.news() {
            match news {
                ClientEvent::Session(SessionChange::Connected { .. }) => {
                    maker.ask(ensemble, 0, Request::MakeParents("/l/a".into()));
                }
                ClientEvent::Reply(..) => maker.release(ensemble, vec![]),
                ClientEvent::Session(_) => {}
            }
        }
    }
}

impl World<'_> {
    fn goes_on(&mut self) {
        let others = self.setup.waits_for;
        if others.is_some() {
            let next = self.options(1, others);
            self.next = Some(Bare::begin(&mut self.ensemble, next, 1));
            self.settle();
        }
        for step in 0..self.setup.horizon {
            self.depart(step);
            if step == 0 {
                let slow = self.options(0, None);
                self.slow = Some(Bare::begin(&mut self.ensemble, slow, 0));
            } else if step == 3 && others.is_none() {
                let next = self.options(1, None);
                self.next = Some(Bare::begin(&mut self.ensemble, next, 1));
            }
            let end = self.ensemble.now() + STEP;
            if self.silent_until == Some(step) {
                self.pass(end - MS);
                self.silence(false);
            }
            self.pass(end);
            if self.violation.is_some() || self.session_gone.is_some() {
                return;
            }
        }
        if self.silent_until.is_some() && self.command_gone.is_some() {
            self.violation = Some("a short silence stops the command".to_owned());
        }
    }

    fn silence(&mut self, begins: bool) {
        for direction in [Direction::ToServer, Direction::ToClient] {
            self.ensemble.set_hole(0, self.follower, direction, begins);
        }
    }

    fn options(&self, zone: usize, lasts: Option<u64>) -> BareOptions {
        let is_slow = zone == 0;
        let slow_by = if is_slow { self.setup.slow_by } else { 0 };
        BareOptions {
            locks: &["/l/a"],
            mode: Mode::Exclusive,
            timeout: T,
            lasts: lasts.map_or(100 * T, |steps| steps * STEP),
            reaping: if is_slow && slow_by == 0 { T / STEPS } else { 0 },
            zone,
            servers: if is_slow { vec![self.follower] } else { vec![self.leader] },
            clock: HostClock { drift_ppb: -slow_by, ..HostClock::default() },
        }
    }

    /// Processes everything that can happen immediately.
    fn settle(&mut self) {
        let now = self.ensemble.now();
        self.pass(now);
    }

    fn depart(&mut self, step: u64) {
        // Messages of the step before stay late; messages of this step arrive after them.
        self.ensemble.delay_peer(self.leader, self.follower, 0);
        self.ensemble.delay_link(0, self.follower, Direction::ToClient, 0);
        let is_over = self.slow.as_ref().is_some_and(Bare::is_over);
        if self.is_cut || is_over || self.silent_until.is_some() {
            return;
        }
        let mut directions: Vec<(Fault, u64)> = vec![];
        for &fault in self.setup.faults {
            match fault {
                // A young lease has less reserve.
                Fault::Silence if step < 10 || step + 6 > self.setup.horizon => {}
                Fault::Cut | Fault::Reset | Fault::Silence | Fault::Isolate => directions.push((fault, 0)),
                Fault::Frozen => directions.extend([1, 2].map(|steps| (fault, steps))),
                Fault::Slow | Fault::Held => directions.extend(DELAYS.map(|steps| (fault, steps))),
            }
        }
        if self.was_late && !self.setup.any_two {
            directions.retain(|&(_, steps)| steps == 0);
        }
        let direction = self.choices.choose(directions.len() + 1);
        let Some(&(fault, steps)) = direction.checked_sub(1).and_then(|direction| directions.get(direction))
        else {
            return;
        };
        self.choices.tell(self.ensemble.now(), || format!("step {step}: {fault:?} {steps}"));
        self.was_late |= steps > 0;
        match fault {
            Fault::Slow => self.ensemble.delay_peer(self.leader, self.follower, steps * STEP),
            Fault::Held => self.ensemble.delay_link(0, self.follower, Direction::ToClient, steps * STEP),
            Fault::Cut => {
                self.is_cut = true;
                self.ensemble.set_data_hole(self.follower, self.leader, true);
            }
            Fault::Frozen => {
                let until = self.ensemble.now() + steps * STEP;
                if let Some(slow) = &mut self.slow {
                    slow.freeze(&mut self.ensemble, until);
                }
            }
            Fault::Silence => {
                self.silent_until = Some(step + 3);
                self.silence(true);
            }
            Fault::Isolate => {
                self.is_cut = true;
                self.ensemble.set_isolated(self.leader, true);
            }
            Fault::Reset => self.ensemble.cut(0, self.follower),
        }
    }

    fn pass(&mut self, end: u64) {
        while self.violation.is_none()
            && let Some((due, _)) = self.ensemble.upcoming().filter(|(due, _)| *due <= end)
        {
            let output = self.ensemble.step();
            self.look(due);
            if let Some(output) = output {
                self.comes_out(output);
            }
        }
        self.ensemble.next(end);
    }

    fn comes_out(&mut self, output: Output) {
        let is_of = |zklock: &Option<Bare>, number: u64| match &output {
            Output::Woken(token) => Bare::number_of(*token) == number,
            Output::FromServer(conn, _) | Output::Closed(conn) => {
                zklock.as_ref().and_then(Bare::conn) == Some(*conn)
            }
        };
        let zklock = match (is_of(&self.slow, 0), is_of(&self.next, 1)) {
            (true, _) => &mut self.slow,
            (_, true) => &mut self.next,
            _ => return,
        };
        let Some(zklock) = zklock else { return };
        let had = zklock.token;
        zklock.take(&mut self.ensemble, output);
        let now = self.ensemble.now();
        if zklock.token != had {
            let zone = zklock.options().zone;
            self.choices.tell(now, || format!("zklock {zone} starts its command"));
            let runs = |zklock: &Option<Bare>| zklock.as_ref().is_some_and(Bare::runs);
            if runs(&self.slow) && runs(&self.next) {
                self.violation.get_or_insert_with(|| "two commands run".to_owned());
            }
        }
    }

    /// Checks the state after each event.
    fn look(&mut self, now: u64) {
        let Some(slow) = &mut self.slow else { return };
        slow.passes(now);
        if slow.token != 0 && !slow.runs() && self.command_gone.is_none() {
            self.command_gone = Some(now);
            self.choices.tell(now, || "the command is gone".to_owned());
        }
        if slow.session != 0
            && slow.token != 0
            && !self.ensemble.has_session(slow.session)
            && self.session_gone.is_none()
        {
            self.session_gone = Some(now);
            self.choices.tell(now, || "the session is gone".to_owned());
            if slow.runs() {
                self.violation.get_or_insert_with(|| "the session ends before the command does".to_owned());
            }
        }
    }
}
