//! The session that has the lock nodes. It runs on the loop's own thread, so that it lives no longer than the loop works.

use std::sync::Arc;
use std::task::{Poll, Waker};

use zklock_core::protocol::SessionKey;
use zklock_core::run::Input;

use crate::ensemble::{Requester, Session, SessionEvent, Settings};
use crate::worker::inbox::Emitter;

/// A session that the loop runs.
pub(super) struct MainSession {
    /// Sends requests to it.
    pub(super) requester: Requester,
    session: Session,
    key: SessionKey,
    events: Emitter,
    waker: Waker,
}

impl MainSession {
    /// A session that connects once it may [proceed](Self::proceed). Its events go to `events`, whose bell is rung when it
    /// may proceed again.
    pub(super) fn open(key: SessionKey, settings: Settings, events: &Emitter) -> Self {
        let (requester, session) = Session::open(settings);
        let waker = Waker::from(Arc::clone(events.bell()));
        Self { requester, session, key, events: events.clone(), waker }
    }

    /// Lets the session do what can be done without waiting.
    pub(super) fn proceed(&mut self) {
        while let Poll::Ready(Some(event)) = self.session.next_event(&self.waker) {
            self.events.add(match event {
                SessionEvent::Change(change) => Input::Session(self.key, change),
                SessionEvent::Reply(asker, reply) => Input::Reply(self.key, asker, reply),
            });
        }
    }
}
