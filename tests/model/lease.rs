//! The lease: a zklock behind a follower that may be slow, and the next in line, who is told everything at once.
//!
//! Safe means here: when the leader ends a session, the job that ran under it is gone.
//!
//! | in the world | here |
//! |---|---|
//! | `Contender`, `Lease`, `Renewal` | the real ones, moved along as `Claim` does |
//! | time | in units of a twelfth of the session timeout T, at one speed everywhere, or with a clock that stands still once |
//! | the follower | a line to the leader and one back, each in order, held up for any time |
//! | the way from the follower to zklock | takes no time, or comes to a standstill once |
//! | touches | a request touches the session at the follower only; its answer to the leader's ping carries the touch |
//! | pings | every T/3: with a tick of T/2, half a tick and all that the leader's thread may be late |
//! | expiry | at the first moment that `ExpiryQueue` could choose; any other is later. From then on touches are lost, and up to a twelfth of T later the session is closed: until then its requests are still committed |
//! | a lost connection | what was under way is lost; connecting again revalidates the session at the leader, which touches it |
//! | a zklock that is frozen or busy | confirms late |
//! | supervisor and monitor | the job is as stubborn as can be, and is gone only when the monitor's last moment has come, also when the loss is known |
//! | the next in line | its messages take no time: nobody could get the lock sooner |
//!
//! What a delay can change is who hears what before whom, so not every delay is tried:
//! - What the follower sends arrives at once or, from some moment on, never. Later would only mean a later touch,
//!   and answers that more pings are ahead of.
//! - What the leader sends is held up by the first ping that the follower is slow to answer, or on the last part of
//!   its way. Else it arrives at once.
//! - The way back is cut only while an answer is held up: nothing else could be won by it.
//! - Both have queued when the story begins, in either order.
//!
//! Not here: elections (a new leader starts all sessions afresh, which only makes them longer), a leader that can't
//! commit (nothing it says is a confirmation), reads that are older than a write (the model `recipe` has them),
//! client pings (they only touch more), release.

use std::time::Duration;

use stateright::{Model, Property};
use zklock::core::lock::contender::{Contender, Ids, News, Step};
use zklock::core::lock::lease::Lease as RealLease;
use zklock::core::lock::renewal::Renewal;
use zklock::core::time::BootTime;
use zklock::runtime::zk::{Failure, Reply, Request};

use crate::ensemble::History;
use crate::link::{refused, unanswered};
use crate::planted::{Mistake, Planted};
use crate::{entry, lock_path};

/// A twelfth of the session timeout: from an answer to the next confirmation of whoever is first in line.
const UNIT: Duration = Duration::from_millis(200);
const TIMEOUT: u32 = 12;
const PING_EVERY: u32 = 4;
/// The tracker of sessions closes one that has expired so much later at most.
const CLOSED_WITHIN: u32 = 1;
/// What KILL may take, with this timeout.
pub const REAPING: Duration = Duration::from_millis(200);
/// The default of `--kill-after`. With so short a timeout a sixth of it counts.
const KILL_AFTER: Duration = Duration::from_secs(5);

const SLOW: i64 = 1;
const NEXT: i64 = 2;

/// How much is explored.
#[derive(Debug, Clone, Copy)]
pub struct Lease {
    /// In units.
    pub horizon: u32,
    /// For how long zklock may be late with its confirmations, in units and all in all.
    pub late: u32,
    /// Before this time the way from the follower to zklock may come to a standstill, once.
    pub held_before: u32,
    /// How often the connection may be lost.
    pub breaks: u8,
    /// For how long the slow one's clock may stand still, once. If it may, a job is gone as soon as it is
    /// killed; else it takes until the very end of its lease.
    pub standstill: Duration,
    /// What the slow one goes by instead of the real lease.
    pub planted: Option<Mistake>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// The leader's clock.
    now: u32,
    first_ping: u32,
    history: History,
    /// When the leader last heard that the slow one's session lives; `None` once it is closed.
    touched: Option<u32>,
    /// When the session expired: the leader is about to close it.
    expired: Option<u32>,
    slow: Slow,
    next: Option<Next>,
    late: u32,
    was_held: bool,
    breaks: u8,
    handed_over: bool,
}

