//! Faults that wait for the moment at which they do the most harm. A lease has to withstand the worst moments, and
//! chance alone rarely produces them.
//!
//! Each world has at most one. Its victim holds the lock or is about to, and other contenders are queued behind it. The
//! fault depends on the victim's requests and replies, and on what the leader knows of the victim's session.

mod draw;

use zklock_core::protocol::{Reply, Request, SessionChange};

use super::ensemble::Direction;
use super::fault::Fault;
use super::world::{Event, SessionOwner, World};

const MS: u64 = 1_000_000;

/// A fault aimed at one contender. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Aim {
    /// The contender that the fault is aimed at.
    pub(crate) victim: usize,
    /// How many confirmations precede the fault. They count while the command runs or the victim waits.
    pub(crate) after: u32,
    /// The delay after that until the fault begins.
    pub(crate) later: u64,
    /// How long the fault lasts. Then everything is healed.
    pub(crate) lasts: u64,
    pub(crate) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// No touch reaches the leader when the lease needs one.
    Starved(Starvation),
    /// The same, after the session has moved to another follower.
    Moved(Starvation),
    /// The answer to the connect request is slow, and the leader receives nothing from the follower from the create on.
    SlowConnect { delay: u64 },
    /// The victim's follower is cut off from its leader, in one direction or both.
    CutOff { from_leader: bool, to_leader: bool },
    /// The victim's follower is frozen.
    Frozen,
    /// The victim's host is suspended.
    Asleep,
    /// The victim is connected to the leader. The leader is isolated, and the other servers elect a new one
    /// immediately.
    Deposed,
    /// The victim is cut off, and the leader is isolated when it is about to close the session.
    Closing,
    /// A short interruption that a holder must survive.
    Blink,
    /// The connection breaks `offset` after a request of this kind was sent, before or after the request takes effect.
    Lost { request: Kind, offset: u64 },
    /// The connection breaks between the answer to the create and the list, and the node is deleted meanwhile.
    Orphaned,
    /// The victim waits. Its follower receives the leader's messages late and its own don't arrive, while the lock
    /// passes to the victim and on to the next contender.
    Behind { lag: u64, release: u64 },
    /// The session moves to a server that applies commits late by `lag`, just after the create was answered: that server
    /// doesn't have the victim's node yet.
    MovedBack { lag: u64 },
}

/// The follower receives the leader's messages late by `lag`, from just after a ping or from the `quiet`th confirmation
/// after it. After `more` confirmations nothing from the follower reaches the leader: the last confirmation is
/// committed, and no touch follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Starvation {
    pub(crate) lag: u64,
    pub(crate) quiet: u32,
    pub(crate) more: u32,
    pub(crate) at_ping: bool,
    /// The time from the last ping to the next, because the pinging thread is held up.
    pub(crate) gap: Option<u64>,
}

/// The kind of request whose answer is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Create,
    Watch,
    List,
    Confirm,
    Write,
    RecordSuccess,
}

impl Kind {
    fn is_of(self, request: &Request) -> bool {
        match request {
            Request::Create { .. } => self == Self::Create,
            Request::Watch(_) => self == Self::Watch,
            Request::List(_) | Request::CatchUpAndList(_) => self == Self::List,
            Request::Confirm(_) => self == Self::Confirm,
            Request::Write(..) => self == Self::Write,
            Request::RecordSuccess { .. } => self == Self::RecordSuccess,
            _ => false,
        }
    }
}

/// A step of an aimed fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Move {
    Begin,
    Pinged,
    Lag,
    Mute,
    Restart,
    Isolate,
    Reset,
    Release,
    Heal,
}

/// How far the aimed fault has got.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    confirmed: u32,
    begun: bool,
    /// How many confirmations are still to be requested before the follower is late (`quiet`), or before nothing from
    /// it reaches the leader (`more`).
    quiet: Option<u32>,
    more: Option<u32>,
    /// The server that the victim is connected to.
    server: Option<usize>,
    healed: bool,
}

impl World {
    fn aim(&self) -> Option<&Aim> {
        self.scenario.aim.as_ref()
    }

    /// Whether the aimed fault is over, or there is none.
    pub(crate) fn is_aim_over(&self) -> bool {
        self.aim().is_none() || self.progress.healed
    }

    fn moves(&mut self, after: u64, what: Move) {
        self.after(after, Event::Aim(what));
    }

    /// Prepares the start of a zklock: the victim must connect to the server that the fault hits, the others elsewhere.
    /// Returns the time at which it has to begin instead, if any.
    pub(crate) fn aim_begins(&mut self, index: usize) -> Option<u64> {
        let aim = self.aim()?.clone();
        let leader = self.ensemble.leader()?;
        let servers = self.scenario.servers;
        let is_hit = *self.progress.server.get_or_insert_with(|| match aim.what {
            What::Deposed => leader,
            _ => (leader + 1) % servers,
        });
        for server in 0..servers {
            let goes = match aim.what {
                What::Blink | What::Lost { .. } | What::Orphaned => true,
                _ => (index == aim.victim) == (server == is_hit),
            };
            self.ensemble.refuse(index, server, !goes);
        }
        if index == aim.victim
            && let What::SlowConnect { delay } = aim.what
            && !self.progress.begun
        {
            self.progress.begun = true;
            self.delay_answers(index, delay);
            return self.ensemble.next_ping().map(|ping| ping + aim.later);
        }
        None
    }

