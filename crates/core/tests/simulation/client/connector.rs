//! Connecting a session and reconnecting it after its connection was lost, as `src/ensemble/connect.rs` and
//! `src/ensemble/session.rs` do, by the same rules: those of `zklock_core::connecting`.

use std::collections::VecDeque;
use std::time::Duration;

use super::connection::{Connection, Flight};
use super::message::{
    Attempts, BootTime, RequestError, SessionChange, longest_reconnection, longest_silence,
};
use super::step::Work;
use super::{Client, Credentials, Phase, duration, nanos};
use crate::ensemble::wire::{Op, ToServer};
use crate::ensemble::{Ensemble, Rng};

const MS: u64 = 1_000_000;

/// One connection attempt.
struct Attempt {
    server: usize,
    limit: Option<Duration>,
    began: u64,
    /// When it began, by the clock of the core.
    dialled: BootTime,
    granted: u64,
}

pub(super) struct Connector {
    attempts: Attempts<usize>,
    /// The servers left in the current pass.
    pass: Option<VecDeque<usize>>,
    attempt: Option<Attempt>,
    /// Nothing is attempted before this time.
    pause_until: Option<u64>,
    /// The timeout to ask for next. Set while a session is being closed because it was granted another timeout than
    /// asked for.
    regrant: Option<u64>,
    give_up_at: Option<u64>,
}

impl Connector {
    pub(super) fn new(timeout: u64) -> Self {
        Self {
            attempts: Attempts::new(duration(timeout)),
            pass: None,
            attempt: None,
            pause_until: None,
            regrant: None,
            give_up_at: None,
        }
    }

    /// Whether a connection is being attempted and isn't granted yet.
    pub(super) fn is_trying(&self) -> bool {
        self.attempt.is_some()
    }

    fn attempt_ends(&self) -> Option<u64> {
        let Attempt { limit, began, .. } = self.attempt.as_ref()?;
        limit.map(|limit| began + nanos(limit))
    }

    pub(super) fn is_attempt_over(&self, now: u64) -> bool {
        self.attempt_ends().is_some_and(|end| end <= now)
    }

    pub(super) fn due(&self, deadline: Option<u64>) -> Option<u64> {
        [self.attempt_ends(), self.pause_until, self.give_up_at, deadline].into_iter().flatten().min()
    }
}

impl Client {
    /// Ends the session if it is too late for another attempt, and returns whether it is.
    pub(super) fn is_too_late(&mut self, ensemble: &mut Ensemble, now: u64) -> bool {
        if self.phase == Phase::New && self.settings.deadline.is_some_and(|deadline| deadline <= now) {
            self.end(ensemble, SessionChange::Unreachable(vec![]));
            return true;
        }
        if self.connector.give_up_at.is_some_and(|end| end <= now) {
            self.end(ensemble, SessionChange::Lost(RequestError::GivenUp));
            return true;
        }
        false
    }

    /// Tries the next server once the pause is over.
    pub(super) fn try_next(&mut self, ensemble: &mut Ensemble) {
        let now = self.now(ensemble);
        if self.connector.pause_until.is_some_and(|until| until > now) || self.connection.is_some() {
            return;
        }
        self.connector.pause_until = None;
        let pass = self.connector.pass.take().unwrap_or_else(|| {
            let servers = self.settings.servers.clone();
            self.connector.attempts.pass(servers, &mut below(&mut self.rng)).into()
        });
        let pass = self.connector.pass.insert(pass);
        let Some(server) = pass.pop_front() else {
            self.connector.pass = None;
            let pause = self.connector.attempts.pause(&mut below(&mut self.rng));
            self.connector.pause_until = Some(now + nanos(pause));
            return;
        };
        let dialled = self.clock(ensemble);
        let limit = self.connector.attempts.limit(dialled);
        let patience = nanos(longest_silence(duration(self.timeout)));
        let conn = ensemble.dial(self.settings.zone, server);
        // The library limits the handshake and the silence after it separately.
        let opens = now + ensemble.handshake(conn);
        self.connection = Some(Connection::new(conn, self.timeout, patience, opens));
        self.connector.attempt = Some(Attempt { server, limit, began: now, dialled, granted: 0 });
        let Credentials { session, password } = self.credentials;
        let timeout_ms = i32::try_from(self.timeout / MS).unwrap_or(i32::MAX);
        ensemble.send(conn, ToServer::Connect { session, password, timeout_ms, last_zxid: 0 });
    }

