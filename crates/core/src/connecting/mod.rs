//! Connecting a session, and reconnecting it when its connection was lost: which server to ask, how long to wait, and
//! when to give up. The program and the simulation carry it out.

mod attempts;

use std::collections::VecDeque;
use std::time::Duration;

use self::attempts::Attempts;
pub use self::attempts::longest_silence;
use crate::protocol::RequestError;
use crate::time::BootTime;

/// The longest lookup of the servers' names.
const LONGEST_LOOK_UP: Duration = Duration::from_secs(1);

/// The course of one session: from action to action, until it is connected, and again after its connection was lost.
///
/// Whoever carries it out does what a [`Action`] says, and tells the [`Outcome`] that comes of it, or [`Outcome::Due`] if
/// [`due`](Self::due) comes first, or [`Outcome::TooLate`].
///
/// Servers are distinguished by `S`. Randomness comes from the caller: `random(bound)` is a number below the bound.
#[derive(Debug)]
pub struct Course<S> {
    attempts: Attempts<S>,
    /// The servers that are left in the present pass.
    pass: VecDeque<S>,
    /// The server that is asked, and since when.
    asked: Option<(S, BootTime)>,
    /// When the attempt or the pause ends.
    due: Option<BootTime>,
    /// Whether there has been a connection. From then on it is always this session that is connected.
    is_open: bool,
    refusals_end: bool,
    /// When to give up, as long as there is no session.
    deadline: Option<BootTime>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action<S> {
    /// Look up the servers, within this time: [`Outcome::Servers`].
    LookUp(Duration),
    /// Ask this server for the session, or for a new one with this timeout: [`Outcome::Opened`] or [`Outcome::Failed`].
    Dial(S, Duration),
    /// Find out whether all servers refuse the connection: [`Outcome::Diagnosed`].
    Diagnose,
    /// Wait.
    Pause,
    /// Close the session that was just opened: [`Outcome::Closed`].
    Close,
    /// There is a connection. If it is lost: [`Outcome::Lost`].
    Serve {
        /// Just before the server was asked.
        began: BootTime,
        /// Send a write before anything else. A server that lags, or a deposed leader that doesn't know it is deposed,
        /// could show a state older than one already seen. A session is served in order, and the write isn't done before
        /// the server knows everything before it.
        catch_up: bool,
    },
    /// There is no session, and none is tried for any more.
    Unreachable,
    /// The session is over.
    Lost(RequestError),
}

/// What came of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome<S> {
    /// The servers to try.
    Servers(Vec<S>),
    /// A server gave a session with this timeout.
    Opened(Duration),
    /// A server gave none. [`RequestError::GivenUp`]: no server will.
    Failed(RequestError),
    /// Whether all servers refuse the connection.
    Diagnosed(bool),
    /// The session is closed, or its connection is lost.
    Closed,
    /// The connection is lost.
    Lost,
    /// The action takes too long, or the pause is over.
    Due,
    /// Reconnecting takes [too long](Course::longest_reconnection).
    TooLate,
}

impl<S: Clone + PartialEq> Course<S> {
    /// The course of a new session, which asks for this timeout, and its first action. There is no session to be given up
    /// if none was opened by the deadline, or if all servers refuse and `refusals_end`.
    pub fn new(timeout: Duration, deadline: Option<BootTime>, refusals_end: bool) -> (Self, Action<S>) {
        let course = Self {
            attempts: Attempts::new(timeout),
            pass: VecDeque::new(),
            asked: None,
            due: None,
            is_open: false,
            refusals_end,
            deadline,
        };
        let first = course.look_up();
        (course, first)
    }

    /// When [`Outcome::Due`] is next, if nothing else comes first.
    pub fn due(&self) -> Option<BootTime> {
        [self.due, self.deadline].into_iter().flatten().min()
    }

    /// How long zklock tries to reconnect, from [`Outcome::Lost`] on. Then the session has ended, or will end soon after the
    /// servers are back. Time in which the host sleeps doesn't count: the servers may have been away, too.
    pub fn longest_reconnection(&self) -> Option<Duration> {
        self.is_open.then(|| self.attempts.timeout * 7 / 5)
    }

