//! The session that has the lock nodes. It runs on the loop's own thread, so that it lives no longer than the loop works.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::task::Waker;
use std::time::Duration;

use zklock_core::protocol::{Asker, Reply, SessionChange, SessionKey};

use crate::ensemble::{EventSink, Requester, Session, Settings};
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
    /// when it may proceed again, and its timeout to `granted`.
    pub(super) fn open(
        key: SessionKey,
        settings: Settings,
        events: &Emitter,
        granted: Sender<Duration>,
    ) -> Self {
        let sink = Sink { events: events.clone(), granted };
        let (requester, session) = Session::open(key, settings, sink);
        let waker = Waker::from(Arc::clone(events.bell()));
        Self { requester, session, waker }
    }

    /// Lets the session do what can be done without waiting.
    pub(super) fn proceed(&mut self) {
        let _ = self.session.proceed(&self.waker);
    }
}

struct Sink {
    events: Emitter,
    granted: Sender<Duration>,
}

impl EventSink for Sink {
    fn session(&self, session: SessionKey, change: SessionChange) {
        if let SessionChange::Connected { timeout, .. } = change {
            // Refused only if nobody watches over the loop.
            let _ = self.granted.send(timeout);
        }
        self.events.session(session, change);
    }

    fn reply(&self, session: SessionKey, asker: Asker, reply: Reply) {
        self.events.reply(session, asker, reply);
    }
}