    /// Handles a failed attempt.
    pub(super) fn failed(&mut self, ensemble: &mut Ensemble) {
        let clock = self.clock(ensemble);
        if let Some(Attempt { server, limit, dialled, .. }) = self.connector.attempt.take() {
            self.connector.attempts.failed(&server, limit, clock.since(dialled));
        }
        if self.phase == Phase::New {
            self.credentials = Credentials::default();
        }
        self.try_next(ensemble);
    }

    /// Handles the server's answer to the connect request. A ping follows before anything else.
    pub(super) fn greeted(&mut self, ensemble: &mut Ensemble, credentials: Credentials, timeout_ms: i32) {
        let now = self.now(ensemble);
        if credentials.session == 0 {
            return self.end(ensemble, SessionChange::Lost(RequestError::Expired));
        }
        self.credentials = credentials;
        if let Some(attempt) = &mut self.connector.attempt {
            attempt.granted = u64::try_from(timeout_ms).unwrap_or(0) * MS;
        }
        if let Some(connection) = &mut self.connection {
            connection.ping(ensemble, now);
        }
    }

    /// Handles a granted connection.
    pub(super) fn granted(&mut self, ensemble: &mut Ensemble) {
        let (now, clock) = (self.now(ensemble), self.clock(ensemble));
        let Some(Attempt { server, dialled, granted, .. }) = self.connector.attempt.take() else {
            return;
        };
        if self.phase == Phase::New && granted != self.timeout {
            self.connector.regrant = Some(granted);
            return self.send(ensemble, 0, Work::Close);
        }
        self.connector.pass = None;
        self.connector.give_up_at = None;
        self.connector.attempts.connected(server, clock.since(dialled), clock);
        if self.phase == Phase::New {
            self.phase = Phase::Serving;
            return self.tell(SessionChange::Connected {
                id: self.credentials.session,
                timeout: duration(self.timeout),
                began: dialled,
            });
        }
        self.phase = Phase::Serving;
        // The next requests are answered by a server that knows everything committed before.
        let op = Op::Multi(vec![Op::Check { path: "/".to_owned(), version: -1 }]);
        if let Some(connection) = &mut self.connection {
            connection.send(ensemble, now, Flight { number: 0, work: Work::Ignored }, op);
        }
        if self.is_releasing {
            return self.send(ensemble, 0, Work::Close);
        }
        self.tell(SessionChange::Reconnected);
        while let Some(command) = self.inbox.pop_front() {
            self.carry_out(ensemble, command);
        }
    }

    /// Handles the server's confirmation that the session is closed.
    pub(super) fn closed(&mut self, ensemble: &mut Ensemble) {
        match self.connector.regrant.take() {
            Some(timeout) => self.begin_again(ensemble, timeout),
            None => self.end(ensemble, SessionChange::Closed),
        }
    }

    fn begin_again(&mut self, ensemble: &mut Ensemble, timeout: u64) {
        if let Some(connection) = self.connection.take() {
            ensemble.hang_up(connection.conn);
        }
        (self.timeout, self.credentials, self.connector) =
            (timeout, Credentials::default(), Connector::new(timeout));
        self.try_next(ensemble);
    }

    /// Handles the loss of a granted connection and begins to look for another.
    pub(super) fn leave(&mut self, ensemble: &mut Ensemble) {
        if let Some(timeout) = self.connector.regrant.take() {
            return self.begin_again(ensemble, timeout);
        }
        let (now, clock) = (self.now(ensemble), self.clock(ensemble));
        self.phase = Phase::Disconnected;
        let waited = nanos(self.connector.attempts.lost(clock));
        self.connector.pass = None;
        self.connector.pause_until = (waited > 0).then_some(now + waited);
        self.connector.give_up_at = Some(now + nanos(longest_reconnection(duration(self.timeout))));
        self.try_next(ensemble);
    }
}

fn below(rng: &mut Rng) -> impl FnMut(usize) -> usize {
    |bound| rng.below(bound as u64) as usize
}
