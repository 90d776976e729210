//! With `--progress`: a message now and then in a long wait that no waiting line shows.

use std::time::Duration;

use super::{Effect, Scene, Seen};
use crate::core::message::Message;
use crate::core::path::{LockPath, NodePath};
use crate::core::protocol::{Asker, Request, ServerTime};
use crate::core::time::BootTime;

/// What is to be said of the wait, and when.
#[derive(Debug)]
pub(super) struct Progress {
    every: Option<Duration>,
    /// When to say it next, while there is a queue.
    at: Option<BootTime>,
    /// Our clock and the servers' at one moment: when our node was made.
    clocks: Option<(BootTime, ServerTime)>,
    queue: Option<QueueProgress>,
    /// The holder's node, which is being read.
    asked: Option<NodePath>,
}

#[derive(Debug)]
struct QueueProgress {
    path: LockPath,
    nearest: Seen,
    ahead: usize,
    /// The node that holds, if it is another than the nearest.
    holder: Option<NodePath>,
}

impl Progress {
    /// Nothing is said but every so often.
    pub(super) fn new(every: Option<Duration>) -> Self {
        Self { every, at: None, clocks: None, queue: None, asked: None }
    }

    /// Our node was made at this time.
    pub(super) fn queued(&mut self, created: ServerTime, now: BootTime) {
        self.clocks = Some((now, created));
    }

    /// There are so many contenders ahead: the nearest, and the node that holds if that is another.
    pub(super) fn waiting(
        &mut self,
        path: LockPath,
        nearest: Seen,
        ahead: usize,
        holder: Option<NodePath>,
        now: BootTime,
    ) {
        if let Some(every) = self.every {
            self.at.get_or_insert(now + every);
            self.queue = Some(QueueProgress { path, nearest, ahead, holder });
        }
    }

    /// There is nothing to wait for any more.
    pub(super) fn end(&mut self) {
        (self.at, self.queue, self.asked) = (None, None, None);
    }

    /// When there is something to say.
    pub(super) fn wake_at(&self) -> Option<BootTime> {
        self.at
    }

    /// Says it if it is time. Who holds is asked before, where it is another than the nearest: nobody tells when it changes.
    /// A zklock that `is_stopped` says nothing.
    pub(super) fn look(&mut self, is_stopped: bool, scene: &mut Scene<'_>) {
        let (Some(every), Some(at), Some(queue)) = (self.every, self.at, &self.queue) else { return };
        if scene.now < at {
            return;
        }
        self.at = Some(scene.now + every);
        match &queue.holder {
            _ if is_stopped => {}
            None => self.say(Some(&queue.nearest), scene),
            Some(node) if self.asked.is_none() => {
                self.asked = Some(node.clone());
                scene.does(Effect::Ask(Asker::WaitingLine, Request::Get(node.clone())));
            }
            // There was no answer all the while.
            Some(_) => self.say(None, scene),
        }
    }

    /// What the holder's node says. `None`: it is gone, or can't be read.
    pub(super) fn holder(&mut self, node: &NodePath, seen: Option<&Seen>, scene: &mut Scene<'_>) {
        if self.asked.as_ref() == Some(node) {
            self.asked = None;
            self.say(seen, scene);
        }
    }

    fn say(&self, holder: Option<&Seen>, scene: &mut Scene<'_>) {
        let Some(QueueProgress { path, nearest, ahead, .. }) = &self.queue else { return };
        let server_now = self.clocks.map(|(ours, servers)| {
            let since = i64::try_from(scene.now.since(ours).as_millis()).unwrap_or(i64::MAX);
            ServerTime(servers.0.saturating_add(since))
        });
        let holder = holder.map(|seen| seen.at(server_now));
        let (waited, predecessor) = (scene.now.since(scene.plan.began), nearest.who.clone());
        // A waiter confirms all the time: so long without an answer, and the queue may be another.
        let claim = &scene.state.claim;
        let silent_for = claim.heard().map(|heard| scene.now.since(heard));
        let silent_for =
            silent_for.filter(|&span| claim.lease().is_some_and(|lease| span > lease.timeout() / 2));
        let ahead = *ahead;
        scene.says_of(path.clone(), Message::StillWaiting { waited, ahead, predecessor, holder, silent_for });
    }
}
