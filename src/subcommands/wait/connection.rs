//! The session of a wait: a lost one is replaced, and what it was asked is asked again.

use anyhow::Context;
use zklock_core::message::Message;
use zklock_core::queue::contender::ContentionError;
use zklock_core::queue::until_free::{UntilFree, UntilFreeStep};
use zklock_core::time::BootTime;

use super::super::session::NO_THREAD;
use super::progress::tells;
use super::{End, Wait};
use crate::ensemble::{BlockingError, BlockingSession, Limit, RequestError, Settings};
use crate::output;
use crate::process::clock;

impl<'a> Wait<'a> {
    /// Takes the steps of `lock` from `first` on until one needs a decision. If the connection or the session is lost
    /// meanwhile, begins with it again.
    pub(super) fn follow(
        &mut self,
        lock: &mut UntilFree,
        first: fn(&mut UntilFree) -> UntilFreeStep,
    ) -> Result<UntilFreeStep, End> {
        loop {
            let step = first(lock);
            match self.ask(lock, step) {
                Ok(step) => {
                    self.heard = clock::now();
                    return Ok(step);
                }
                Err(error) => self.recover(error)?,
            }
            lock.unwatched();
        }
    }

    fn ask(&mut self, lock: &mut UntilFree, mut step: UntilFreeStep) -> Result<UntilFreeStep, BlockingError> {
        let session = self.session()?;
        while let UntilFreeStep::Ask(requests) = step {
            let mut replies = session.ask_all(&requests)?.into_iter();
            let unanswered = || RequestError::Other("an answer to another question".to_owned());
            step = replies
                .find_map(|reply| lock.take(reply))
                .unwrap_or_else(|| UntilFreeStep::Failed(ContentionError::Server(unanswered())));
        }
        Ok(step)
    }

    /// Makes a request, again if the connection or the session is lost meanwhile.
    pub(super) fn request<T>(
        &mut self,
        request: impl Fn(&mut BlockingSession<'a>) -> Result<T, BlockingError>,
    ) -> Result<T, End> {
        loop {
            match self.session().and_then(&request) {
                Ok(answer) => {
                    self.heard = clock::now();
                    return Ok(answer);
                }
                Err(error) => self.recover(error)?,
            }
        }
    }

    fn session(&mut self) -> Result<&mut BlockingSession<'a>, BlockingError> {
        self.session.as_mut().ok_or(BlockingError::SessionEnded(RequestError::GivenUp))
    }

    /// Opens a session, at most until this time.
    pub(super) fn open(&mut self, deadline: Option<BootTime>) -> Result<(), End> {
        let settings = Settings { deadline, ..self.settings.clone() };
        let limit = Limit::Connection(self.plan.try_until());
        let session = BlockingSession::open(settings, limit).context(NO_THREAD).map_err(End::NotBegun)?;
        let session = self.session.insert(session.telling(tells(self.plan)));
        match session.connect() {
            Ok(()) => {}
            Err(BlockingError::SessionEnded(failure)) => {
                return Err(End::failure(&self.plan.first, &Message::SessionFailed(failure)));
            }
            Err(error) => return self.recover(error),
        }
        self.heard = clock::now();
        // Otherwise a mistake in the connect string would look like free locks.
        let root =
            self.request(
                |session| if session.has_chroot() { session.get("/".into()).map(Some) } else { Ok(None) },
            )?;
        match root {
            Some(Err(RequestError::NoNode)) => {
                let why = ContentionError::NoChroot(self.plan.chroot.clone());
                Err(End::failure(&self.plan.first, &Message::Contender(why)))
            }
            _ => Ok(()),
        }
    }

    /// Goes on after the connection or the session was lost, if that is why there is no answer.
    pub(super) fn recover(&mut self, error: BlockingError) -> Result<(), End> {
        let (plan, first) = (self.plan, &self.plan.first);
        match (error, &mut self.session) {
            (BlockingError::Disconnected, Some(session)) => {
                output::say(first, None, &Message::ConnectionLostWaiting);
                if let Err(error) = session.reconnect(plan.try_until()) {
                    return self.recover(error);
                }
                self.heard = clock::now();
                output::say(first, None, &Message::ConnectedAgainWaiting);
                Ok(())
            }
            (BlockingError::SessionEnded(RequestError::Expired | RequestError::GivenUp), _)
            | (BlockingError::Disconnected, None) => {
                self.open(plan.try_until())?;
                output::say(first, None, &Message::ConnectedAgainWaiting);
                Ok(())
            }
            (BlockingError::SessionEnded(failure), _) => {
                Err(End::failure(first, &Message::SessionFailed(failure)))
            }
            (BlockingError::TimedOut(_), _) => Err(self.out_of_time()),
            (BlockingError::Unreachable(_, servers), _) => {
                Err(End::failure(first, &plan.unreachable(servers, clock::now())))
            }
            (BlockingError::CredentialsRefused(hosts, given), _) => {
                Err(End::failure(first, &Message::CredentialsRefused { hosts, given }))
            }
        }
    }
}
