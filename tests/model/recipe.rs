//! The recipe: several contenders for one lock, every order of events, and a few troubles. No time.
//!
//! | in the world | here |
//! |---|---|
//! | `Contender` and all that it calls | the real ones |
//! | servers | one for each zklock, showing a beginning of the common history; `sync` and writes bring it up to date, such as the one that a new connection begins with |
//! | requests, replies, watches | one flight for each session, see `link` |
//! | session timeout, lease | a session ends only when its job is gone; the model `lease` is about why that is so |
//! | the job | runs as soon as the lock is held, and ends at any time |
//! | the half of a zklock whose other half died | kills the job at any time, then may delete the node, and the session ends at any time |
//! | release | delete and close in one flight; a lost close is sent again after a reconnection |
//!
//! Not here: the making of parents, refused requests (ACLs, quotas), other clients' nodes, `-n`, confirmations.

use std::sync::Arc;

use stateright::{Model, Property};
use zklock::core::lock::contender::{Contender, Ids, News, Step};
use zklock::runtime::zk::{Failure, Reply, Request};

use crate::ensemble::History;
use crate::link::{Asked, Heard, Link};
use crate::{entry, lock_path};

/// How much is explored, and what is broken on purpose.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    pub contenders: usize,
    /// What may go wrong.
    pub allowed: fn(Troubles) -> bool,
    pub broken: Option<Broken>,
}

/// How often something has gone wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Troubles {
    /// A connection was lost.
    pub gaps: u8,
    /// A stranger deleted the node of one that waits.
    pub thefts: u8,
    /// The end of a session, a death, a deadline, a stranger's write.
    pub others: u8,
}

/// Ways to break what surrounds the contender: the model has to notice each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// A new connection isn't told to the contender, whose watches went with the old one.
    NeverTold,
    /// A new connection may be one to a server that lags.
    Lagging,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    history: Arc<History>,
    runs: Vec<Arc<Run>>,
    troubles: Troubles,
}

/// One zklock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Run {
    contender: Contender,
    session: i64,
    session_lives: bool,
    life: Life,
    job: bool,
    /// The job has been started: there is never a second.
    ran: bool,
    link: Link,
    past: Past,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Life {
    Contending,
    /// Delete and close are under way.
    Releasing,
    /// Exited after the close was answered, or with the session over.
    Ended,
    /// Killed, or out of patience with servers that don't answer.
    Dead,
}

/// What happened to a run, for the properties.
#[allow(clippy::struct_excessive_bools, reason = "marks that say nothing of each other")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Past {
    created: bool,
    waited: bool,
    adopted: bool,
    queued_again: bool,
    /// A stranger deleted its node.
    robbed: bool,
    /// It failed though nobody had.
    wronged: bool,
}

