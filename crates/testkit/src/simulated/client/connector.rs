//! Carries out the course of a session on the simulated network: `zklock_core::connecting` decides it.

use std::time::Duration;

use super::connection::{Connection, Flight};
use super::message::connecting::{Action, Outcome};
use super::message::{BootTime, RequestError, SessionChange, longest_silence};
use super::step::Work;
use super::{Client, Phase, nanos};
use crate::simulated::ensemble::wire::{Op, ToServer};
use crate::simulated::ensemble::{Ensemble, Rng};

impl Client {
    /// Takes the next actions, until one that takes time.
    pub(super) fn proceed(&mut self, ensemble: &mut Ensemble, event: Outcome<usize>) {
        let clock = self.clock(ensemble);
        let action = self.course.next(event, clock, &mut below(&mut self.rng));
        self.take_action(ensemble, action);
    }

    pub(super) fn take_action(&mut self, ensemble: &mut Ensemble, action: Action<usize>) {
        let (now, clock) = (self.now(ensemble), self.clock(ensemble));
        // Timers don't count the time in which the host sleeps.
        self.due = self.course.due().map(|due| now + nanos(clock.until(due)));
        match action {
            Action::LookUp(_) => {
                let servers = self.settings.servers.clone();
                self.proceed(ensemble, Outcome::Servers(servers));
            }
            Action::Dial(server, timeout) => self.dial(ensemble, server, timeout),
            Action::Diagnose => self.proceed(ensemble, Outcome::Diagnosed(false)),
            Action::Pause => {}
            Action::Close => {
                self.phase = Phase::Closing;
                self.send(ensemble, 0, Work::Close);
            }
            Action::Serve { began, catch_up } => self.serve(ensemble, began, catch_up),
            Action::Unreachable => self.end(ensemble, SessionChange::Unreachable(vec![])),
            Action::Lost(failure) => self.end(ensemble, SessionChange::Lost(failure)),
        }
    }

    fn dial(&mut self, ensemble: &mut Ensemble, server: usize, timeout: Duration) {
        if matches!(self.phase, Phase::New | Phase::Closing) {
            (self.phase, self.session) = (Phase::New, 0);
        }
        let conn = ensemble.dial(self.settings.zone, server);
        // The library limits the handshake and the silence after it separately.
        let opens = self.now(ensemble) + ensemble.handshake(conn);
        let patience = nanos(longest_silence(timeout));
        self.connection = Some(Connection::new(conn, nanos(timeout), patience, opens));
        let timeout_ms = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
        ensemble.send(conn, ToServer::Connect { session: self.session, timeout_ms });
    }

    /// Handles the server's answer to the connect request. A ping follows before anything else.
    pub(super) fn greeted(&mut self, ensemble: &mut Ensemble, session: i64, timeout_ms: i32) {
        let now = self.now(ensemble);
        if session == 0 {
            return self.failed(ensemble, RequestError::Expired);
        }
        self.session = session;
        self.granted = Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0));
        if let Some(connection) = &mut self.connection {
            connection.ping(ensemble, now);
        }
    }

    /// Handles a failed attempt.
    pub(super) fn failed(&mut self, ensemble: &mut Ensemble, failure: RequestError) {
        self.hang_up(ensemble);
        self.proceed(ensemble, Outcome::Failed(failure));
    }

    fn serve(&mut self, ensemble: &mut Ensemble, began: BootTime, catch_up: bool) {
        let now = self.now(ensemble);
        let is_new = std::mem::replace(&mut self.phase, Phase::Serving) == Phase::New;
        if let Some(connection) = self.connection.as_mut().filter(|_| catch_up) {
            let op = Op::Multi(vec![Op::Check { path: "/".to_owned(), version: -1 }]);
            connection.send(ensemble, now, Flight { number: 0, work: Work::Ignored }, op);
        }
        self.give_up_at = None;
        if self.is_releasing {
            return self.send(ensemble, 0, Work::Close);
        }
        self.tell(if is_new {
            SessionChange::Connected { id: self.session, timeout: self.granted, began }
        } else {
            SessionChange::Reconnected
        });
        while let Some(command) = self.inbox.pop_front() {
            self.carry_out(ensemble, command);
        }
    }

    /// Handles the server's confirmation that the session is closed, or its silence about that.
    pub(super) fn closed(&mut self, ensemble: &mut Ensemble) {
        if self.phase != Phase::Closing {
            return self.end(ensemble, SessionChange::Closed);
        }
        self.hang_up(ensemble);
        self.proceed(ensemble, Outcome::Closed);
    }
}

fn below(rng: &mut Rng) -> impl FnMut(usize) -> usize {
    |bound| rng.below(bound as u64) as usize
}