    fn delay_answers(&mut self, index: usize, delay: u64) {
        let usual = self.zklocks[index].contender.line;
        for server in 0..self.scenario.servers {
            self.ensemble.delay_link(index, server, Direction::ToClient, usual + delay);
        }
    }

    /// Reacts to a request of the victim.
    pub(crate) fn aim_sees_question(&mut self, owner: SessionOwner, request: &Request) {
        let Some(aim) = self.aim().filter(|aim| owner == SessionOwner::Worker(aim.victim)) else { return };
        // By then the request has been forwarded; it is committed in a moment.
        let forwarded = self.zklocks[aim.victim].contender.line + 1_200_000;
        match aim.what {
            What::SlowConnect { .. } if matches!(request, Request::Create { .. }) => {
                let lasts = aim.lasts;
                self.moves(forwarded, Move::Mute);
                self.moves(lasts, Move::Heal);
            }
            What::MovedBack { lag } if matches!(request, Request::Create { .. }) => {
                if let Some(other) = self.other_follower(aim.victim).filter(|_| !self.progress.begun) {
                    self.ensemble.set_lag(other, lag);
                }
            }
            What::Lost { request: kind, offset } if kind.is_of(request) && !self.progress.begun => {
                self.progress.confirmed += 1;
                if self.progress.confirmed > self.aim().map_or(0, |aim| aim.after) {
                    self.progress.begun = true;
                    self.moves(offset, Move::Reset);
                    self.moves(offset + 1, Move::Heal);
                }
            }
            _ => {}
        }
        if !matches!(request, Request::Confirm(_)) {
            return;
        }
        let is_last = |left: &mut Option<u32>| {
            *left = left.map(|left| left.saturating_sub(1));
            left.take_if(|left| *left == 0).is_some()
        };
        if is_last(&mut self.progress.more) {
            self.moves(forwarded, Move::Mute);
        }
        if is_last(&mut self.progress.quiet) {
            self.moves(0, Move::Lag);
        }
    }

    /// Reacts to a change of the victim's session.
    pub(crate) fn aim_sees_session(&mut self, owner: SessionOwner, change: &SessionChange) {
        let Some(aim) = self.aim().filter(|aim| owner == SessionOwner::Worker(aim.victim)) else { return };
        if let (SessionChange::Connected { .. }, What::SlowConnect { .. }) = (change, &aim.what) {
            let victim = aim.victim;
            self.delay_answers(victim, 0);
        }
    }

    /// Reacts to a reply to the victim.
    pub(crate) fn aim_sees_answer(&mut self, owner: SessionOwner, reply: &Reply) {
        let Some(aim) = self.aim().filter(|aim| owner == SessionOwner::Worker(aim.victim)) else { return };
        let (victim, after, lasts) = (aim.victim, aim.after, aim.lasts);
        let later = if aim.what == What::Orphaned { 0 } else { aim.later };
        match (&aim.what, reply) {
            (What::Orphaned | What::MovedBack { .. }, Reply::Created(Ok(_))) if !self.progress.begun => {
                self.progress.begun = true;
                self.moves(later, Move::Begin);
                return self.moves(later + lasts, Move::Heal);
            }
            (What::SlowConnect { .. } | What::Lost { .. } | What::MovedBack { .. }, _) => return,
            (_, Reply::Confirmed(_, Ok(()))) => {}
            _ => return,
        }
        let waits = matches!(aim.what, What::Behind { .. });
        if self.progress.begun || self.zklocks[victim].command.is_none() && !waits {
            return;
        }
        self.progress.confirmed += 1;
        if self.progress.confirmed > after {
            self.progress.begun = true;
            self.moves(later, Move::Begin);
            self.moves(later + lasts, Move::Heal);
        }
    }

    pub(crate) fn aim_moves(&mut self, what: Move) {
        let Some(aim) = self.aim().cloned().filter(|_| !self.progress.healed) else { return };
        self.trace.print(self.now, || format!("aimed at zklock {}: {what:?} of {:?}", aim.victim, aim.what));
        match what {
            Move::Begin => self.aim_strikes(&aim),
            Move::Pinged => {
                let (What::Starved(starvation) | What::Moved(starvation)) = aim.what else { return };
                if let Some(gap) = starvation.gap {
                    self.ensemble.hold_pings(self.now + gap);
                }
                if starvation.quiet == 0 {
                    return self.aim_moves(Move::Lag);
                }
                self.progress.quiet = Some(starvation.quiet);
            }
            Move::Lag => {
                let lag = match aim.what {
                    What::Starved(Starvation { lag, more, .. })
                    | What::Moved(Starvation { lag, more, .. }) => {
                        self.progress.more = Some(more);
                        lag
                    }
                    What::Behind { lag, .. } => lag,
                    _ => return,
                };
                if let Some((leader, server)) = self.leader_and_its_server(aim.victim) {
                    self.ensemble.delay_peer(leader, server, lag);
                }
            }
            Move::Mute => {
                if let Some((leader, server)) = self.leader_and_its_server(aim.victim) {
                    self.ensemble.set_data_hole(server, leader, true);
                }
            }
            Move::Restart => {
                for server in 0..self.scenario.servers {
                    self.ensemble.restart(server);
                }
            }
            Move::Isolate => {
                if let Some(leader) = self.ensemble.leader() {
                    self.ensemble.set_isolated(leader, true);
                }
            }
            Move::Reset => self.reset(aim.victim),
            Move::Release => self.apply_fault(0, Fault::DeleteNode, 0),
            Move::Heal => self.aim_heals(),
        }
    }