/// Runs by their index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Serve(usize, AtView),
    /// The create is served, and the connection goes before the answer.
    CreateInVain(usize),
    Receive(usize),
    Tell(usize),
    JobEnds(usize),
    GiveUp(usize),
    Break(usize),
    Reconnect(usize, AtView),
    Expire(usize),
    LosePatience(usize),
    Crash(usize),
    HalfKills(usize),
    HalfDeletes(usize),
    StrangerDeletes(String),
    StrangerWrites(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtView(usize);

impl Model for Recipe {
    type State = State;
    type Action = Action;

    /// All have begun: whoever comes later is one whose first request is served later.
    fn init_states(&self) -> Vec<State> {
        let runs = (0..self.contenders).map(|run| Arc::new(Run::new(session(run, 0), 0))).collect();
        vec![State { history: Arc::default(), runs, troubles: Troubles::default() }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (index, run) in state.runs.iter().enumerate() {
            // All are alike, so that they may as well be numbered in the order of their first creates.
            let in_turn = run.past.created || state.runs[..index].iter().all(|run| run.past.created);
            run.actions(index, &state.history, in_turn, actions);
            if !run.link.up && run.is_connected_now_or_later() {
                let now = state.history.now();
                let first = if self.broken == Some(Broken::Lagging) { 0 } else { now };
                actions.extend((first..=now).map(|view| Action::Reconnect(index, AtView(view))));
            }
        }
        self.strangers(state, actions);
        actions.retain(|action| {
            let troubles = state.troubles.with(state, action);
            troubles == state.troubles || (self.allowed)(troubles)
        });
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        state.troubles = last.troubles.with(last, &action);
        self.act(&mut state, action)?;
        state.forget();
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always("at most one job runs", |_, state: &State| {
                state.runs.iter().filter(|run| run.job).count() <= 1
            }),
            Property::always("never two nodes of one session", |_, state: &State| state.owners_differ()),
            Property::always("no orphan", |_, state: &State| state.every_node_has_a_session()),
            Property::always("no lost wake-up", |_, state: &State| {
                !state.is_quiet() || state.somebody_runs()
            }),
            Property::always("nobody fails without cause", |_, state: &State| {
                !state.runs.iter().any(|run| run.past.wronged)
            }),
            Property::sometimes("everybody has had a turn", |_, state: &State| {
                state.runs.iter().all(|run| run.ran && run.life == Life::Ended)
            }),
        ];
        properties.extend(if self.contenders > 2 {
            vec![
                Property::sometimes("two wait", |_, state: &State| {
                    let waits = |run: &&Arc<Run>| run.past.waited && !run.ran && run.life == Life::Contending;
                    state.runs.iter().filter(waits).count() >= 2
                }),
                Property::sometimes("one is robbed and ends, another runs", |_, state: &State| {
                    state.runs.iter().any(|run| run.past.robbed && run.life == Life::Ended)
                        && state.runs.iter().any(|run| run.job)
                }),
            ]
        } else {
            vec![
                Property::sometimes("a node is adopted, and its job runs", |_, state: &State| {
                    state.runs.iter().any(|run| run.past.adopted && run.job)
                }),
                Property::sometimes(
                    "a session ends in the queue, and the next one's job runs",
                    |_, state: &State| state.runs.iter().any(|run| run.past.queued_again && run.job),
                ),
            ]
        });
        properties
    }
}

impl Troubles {
    pub fn total(self) -> u8 {
        self.gaps + self.thefts + self.others
    }

    fn with(mut self, state: &State, action: &Action) -> Self {
        match action {
            Action::CreateInVain(_) | Action::Break(_) => self.gaps += 1,
            Action::StrangerDeletes(_) => self.thefts += 1,
            Action::GiveUp(_) | Action::Crash(_) | Action::StrangerWrites(_) => self.others += 1,
            // The session of a dead one ends as a matter of course.
            Action::Expire(run) => self.others += u8::from(state.runs[*run].life != Life::Dead),
            _ => {}
        }
        self
    }
}

impl Recipe {
    /// What other people do to the nodes.
    fn strangers(&self, state: &State, actions: &mut Vec<Action>) {
        let Troubles { thefts, others, .. } = state.troubles;
        let thefts = (self.allowed)(Troubles { thefts: thefts + 1, ..state.troubles });
        let writes = (self.allowed)(Troubles { others: others + 1, ..state.troubles });
        if !thefts && !writes {
            return;
        }
        for (place, node) in state.history.queue(state.history.now()).iter().enumerate() {
            if writes {
                actions.push(Action::StrangerWrites(node.path.clone()));
            }
            // Only of one that waits: a holder can't know in time, and no lock could make it.
            if thefts && place > 0 {
                actions.push(Action::StrangerDeletes(node.path.clone()));
            }
        }
    }

    fn act(&self, state: &mut State, action: Action) -> Option<()> {
        let history = Arc::make_mut(&mut state.history);
        let runs = &mut state.runs;
        match action {
            Action::Serve(index, AtView(view)) => Self::serve(run_mut(runs, index), history, view),
            Action::CreateInVain(index) => {
                let Asked::Of(Request::Create { prefix, .. }) = run_mut(runs, index).link.asked.remove(0)
                else {
                    return None;
                };
                run_mut(runs, index).past.created = true;
                history.create(&lock_path(), &prefix, run_mut(runs, index).session);
                Self::lose_connection(
                    run_mut(runs, index),
                    vec![Reply::Created(Err(Failure::ConnectionLost))],
                );
            }
            Action::Receive(index) => {
                let reply = run_mut(runs, index).link.receive();
                Self::take(run_mut(runs, index), vec![reply]);
            }
            Action::Tell(index) => {
                let heard = run_mut(runs, index).link.tell(history);
                Self::take(run_mut(runs, index), heard.replies);
            }
            Action::JobEnds(index) => {
                run_mut(runs, index).job = false;
                run_mut(runs, index).release();
            }
            Action::GiveUp(index) => run_mut(runs, index).release(),
            Action::Break(index) => Self::lose_connection(run_mut(runs, index), vec![]),
            Action::Reconnect(index, AtView(view)) => {
                let run = run_mut(runs, index);
                run.link.reconnect(view);
                if run.life == Life::Releasing {
                    run.link.asked = vec![Asked::CloseSession];
                } else if self.broken != Some(Broken::NeverTold) {
                    let requests = run.contender.reconnected().requests;
                    run.link.ask(requests);
                }
            }
            Action::Expire(index) => {
                history.end_session(run_mut(runs, index).session);
                run_mut(runs, index).lose_session(index, history.now());
            }
            Action::LosePatience(index) | Action::Crash(index) => {
                run_mut(runs, index).life = Life::Dead;
                run_mut(runs, index).link = Link::new(0);
            }
            Action::HalfKills(index) => run_mut(runs, index).job = false,
            Action::HalfDeletes(index) => {
                let own = run_mut(runs, index).contender.own()?.path.clone();
                history.delete(&own).ok()?;
            }
            Action::StrangerWrites(path) => history.write(&path).ok()?,
            Action::StrangerDeletes(path) => {
                let owner = history.find(&path, history.now())?.owner;
                history.delete(&path).ok()?;
                let index = runs.iter().position(|run| run.session == owner)?;
                run_mut(runs, index).past.robbed = true;
            }
        }
        Some(())
    }

    fn serve(run: &mut Run, history: &mut History, view: usize) {
        run.past.created |= run.link.is_asked_to_create();
        let Heard { replies, closed } = run.link.serve(history, run.session, view);
        Self::take(run, replies);
        if closed {
            run.end(Life::Ended);
        }
    }

    /// `unanswered`: what was served before the connection went, without an answer.
    fn lose_connection(run: &mut Run, mut unanswered: Vec<Reply>) {
        unanswered.extend(run.link.fail());
        Self::take(run, unanswered);
    }

    /// What `Claim` and the loops of `acquire` and `supervise` do with replies.
    fn take(run: &mut Run, replies: Vec<Reply>) {
        for reply in replies {
            if run.life != Life::Contending {
                return;
            }
            let adopts = matches!(reply, Reply::Read(..));
            let Step { requests, news } = run.contender.take(reply);
            run.link.ask(requests);
            for news in news {
                run.hear(&news, adopts);
            }
            // Only the first time: a job that is being stopped isn't started again.
            if run.contender.holds() && !run.ran {
                (run.job, run.ran) = (true, true);
            }
        }
    }
}

fn run_mut(runs: &mut [Arc<Run>], index: usize) -> &mut Run {
    Arc::make_mut(&mut runs[index])
}

/// Sessions of one run are this far apart.
const ROUND: i64 = 100;

fn session(run: usize, round: i64) -> i64 {
    round * ROUND + i64::try_from(run).unwrap() + 1
}

fn new_contender(session: i64) -> Contender {
    let ids = Ids(u128::from(session.unsigned_abs()) << 8);
    Contender::new(entry(ids), session)
}

impl Run {
    fn new(session: i64, view: usize) -> Self {
        let mut contender = new_contender(session);
        let mut link = Link::new(view);
        link.ask(contender.begin().requests);
        let (life, past) = (Life::Contending, Past::default());
        Self { contender, session, session_lives: true, life, job: false, ran: false, link, past }
    }

    fn actions(&self, index: usize, history: &History, in_turn: bool, actions: &mut Vec<Action>) {
        match self.life {
            Life::Dead if self.job => actions.push(Action::HalfKills(index)),
            Life::Dead if self.session_lives => {
                actions.push(Action::Expire(index));
                let own = self.contender.own();
                if own.is_some_and(|own| history.find(&own.path, history.now()).is_some()) {
                    actions.push(Action::HalfDeletes(index));
                }
            }
            Life::Dead | Life::Ended => {}
            Life::Contending | Life::Releasing => {
                self.ordinary_actions(index, history, in_turn, actions);
                self.troubles(index, in_turn, actions);
            }
        }
    }

    fn ordinary_actions(&self, index: usize, history: &History, in_turn: bool, actions: &mut Vec<Action>) {
        if self.job {
            actions.push(Action::JobEnds(index));
        }
        if !self.link.up {
            if self.life == Life::Releasing {
                actions.push(Action::LosePatience(index));
            }
            return;
        }
        if in_turn || !self.link.is_asked_to_create() {
            let views = self.link.views_to_serve_at(history).into_iter();
            actions.extend(views.map(|view| Action::Serve(index, AtView(view))));
        }
        if !self.link.coming.is_empty() {
            actions.push(Action::Receive(index));
        }
        if self.life == Life::Contending && self.link.can_tell(history) {
            actions.push(Action::Tell(index));
        }
    }

    fn troubles(&self, index: usize, in_turn: bool, actions: &mut Vec<Action>) {
        if self.link.up {
            actions.push(Action::Break(index));
            if in_turn && self.link.is_asked_to_create() {
                actions.push(Action::CreateInVain(index));
            }
        }
        if self.life == Life::Contending && !self.ran {
            actions.push(Action::GiveUp(index));
        }
        actions.extend([Action::Expire(index), Action::Crash(index)]);
    }

    fn hear(&mut self, news: &News, adopts: bool) {
        match news {
            News::Queued(_) => self.past.adopted |= adopts,
            News::Waiting { .. } => self.past.waited = true,
            News::Held | News::Busy { .. } | News::Neighbour(_) | News::Revoked(_) => {}
            News::Failed(_) => {
                self.past.wronged |= !self.past.robbed;
                // A job is stopped first.
                if !self.job {
                    self.release();
                }
            }
        }
    }

    fn release(&mut self) {
        self.life = Life::Releasing;
        // Nobody looks at answers to what was asked before, nor at watches.
        self.link.coming.clear();
        self.link.armed.clear();
        if let Some(own) = self.contender.own() {
            let delete = Request::Delete(own.path.clone());
            self.link.ask(vec![delete]);
        }
        self.link.asked.push(Asked::CloseSession);
    }

    /// The job is gone by then: the lease has seen to that. Who had none yet queues anew.
    fn lose_session(&mut self, index: usize, view: usize) {
        self.job = false;
        match self.life {
            Life::Contending if !self.ran => {
                let past = Past { queued_again: true, robbed: false, ..self.past };
                *self = Self { past, ..Self::new(session(index, self.session / ROUND + 1), view) };
            }
            Life::Contending | Life::Releasing => self.end(Life::Ended),
            life => self.end(life),
        }
    }

    /// Forgets what doesn't matter any more, so that states which differ in nothing else are one.
    fn end(&mut self, life: Life) {
        self.life = life;
        self.session_lives = false;
        self.link = Link::new(0);
        self.contender = new_contender(self.session);
    }

    fn is_connected_now_or_later(&self) -> bool {
        matches!(self.life, Life::Contending | Life::Releasing)
    }
}

impl State {
    fn owners(&self) -> Vec<i64> {
        self.history.queue(self.history.now()).iter().map(|node| node.owner).collect()
    }

    fn owners_differ(&self) -> bool {
        let mut owners = self.owners();
        owners.sort_unstable();
        owners.array_windows().all(|[one, other]| one != other)
    }

    fn every_node_has_a_session(&self) -> bool {
        let alive = |owner| self.runs.iter().any(|run| run.session_lives && run.session == owner);
        self.owners().into_iter().all(alive)
    }

    /// Nothing more happens by itself, except that a job ends.
    fn is_quiet(&self) -> bool {
        self.runs.iter().all(|run| match run.life {
            Life::Ended => true,
            Life::Dead => !run.job && !run.session_lives,
            Life::Contending => run.session_lives && run.link.is_quiet(&self.history),
            Life::Releasing => false,
        })
    }

    /// The first in line runs its job, and everybody who contends is in line.
    fn somebody_runs(&self) -> bool {
        let owners = self.owners();
        let contending = || self.runs.iter().filter(|run| run.life == Life::Contending);
        contending().all(|run| owners.contains(&run.session))
            && owners.first().is_none_or(|&first| contending().any(|run| run.session == first && run.job))
    }

    /// What all servers have come to see needs no history.
    fn forget(&mut self) {
        let talking = self.runs.iter().filter(|run| run.is_connected_now_or_later());
        let seen_by_all =
            talking.map(|run| run.link.seen.min(run.link.view)).min().unwrap_or(self.history.now());
        if seen_by_all == 0 {
            return;
        }
        Arc::make_mut(&mut self.history).forget(seen_by_all);
        for run in self.runs.iter_mut().filter(|run| run.is_connected_now_or_later()) {
            Arc::make_mut(run).link.forget(seen_by_all);
        }
    }
}
