//! The session that has the lock nodes. It runs on the loop's own thread, so that it lives no longer than the loop works.

use std::sync::Arc;
use std::task::Waker;

use zklock_core::protocol::SessionKey;

use crate::ensemble::{Requester, Session, Settings};
use crate::worker::inbox::Emitter;

/// A session that the loop runs.
#[derive(Debug)]
pub(super) struct MainSession {
    /// Sends requests to it.
    pub(super) requester: Requester,
    session: Session,
    waker: Waker,
}

impl MainSession {
    /// A session that connects once it may [proceed](Self::proceed). It sends its events to `events`, whose bell is rung
    /// when it may proceed again.
    pub(super) fn open(key: SessionKey, settings: Settings, events: &Emitter) -> Self {
        let (requester, session) = Session::open(key, settings, events.clone());
        let waker = Waker::from(Arc::clone(events.bell()));
        Self { requester, session, waker }
    }

    /// Lets the session do what can be done without waiting.
    pub(super) fn proceed(&mut self) {
        let _ = self.session.proceed(&self.waker);
    }
}
