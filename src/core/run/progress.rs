//! `--progress`: repeated messages about a long wait, where no waiting line shows it.

use std::time::Duration;

use super::{Effect, Scene, Seen};
use crate::core::message::Message;
use crate::core::path::{LockPath, NodePath};
use crate::core::protocol::{Asker, Request, ServerTime};
use crate::core::time::BootTime;

/// The state of the wait, and when to report it.
#[derive(Debug)]
pub(super) struct Progress {
    every: Option<Duration>,
    /// When to report next, while other contenders are ahead.
    at: Option<BootTime>,
    /// This host's clock and the servers' at one moment: when zklock's node was created.
    clocks: Option<(BootTime, ServerTime)>,
    queue: Option<QueueProgress>,
    /// The holder's node, while it is being read.
    asked: Option<NodePath>,
}

#[derive(Debug)]
struct QueueProgress {
    path: LockPath,
    nearest: Seen,
    ahead: usize,
    /// The holder's node, if the holder isn't the nearest contender.
    holder: Option<NodePath>,
}

impl Progress {
    /// `every`: the time between two reports; `None`: no reports.
    pub(super) fn new(every: Option<Duration>) -> Self {
        Self { every, at: None, clocks: None, queue: None, asked: None }
    }

    /// Notes that zklock's node was created at this time on the servers' clock.
    pub(super) fn queued(&mut self, created: ServerTime, now: BootTime) {
        self.clocks = Some((now, created));
    }

    /// Notes the contenders `ahead`: the `nearest` one, and the node of the `holder` if that is another one.
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

    /// The wait is over.
    pub(super) fn end(&mut self) {
        (self.at, self.queue, self.asked) = (None, None, None);
    }

    /// When to report next.
    pub(super) fn wake_at(&self) -> Option<BootTime> {
        self.at
    }

    /// Reports if it is time, unless zklock `is_stopped`. If the holder isn't the nearest contender, its node is read
    /// first: zklock doesn't watch it.
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
            // The last read has no answer yet.
            Some(_) => self.say(None, scene),
        }
    }

    /// The holder's `node` was read. `None`: it is gone, or can't be read.
    pub(super) fn holder(&mut self, node: &NodePath, seen: Option<&Seen>, scene: &mut Scene<'_>) {
        if self.asked.as_ref() == Some(node) {
            self.asked = None;
            self.say(seen, scene);
        }
    }

    fn say(&self, holder: Option<&Seen>, scene: &mut Scene<'_>) {
        let Some(QueueProgress { path, nearest, ahead, .. }) = &self.queue else { return };
        let server_now = self.clocks.map(|(host, servers)| {
            let since = i64::try_from(scene.now.since(host).as_millis()).unwrap_or(i64::MAX);
            ServerTime(servers.0.saturating_add(since))
        });
        let holder = holder.map(|seen| seen.at(server_now));
        let (waited, predecessor) = (scene.now.since(scene.plan.began), nearest.who.clone());
        // A waiter confirms all the time. After so long without an answer the queue may have changed.
        let claim = &scene.state.claim;
        let silent_for = claim.heard().map(|heard| scene.now.since(heard));
        let silent_for =
            silent_for.filter(|&span| claim.lease().is_some_and(|lease| span > lease.timeout() / 2));
        let ahead = *ahead;
        scene.says_of(path.clone(), Message::StillWaiting { waited, ahead, predecessor, holder, silent_for });
    }
}