/// The zklock behind the follower, the follower, and the lines between them and the leader.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Slow {
    /// How much its clock is behind the leader's.
    behind: Duration,
    contender: Contender,
    renewal: Renewal,
    planted: Option<Planted>,
    line: Line,
    past: Past,
    /// While the job runs: when the monitor has seen it dead.
    job_until: Option<BootTime>,
    /// The job was stopped, or the session is known to be over.
    over: bool,
    to_leader: Vec<ToLeader>,
    from_leader: Vec<FromLeader>,
    /// What the follower has told zklock, and zklock doesn't hear; `None` while it hears at once.
    untold: Option<Vec<Reply>>,
    /// The follower has heard of the session since it last answered a ping.
    touched: bool,
    watched: Vec<String>,
}

/// What has happened to it, for the properties.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Past {
    waited: bool,
    ran: bool,
}

/// Between zklock, the follower and the leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Line {
    Open,
    /// What the follower sends doesn't arrive.
    Cut,
    /// zklock has lost its connection.
    Down,
    /// The leader has heard that it is back, and zklock hasn't.
    Returning,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum ToLeader {
    Request(Request, BootTime),
    /// The answer to a ping, and with it a touch.
    Pong,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum FromLeader {
    Ping,
    Reply(Reply),
    Revalidated(bool),
}

/// The other contender, at the leader's elbow.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Next {
    contender: Contender,
    renewal: Renewal,
    watched: Vec<String>,
    job: bool,
    turns: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A unit of time passes.
    Pass,
    /// And the slow one's clock stands still for some of it.
    PassUnnoticed,
    Confirm,
    /// The follower answers a ping, and hands on what had come behind it.
    Ping,
    /// From now on what the follower tells zklock is on its way.
    Hold,
    /// And now it arrives.
    Hear,
    /// Nothing that the follower sends to the leader arrives any more.
    Cut,
    Break,
    Reconnect,
    /// The leader closes the session that has expired.
    Close,
    /// The other's job is done: it releases, and queues again.
    NextQueuesAgain,
}

impl Model for Lease {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let states = (0..PING_EVERY).flat_map(|first_ping| {
            [false, true].map(|other_is_first| self.queued(first_ping, other_is_first))
        });
        states.collect()
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let is_settled = state.slow.over && state.slow.job_until.is_none() && state.touched.is_none();
        let must_close = state.expired.is_some_and(|expired| state.now >= expired + CLOSED_WITHIN);
        if state.expired.is_some() {
            actions.push(Action::Close);
        }
        let may_wait = state.late < self.late || !state.can_confirm();
        if state.now < self.horizon && !is_settled && !must_close && may_wait {
            actions.push(Action::Pass);
            if state.slow.behind < self.standstill {
                actions.push(Action::PassUnnoticed);
            }
        }
        if state.slow.over {
            return;
        }
        if state.can_confirm() {
            actions.push(Action::Confirm);
        }
        if !state.slow.from_leader.is_empty() {
            actions.push(Action::Ping);
        }
        let is_in_flight = state.slow.line == Line::Open && state.slow.renewal.due().is_none();
        match &state.slow.untold {
            None if !state.was_held && state.now < self.held_before && !is_in_flight => {
                actions.push(Action::Hold);
            }
            Some(untold) if !untold.is_empty() => actions.push(Action::Hear),
            _ => {}
        }
        let answers = |message: &FromLeader| *message != FromLeader::Ping;
        let is_held_up = state.slow.from_leader.iter().any(answers) || state.slow.untold.is_some();
        if state.slow.line == Line::Open && is_held_up {
            actions.push(Action::Cut);
        }
        if matches!(state.slow.line, Line::Open | Line::Cut) && state.breaks < self.breaks {
            actions.push(Action::Break);
        }
        if state.slow.line == Line::Down {
            actions.push(Action::Reconnect);
        }
        if state.next.as_ref().is_some_and(|next| next.job && next.turns == 0) && state.slow.past.waited {
            actions.push(Action::NextQueuesAgain);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Pass => state.pass(Duration::ZERO),
            Action::PassUnnoticed => state.pass(self.standstill),
            Action::Confirm => {
                let own = state.slow.contender.own()?.path.clone();
                state.slow.renewal.sent();
                state.send(Request::Confirm(vec![own]));
            }
            Action::Ping => self.follower_takes(&mut state),
            Action::Hold => {
                state.was_held = true;
                state.slow.untold = Some(vec![]);
            }
            Action::Hear => {
                for reply in state.slow.untold.take()? {
                    self.hear(&mut state, reply);
                }
            }
            Action::Cut => state.slow.line = Line::Cut,
            Action::Break => self.lose_connection(&mut state),
            Action::Reconnect => state.revalidate(),
            Action::Close => {
                (state.touched, state.expired) = (None, None);
                state.handed_over = state.slow.past.ran;
                state.end_session(SLOW);
                state.next_confirms();
            }
            Action::NextQueuesAgain => {
                let turns = state.next.take()?.turns + 1;
                state.end_session(NEXT);
                state.enter_next(turns);
            }
        }
        self.deliver(&mut state);
        self.start_job(&mut state);
        let now = state.history.now();
        state.history.forget(now);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("at most one job runs", |_, state: &State| {
                state.slow.job_until.is_none() || !state.next.as_ref().is_some_and(|next| next.job)
            }),
            Property::always("a job is gone before its session ends", |_, state: &State| {
                state.slow.job_until.is_none() || state.touched.is_some()
            }),
            Property::sometimes("a lease is renewed", |_, state: &State| {
                state.slow.job_until.is_some() && state.now > TIMEOUT
            }),
            Property::sometimes("who has waited runs", |_, state: &State| {
                state.slow.job_until.is_some() && state.slow.past.waited
            }),
            Property::sometimes("the session ends, and the next one runs", |_, state: &State| {
                state.handed_over && state.next.as_ref().is_some_and(|next| next.job)
            }),
        ]
    }
}