    fn aim_strikes(&mut self, aim: &Aim) {
        let victim = aim.victim;
        match &aim.what {
            What::MovedBack { .. } => self.move_to_the_other_follower(victim),
            What::Moved(starvation) => {
                self.move_to_the_other_follower(victim);
                self.lags_soon(starvation.at_ping);
            }
            What::Starved(starvation) => self.lags_soon(starvation.at_ping),
            What::CutOff { from_leader, to_leader } => {
                if let Some((leader, server)) = self.leader_and_its_server(victim) {
                    self.ensemble.set_data_hole(leader, server, *from_leader);
                    self.ensemble.set_data_hole(server, leader, *to_leader);
                }
            }
            What::Frozen => {
                if let Some((_, server)) = self.leader_and_its_server(victim) {
                    self.ensemble.freeze(server);
                }
            }
            What::Asleep => self.apply_fault(victim, Fault::SuspendHost, aim.lasts),
            What::Deposed => {
                let Some(leader) = self.ensemble.leader() else { return };
                self.ensemble.set_isolated(leader, true);
                for server in (0..self.scenario.servers).filter(|&server| server != leader) {
                    self.ensemble.crash(server);
                }
                self.moves(10 * MS, Move::Restart);
            }
            What::Closing => {
                self.set_cut(victim, &[Direction::ToServer, Direction::ToClient], true);
                let session = self.session_of(victim);
                if let Some(end) = session.and_then(|session| self.ensemble.expiry_of(session)) {
                    self.at(end + aim.later % (6 * MS) - 3 * MS, Event::Aim(Move::Isolate));
                }
            }
            What::Blink => {
                let directions = [Direction::ToServer, Direction::ToClient];
                let cut = match aim.later % 3 {
                    0 => &directions[..1],
                    1 => &directions[1..],
                    _ => &directions[..],
                };
                self.set_cut(victim, cut, true);
            }
            What::Orphaned => {
                self.reset(victim);
                self.apply_fault(victim, Fault::DeleteNode, 0);
            }
            What::Behind { release, .. } => {
                self.moves(0, Move::Lag);
                self.moves(0, Move::Mute);
                self.moves(*release, Move::Release);
            }
            What::SlowConnect { .. } | What::Lost { .. } => {}
        }
    }

    /// Schedules the lag for just after the next ping, or for now.
    fn lags_soon(&mut self, at_ping: bool) {
        let after = self.ensemble.next_ping().filter(|_| at_ping).map_or(0, |ping| {
            // By then the ping has arrived, and so has its answer.
            ping.saturating_sub(self.now) + 2 * MS
        });
        self.moves(after, Move::Pinged);
    }

    /// The leader, and the follower that the victim is connected to.
    fn leader_and_its_server(&mut self, victim: usize) -> Option<(usize, usize)> {
        let leader = self.ensemble.leader()?;
        let server = self.server_of(victim).or(self.progress.server)?;
        (server != leader).then_some((leader, server))
    }

    /// The follower that the victim is not connected to.
    fn other_follower(&mut self, victim: usize) -> Option<usize> {
        let (leader, server) = self.leader_and_its_server(victim)?;
        (0..self.scenario.servers).find(|other| ![leader, server].contains(other))
    }

    fn move_to_the_other_follower(&mut self, victim: usize) {
        if let Some(to) = self.other_follower(victim) {
            for other in 0..self.scenario.servers {
                self.ensemble.refuse(victim, other, other != to);
            }
        }
        self.reset(victim);
    }

    fn aim_heals(&mut self) {
        self.progress.healed = true;
        self.calm_since = self.now;
        let servers = self.scenario.servers;
        for server in 0..servers {
            self.ensemble.restart(server);
            self.ensemble.thaw(server);
            self.ensemble.set_isolated(server, false);
            self.ensemble.set_lag(server, 0);
            for other in 0..servers {
                self.ensemble.delay_peer(server, other, 0);
            }
            for index in 0..self.zklocks.len() {
                self.ensemble.refuse(index, server, false);
            }
        }
        for index in 0..self.zklocks.len() {
            self.delay_answers(index, 0);
            self.set_cut(index, &[Direction::ToServer, Direction::ToClient], false);
        }
    }
}
