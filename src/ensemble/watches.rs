//! The watches of a connection: one-shot and persistent ones.

use std::pin::pin;

use futures::StreamExt;
use futures::future::select;
use futures::stream::FuturesUnordered;
use zookeeper_client::{EventType, OneshotWatcher, PersistentWatcher, WatchedEvent};

use super::requests::LocalFuture;
use super::{Asker, NodePath, Reply};

/// A watch in the client library.
pub(super) enum Watcher {
    /// Fires once.
    Once(OneshotWatcher),
    /// Two watches that count as one. They fire for every change until the connection ends.
    Persistent(Box<[PersistentWatcher; 2]>),
}

impl From<OneshotWatcher> for Watcher {
    fn from(watcher: OneshotWatcher) -> Self {
        Self::Once(watcher)
    }
}

/// All watches of a connection, each with its asker and its path.
#[derive(Default)]
pub(super) struct Watches(FuturesUnordered<LocalFuture<'static, Fired>>);

struct Fired {
    asker: Asker,
    path: NodePath,
    event: WatchedEvent,
    persistent: Option<Box<[PersistentWatcher; 2]>>,
}

impl Watches {
    pub(super) fn add(&mut self, asker: Asker, path: NodePath, watcher: Watcher) {
        self.0.push(Box::pin(async move {
            let (event, persistent) = match watcher {
                Watcher::Once(watcher) => (watcher.changed().await, None),
                Watcher::Persistent(mut watchers) => {
                    let [one, other] = &mut *watchers;
                    let (event, ..) = select(pin!(one.changed()), pin!(other.changed())).await.factor_first();
                    (event, Some(watchers))
                }
            };
            Fired { asker, path, event, persistent }
        }));
    }

    /// The next change. Stays pending while there is none; changes of the session are reported elsewhere.
    pub(super) async fn next(&mut self) -> (Asker, Reply) {
        loop {
            let Some(Fired { asker, path, event, persistent }) = self.0.next().await else {
                std::future::pending().await
            };
            if event.session_state.is_terminated() {
                continue;
            }
            if let Some(watchers) = persistent {
                self.add(asker, path.clone(), Watcher::Persistent(watchers));
            }
            if event.event_type != EventType::Session {
                // A watch on the parent's children also reports the deletion of the parent.
                let deleted = event.event_type == EventType::NodeDeleted && event.path == path.as_str();
                return (asker, Reply::Changed(path, deleted));
            }
        }
    }
}