impl Lease {
    /// Both are in the queue, and no time has passed.
    fn queued(&self, first_ping: u32, other_is_first: bool) -> State {
        let mut state = State::new(first_ping, other_is_first, self.planted);
        self.deliver(&mut state);
        self.start_job(&mut state);
        state
    }

    /// Whatever nothing holds up arrives: see the head of this file for why no more has to be tried.
    fn deliver(&self, state: &mut State) {
        loop {
            if !state.slow.to_leader.is_empty() && matches!(state.slow.line, Line::Open | Line::Returning) {
                state.leader_takes();
            } else if state.slow.from_leader.first().is_some_and(|first| state.slow.hands_on(first)) {
                self.follower_takes(state);
            } else {
                return;
            }
        }
    }

    /// What `acquire` does when it has looked at all that has happened.
    fn start_job(&self, state: &mut State) {
        let now = state.slow_now();
        let slow = &mut state.slow;
        if slow.over || slow.job_until.is_some() {
            return;
        }
        slow.revive(now);
        if slow.contender.holds() && slow.stop_at() > now {
            slow.job_until = Some(self.job_until(slow));
            slow.past.ran = true;
        }
    }

    /// When the monitor, as it is told, has the job dead at the latest.
    fn job_until(&self, slow: &Slow) -> BootTime {
        match &slow.planted {
            Some(planted) => planted.end(),
            None if self.standstill.is_zero() => slow.renewal.lease.end(),
            None => slow.renewal.lease.kill_at(),
        }
    }

    fn follower_takes(&self, state: &mut State) {
        match state.slow.from_leader.remove(0) {
            FromLeader::Ping => {
                // One without a touch changes nothing.
                if std::mem::take(&mut state.slow.touched) {
                    state.slow.to_leader.push(ToLeader::Pong);
                }
            }
            FromLeader::Reply(reply) => match &mut state.slow.untold {
                Some(untold) => untold.push(reply),
                None => self.hear(state, reply),
            },
            FromLeader::Revalidated(true) => {
                state.slow.line = Line::Open;
                state.slow.renewal.set_connected(true);
                for request in state.slow.contender.reconnected().requests {
                    state.send(request);
                }
            }
            FromLeader::Revalidated(false) => state.slow.stop(),
        }
    }

    /// As `Claim::replied` does.
    fn hear(&self, state: &mut State, reply: Reply) {
        let now = state.slow_now();
        match reply {
            Reply::Confirmed(sent, Ok(())) => {
                let slow = &mut state.slow;
                slow.renewal.answered(sent, now);
                slow.planted.iter_mut().for_each(|planted| planted.confirm(sent, now));
                if slow.job_until.is_some() {
                    slow.job_until = Some(self.job_until(slow));
                }
            }
            Reply::Confirmed(_, Err(Failure::NoNode | Failure::Expired)) => state.slow.stop(),
            Reply::Confirmed(_, Err(_)) => state.slow.renewal.unanswered(now),
            reply => {
                let Step { requests, news } = state.slow.contender.take(reply);
                if state.slow.contender.own().is_some() {
                    state.slow.renewal.begin(None, now);
                }
                if state.slow.contender.holds() {
                    state.slow.renewal.becomes_first();
                }
                state.slow.past.waited |= news.iter().any(|news| matches!(news, News::Waiting { .. }));
                if news.iter().any(|news| matches!(news, News::Failed(_))) {
                    state.slow.stop();
                }
                for request in requests {
                    state.send(request);
                }
            }
        }
    }