    /// The next action after this outcome.
    pub fn next(
        &mut self,
        event: Outcome<S>,
        now: BootTime,
        random: &mut impl FnMut(usize) -> usize,
    ) -> Action<S> {
        self.due = None;
        let is_late = self.deadline.is_some_and(|end| end <= now);
        match (event, self.asked.take()) {
            (Outcome::Opened(granted), _) if !self.is_open && granted != self.attempts.timeout => {
                // A session's timeout is always one that was asked for, because the client library tolerates a silence
                // that depends on it.
                self.attempts = Attempts::new(granted);
                Action::Close
            }
            (Outcome::Opened(_), Some((server, began))) => {
                self.attempts.connected(server, now.since(began), now);
                self.deadline = None;
                let catch_up = std::mem::replace(&mut self.is_open, true);
                Action::Serve { began, catch_up }
            }
            (Outcome::Lost, _) => match self.attempts.lost(now) {
                Duration::ZERO => self.look_up(),
                pause => self.pause(now + pause),
            },
            (Outcome::Failed(failure @ RequestError::AuthFailed), _) => Action::Lost(failure),
            (Outcome::Failed(failure @ RequestError::Expired), _) if self.is_open => Action::Lost(failure),
            (Outcome::Failed(RequestError::GivenUp) | Outcome::Diagnosed(true) | Outcome::TooLate, _) => {
                self.give_up()
            }
            _ if is_late => self.give_up(),
            (Outcome::Failed(_) | Outcome::Due, Some((server, began))) => {
                self.attempts.failed(&server, began, now);
                self.dial(now, random)
            }
            (Outcome::Servers(servers), _) => {
                self.pass = self.attempts.pass(servers, random).into();
                self.dial(now, random)
            }
            (Outcome::Diagnosed(false), _) => self.end_pass(now, random),
            _ => self.look_up(),
        }
    }

    fn look_up(&self) -> Action<S> {
        Action::LookUp(LONGEST_LOOK_UP.min(self.attempts.timeout / 24))
    }

    /// Asks the next server, or pauses after the last one.
    fn dial(&mut self, now: BootTime, random: &mut impl FnMut(usize) -> usize) -> Action<S> {
        let Some(server) = self.pass.pop_front() else {
            let diagnoses = self.refusals_end && !self.is_open;
            return if diagnoses { Action::Diagnose } else { self.end_pass(now, random) };
        };
        self.due = self.attempts.limit(now).map(|limit| now + limit);
        self.asked = Some((server.clone(), now));
        Action::Dial(server, self.attempts.timeout)
    }

    fn end_pass(&mut self, now: BootTime, random: &mut impl FnMut(usize) -> usize) -> Action<S> {
        let pause = self.attempts.pause(random);
        self.pause(now + pause)
    }

    fn pause(&mut self, until: BootTime) -> Action<S> {
        self.due = Some(until);
        Action::Pause
    }

