//! Watches that are set: one-shot ones, and persistent ones.

use std::pin::pin;

use futures::StreamExt;
use futures::future::select;
use futures::stream::FuturesUnordered;
use zookeeper_client::{EventType, OneshotWatcher, PersistentWatcher, WatchedEvent};

use super::perform::LocalFuture;
use super::{Asker, NodePath, Reply};

/// A watch that is set.
pub(super) enum Watcher {
    /// It fires once.
    Once(OneshotWatcher),
    /// Either fires for every change, until the connection ends.
    Lasting(Box<[PersistentWatcher; 2]>),
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
    lasting: Option<Box<[PersistentWatcher; 2]>>,
}

impl Watches {
    pub(super) fn add(&mut self, asker: Asker, path: NodePath, watcher: Watcher) {
        self.0.push(Box::pin(async move {
            let (event, lasting) = match watcher {
                Watcher::Once(watcher) => (watcher.changed().await, None),
                Watcher::Lasting(mut watchers) => {
                    let [one, other] = &mut *watchers;
                    let (event, ..) = select(pin!(one.changed()), pin!(other.changed())).await.factor_first();
                    (event, Some(watchers))
                }
            };
            Fired { asker, path, event, lasting }
        }));
    }

    /// The next change. Stays pending while there is none; changes of the session are reported elsewhere.
    pub(super) async fn next(&mut self) -> (Asker, Reply) {
        loop {
            let Some(Fired { asker, path, event, lasting }) = self.0.next().await else {
                std::future::pending().await
            };
            if event.session_state.is_terminated() {
                continue;
            }
            if let Some(watchers) = lasting {
                self.add(asker, path.clone(), Watcher::Lasting(watchers));
            }
            if event.event_type != EventType::Session {
                // A watch from above may also report that the lock path itself is gone.
                let deleted = event.event_type == EventType::NodeDeleted && event.path == path.as_str();
                return (asker, Reply::Changed(path, deleted));
            }
        }
    }
}