    fn lose_connection(&self, state: &mut State) {
        state.breaks += 1;
        let slow = &mut state.slow;
        slow.line = Line::Down;
        slow.watched.clear();
        slow.renewal.set_connected(false);
        let untold = slow.untold.take().unwrap_or_default().into_iter().map(FromLeader::Reply);
        let replies: Vec<FromLeader> = untold.chain(slow.from_leader.drain(..)).collect();
        let requests: Vec<ToLeader> = slow.to_leader.drain(..).collect();
        // Another follower: its own lines, and nothing heard of this session yet.
        slow.touched = false;
        let mut lost = vec![];
        for message in replies {
            match message {
                FromLeader::Reply(Reply::Changed(..)) | FromLeader::Ping | FromLeader::Revalidated(_) => {}
                FromLeader::Reply(reply) => lost.push(unanswered(reply)),
            }
        }
        let requests = requests.into_iter().filter_map(|message| match message {
            ToLeader::Request(request, sent) => Some(refused(request, sent, Failure::ConnectionLost)),
            ToLeader::Pong => None,
        });
        lost.extend(requests);
        for reply in lost {
            self.hear(state, reply);
        }
    }
}

impl State {
    fn new(first_ping: u32, other_is_first: bool, planted: Option<Mistake>) -> Self {
        let mut state = Self {
            now: 0,
            first_ping,
            history: History::default(),
            touched: Some(0),
            expired: None,
            slow: Slow::new(planted),
            next: None,
            late: 0,
            was_held: false,
            breaks: 0,
            handed_over: false,
        };
        if other_is_first {
            state.enter_next(0);
        }
        let requests = state.slow.contender.begin().requests;
        for request in requests {
            state.send(request);
        }
        state
    }

    fn can_confirm(&self) -> bool {
        let Slow { line, over, renewal, .. } = &self.slow;
        *line == Line::Open && !over && renewal.due().is_some_and(|due| due <= self.slow_now())
    }

    fn slow_now(&self) -> BootTime {
        at(self.now).before(self.slow.behind)
    }

    /// What can't wait happens as time passes: the monitor's kill, the leader's ping, the end of a session, and all
    /// that the next in line does.
    fn pass(&mut self, standstill: Duration) {
        self.late += u32::from(self.can_confirm());
        self.now += 1;
        self.slow.behind += standstill;
        if self.slow.job_until.is_some_and(|until| until <= self.slow_now()) {
            self.slow.stop();
            self.slow.job_until = None;
        }
        if !self.slow.over && self.slow.line != Line::Down && self.now % PING_EVERY == self.first_ping {
            self.slow.from_leader.push(FromLeader::Ping);
        }
        if self.expired.is_none() && self.touched.is_some_and(|touched| self.now >= touched + TIMEOUT) {
            self.expired = Some(self.now);
        }
        self.next_confirms();
    }

    fn send(&mut self, request: Request) {
        let now = self.slow_now();
        self.slow.touched = true;
        self.slow.to_leader.push(ToLeader::Request(request, now));
    }

    fn leader_takes(&mut self) {
        let message = self.slow.to_leader.remove(0);
        match message {
            ToLeader::Pong => self.touch(),
            ToLeader::Request(request, sent) if self.touched.is_none() => {
                self.slow.from_leader.push(FromLeader::Reply(refused(request, sent, Failure::Expired)));
            }
            ToLeader::Request(request, sent) => {
                let enters = matches!(request, Request::Create { .. });
                let reply = serve(&mut self.history, &mut self.slow.watched, SLOW, request, sent);
                self.slow.from_leader.push(FromLeader::Reply(reply));
                if enters && self.next.is_none() {
                    self.enter_next(0);
                }
            }
        }
    }

    /// In vain once the session has expired, and when it is closed.
    fn touch(&mut self) {
        if self.expired.is_none() {
            self.touched = self.touched.map(|_| self.now);
        }
    }

    /// The session is taken to another follower, and the leader hears of it.
    fn revalidate(&mut self) {
        let lives = self.touched.is_some();
        self.touch();
        self.slow.line = Line::Returning;
        self.slow.from_leader.push(FromLeader::Revalidated(lives));
    }

    fn end_session(&mut self, owner: i64) {
        let now = self.history.now();
        let ended: Vec<String> = (self.history.queue(now).iter())
            .filter(|node| node.owner == owner)
            .map(|node| node.path.clone())
            .collect();
        self.history.end_session(owner);
        for path in ended {
            let told = Reply::Changed(path.clone(), true);
            if self.slow.line != Line::Down && remove(&mut self.slow.watched, &path) && !self.slow.over {
                self.slow.from_leader.push(FromLeader::Reply(told.clone()));
            }
            if let Some(mut next) = self.next.take() {
                if remove(&mut next.watched, &path) {
                    let step = next.contender.take(told);
                    self.serve_next(&mut next, step);
                }
                self.next = Some(next);
            }
        }
    }