    fn give_up(&self) -> Action<S> {
        if self.is_open { Action::Lost(RequestError::GivenUp) } else { Action::Unreachable }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Duration = Duration::from_secs(24);
    const START: BootTime = BootTime::from_nanos(60_000_000_000);

    /// A course with one server, and the time.
    struct Walk {
        course: Course<&'static str>,
        now: BootTime,
    }

    impl Walk {
        fn new(deadline: Option<Duration>, refusals_end: bool) -> Self {
            let (course, first) = Course::new(T, deadline.map(|span| START + span), refusals_end);
            assert_eq!(first, Action::LookUp(LONGEST_LOOK_UP));
            Self { course, now: START }
        }

        /// A course that is connected at once, and whose connection lasted for a minute.
        fn lost() -> Self {
            let mut walk = Self::new(None, false);
            walk.next(Outcome::Servers(vec!["a"]));
            walk.next(Outcome::Opened(T));
            walk.now = walk.now + Duration::from_mins(1);
            assert_eq!(walk.next(Outcome::Lost), Action::LookUp(LONGEST_LOOK_UP));
            walk
        }

        fn next(&mut self, event: Outcome<&'static str>) -> Action<&'static str> {
            self.course.next(event, self.now, &mut |bound| bound / 2)
        }

        /// Waits until the course is due, and returns for how long.
        fn wait(&mut self) -> Duration {
            let waited = self.now.until(self.course.due().unwrap());
            self.now = self.now + waited;
            waited
        }

        /// Lets every attempt be refused, until the course ends. Returns the end.
        fn refused(&mut self) -> Action<&'static str> {
            let mut action = self.next(Outcome::Servers(vec!["a"]));
            for _ in 0..1_000 {
                action = match action {
                    Action::LookUp(_) => self.next(Outcome::Servers(vec!["a"])),
                    Action::Dial(..) => self.next(Outcome::Failed(RequestError::ConnectionLost)),
                    Action::Pause => {
                        self.wait();
                        self.next(Outcome::Due)
                    }
                    end => return end,
                }
            }
            panic!("it doesn't end");
        }
    }

    #[test]
    fn servers_are_asked_one_after_the_other_and_looked_up_again_after_a_pause() {
        let mut walk = Walk::new(None, false);
        let Action::Dial(first, T) = walk.next(Outcome::Servers(vec!["a", "b"])) else { panic!() };
        let Action::Dial(second, T) = walk.next(Outcome::Failed(RequestError::ConnectionLost)) else {
            panic!()
        };
        assert_ne!(first, second);
        assert_eq!(walk.next(Outcome::Failed(RequestError::Expired)), Action::Pause);
        assert_eq!(walk.wait(), Duration::from_millis(50));
        assert_eq!(walk.next(Outcome::Due), Action::LookUp(LONGEST_LOOK_UP));
        walk.next(Outcome::Servers(vec!["a"]));
        assert_eq!(walk.next(Outcome::Opened(T)), Action::Serve { began: walk.now, catch_up: false });
        assert_eq!(walk.course.due(), None);
    }

    #[test]
    fn a_session_that_got_another_timeout_is_closed_and_one_with_that_timeout_is_asked_for() {
        let mut walk = Walk::new(Some(T), false);
        walk.next(Outcome::Servers(vec!["a"]));
        assert_eq!(walk.next(Outcome::Opened(T / 2)), Action::Close);
        assert_eq!(walk.course.due(), Some(START + T), "the deadline holds");
        assert_eq!(walk.next(Outcome::Closed), Action::LookUp(T / 48));
        assert_eq!(walk.next(Outcome::Servers(vec!["a"])), Action::Dial("a", T / 2));
        assert_eq!(walk.next(Outcome::Opened(T / 2)), Action::Serve { began: walk.now, catch_up: false });
    }

    #[test]
    fn a_new_session_is_given_up_at_the_deadline() {
        let mut walk = Walk::new(Some(T), false);
        assert_eq!((walk.refused(), walk.now), (Action::Unreachable, START + T));
        let mut silent = Walk::new(Some(T), false);
        silent.next(Outcome::Servers(vec!["a", "b"]));
        assert_eq!(silent.wait(), T, "no lease limits the attempt");
        assert_eq!(silent.next(Outcome::Due), Action::Unreachable);
        let mut hopeless = Walk::new(None, false);
        hopeless.next(Outcome::Servers(vec!["a", "b"]));
        assert_eq!(hopeless.next(Outcome::Failed(RequestError::GivenUp)), Action::Unreachable);
    }

    #[test]
    fn a_new_session_may_end_when_all_servers_refuse() {
        let mut walk = Walk::new(None, true);
        assert_eq!(walk.refused(), Action::Diagnose);
        assert_eq!(walk.next(Outcome::Diagnosed(false)), Action::Pause);
        walk.next(Outcome::Due);
        assert_eq!(walk.refused(), Action::Diagnose);
        assert_eq!(walk.next(Outcome::Diagnosed(true)), Action::Unreachable);
    }

    #[test]
    fn a_lost_connection_is_replaced_by_one_that_catches_up() {
        let mut walk = Walk::lost();
        assert_eq!(walk.next(Outcome::Servers(vec!["a", "b"])), Action::Dial("b", T));
        assert_eq!(walk.wait(), T / 36);
        assert_eq!(walk.next(Outcome::Due), Action::Dial("a", T));
        // Another timeout than asked for is accepted: it is the same session.
        assert_eq!(walk.next(Outcome::Opened(T / 2)), Action::Serve { began: walk.now, catch_up: true });
        assert_eq!(walk.course.due(), None);
        assert_eq!(walk.next(Outcome::Lost), Action::LookUp(LONGEST_LOOK_UP));
        walk.next(Outcome::Servers(vec!["a"]));
        walk.next(Outcome::Opened(T));
        assert_eq!(walk.next(Outcome::Lost), Action::Pause, "the last two connections didn't last");
    }

    #[test]
    fn a_session_is_given_up_when_it_has_certainly_ended() {
        let mut walk = Walk::lost();
        let longest = walk.course.longest_reconnection().unwrap();
        assert!(longest > T, "until then the servers may keep it");
        assert!(longest < T * 3 / 2, "it won't come back");
        assert_eq!(walk.next(Outcome::TooLate), Action::Lost(RequestError::GivenUp));
    }

    #[test]
    fn a_server_can_end_a_session() {
        for failure in [RequestError::Expired, RequestError::AuthFailed] {
            let mut walk = Walk::lost();
            walk.next(Outcome::Servers(vec!["a", "b"]));
            assert_eq!(walk.next(Outcome::Failed(failure.clone())), Action::Lost(failure));
        }
    }
}