    fn enter_next(&mut self, turns: u8) {
        let lease = RealLease::new(at(self.now), UNIT * TIMEOUT);
        let mut next = Next {
            contender: contender(NEXT + i64::from(turns)),
            renewal: Renewal::new(lease),
            watched: vec![],
            job: false,
            turns,
        };
        let step = next.contender.begin();
        self.serve_next(&mut next, step);
        next.renewal.begin(None, at(self.now));
        self.next = Some(next);
        self.next_confirms();
    }

    fn serve_next(&mut self, next: &mut Next, step: Step) {
        let mut requests = step.requests;
        while !requests.is_empty() {
            let request = requests.remove(0);
            let session = NEXT + i64::from(next.turns);
            let reply = serve(&mut self.history, &mut next.watched, session, request, at(self.now));
            requests.extend(next.contender.take(reply).requests);
        }
    }

    fn next_confirms(&mut self) {
        let now = at(self.now);
        let Some(next) = &mut self.next else { return };
        if next.contender.holds() {
            next.renewal.becomes_first();
        }
        next.renewal.revive(now);
        if next.renewal.due().is_some_and(|due| due <= now) {
            next.renewal.sent();
            next.renewal.answered(now, now);
        }
        next.job |= next.contender.holds() && next.renewal.lease.stop_at(KILL_AFTER) > now;
    }
}

impl Slow {
    fn new(planted: Option<Mistake>) -> Self {
        let lease = RealLease::new(at(0), UNIT * TIMEOUT);
        Self {
            behind: Duration::ZERO,
            contender: contender(SLOW),
            renewal: Renewal::new(lease),
            planted: planted.map(|mistake| Planted::new(mistake, at(0), UNIT * TIMEOUT)),
            line: Line::Open,
            past: Past::default(),
            job_until: None,
            over: false,
            to_leader: vec![],
            from_leader: vec![],
            untold: None,
            touched: false,
            watched: vec![],
        }
    }

    /// Without delay: no answer, no ping whose answer would change nothing.
    fn hands_on(&self, message: &FromLeader) -> bool {
        self.line == Line::Cut || !self.touched || *message != FromLeader::Ping
    }

    /// It never starts anything again, and what it says doesn't matter any more. Its job takes its time to die.
    fn stop(&mut self) {
        let Self { behind, past, job_until, .. } = *self;
        *self = Self { behind, past, job_until, over: true, ..Self::new(None) };
    }

    /// As `acquire` does while nothing runs.
    fn revive(&mut self, now: BootTime) {
        self.renewal.revive(now);
        self.planted.iter_mut().for_each(|planted| planted.revive(now));
    }

    fn stop_at(&self) -> BootTime {
        match &self.planted {
            Some(planted) => planted.end().before(UNIT * TIMEOUT / 6),
            None => self.renewal.lease.stop_at(KILL_AFTER),
        }
    }
}

fn at(units: u32) -> BootTime {
    BootTime::from_nanos(0) + UNIT * units
}

fn contender(session: i64) -> Contender {
    let ids = Ids(u128::from(session.unsigned_abs()) << 8);
    Contender::new(entry(ids), session)
}

fn remove(watched: &mut Vec<String>, path: &str) -> bool {
    let place = watched.iter().position(|watched| watched == path);
    place.map(|place| watched.remove(place)).is_some()
}

fn serve(
    history: &mut History,
    watched: &mut Vec<String>,
    session: i64,
    request: Request,
    sent: BootTime,
) -> Reply {
    match request {
        Request::Create { prefix, .. } => Reply::Created(Ok(history.create(&lock_path(), &prefix, session))),
        Request::List(_) | Request::CatchUpAndList(_) => Reply::Listed(Ok(history.list(history.now()))),
        Request::Watch(path) => {
            let node = history.read(&path, history.now());
            if node.is_ok() && !watched.contains(&path) {
                watched.push(path.clone());
            }
            Reply::Read(path, node)
        }
        Request::Confirm(paths) => {
            let missing = paths.iter().any(|path| history.find(path, history.now()).is_none());
            Reply::Confirmed(sent, if missing { Err(Failure::NoNode) } else { Ok(()) })
        }
        other => unreachable!("{other:?} is not part of this model"),
    }
}
