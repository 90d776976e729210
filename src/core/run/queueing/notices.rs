//! What happens to the session and to the place in the queue.

use super::{Queueing, SeenBusy, StartProgress};
use crate::core::exit::Exit;
use crate::core::lock::contender::{ContentionError, News};
use crate::core::lock::name::Mode;
use crate::core::lock::once::Once;
use crate::core::lock::record::{describe, held_since};
use crate::core::message::Message;
use crate::core::path::LockPath;
use crate::core::planted::{Mistake, planted};
use crate::core::protocol::{Asker, Reply, RequestError, ServerTime, SessionChange, SessionKey};
use crate::core::run::claim::Notice;
use crate::core::run::stopped::{GoOn, Stop, is_hopeless};
use crate::core::run::{Effect, Next, Plan, Scene, Seen};

impl Queueing {
    pub(super) fn session_changed(
        &mut self,
        key: SessionKey,
        change: SessionChange,
        scene: &mut Scene<'_>,
    ) -> Option<Next> {
        let notices = scene.state.claim.session_changed(key, change, scene.now, scene.out);
        self.notices(notices, scene)
    }

    pub(super) fn notices(&mut self, notices: Vec<Notice>, scene: &mut Scene<'_>) -> Option<Next> {
        notices.into_iter().find_map(|notice| self.notice(notice, scene))
    }

    pub(super) fn notice(&mut self, notice: Notice, scene: &mut Scene<'_>) -> Option<Next> {
        match notice {
            Notice::Connected => self.connected = true,
            Notice::Unreachable(servers) => return Some(Next::fail(scene.plan.unreachable(servers))),
            Notice::Lost(failure) if is_hopeless(&failure) => {
                return Some(Next::fail(hopeless(failure, scene.plan)));
            }
            Notice::Lost(_) | Notice::Closed if self.stop.is_leaving() => {
                let go_on = self.stop.left(scene);
                return self.queue_again(go_on, scene);
            }
            // zklock is leaving the queue and has deleted its node itself.
            _ if self.stop.is_leaving() => {}
            // Only the place in the queue is lost.
            Notice::Lost(failure) => {
                if let Some(path) = scene.current_lock() {
                    scene.says_of(path, Message::QueueingAgain(failure));
                }
                return self.queue_again(GoOn::QueueAnew, scene);
            }
            Notice::NodeGone => return Some(self.deleted()),
            // The session is alive, so another client deleted the node. Its name now belongs to another node.
            Notice::Confirmed if self.node_gone.is_some() => return Some(self.deleted()),
            // Without READ on its node zklock could confirm nothing, and every contender behind would wait.
            Notice::Unconfirmed(RequestError::NoAuth) => {
                return Some(Next::fail(Message::Contender(ContentionError::OwnNodeHidden)));
            }
            Notice::Unconfirmed(failure) => scene.says(Message::ConfirmationFailed(failure)),
            Notice::Disconnected => scene.says(Message::ConnectionLostWaiting),
            Notice::Reconnected => {
                self.said = None;
                scene.says(Message::ConnectedAgainWaiting);
            }
            Notice::Closed => return Some(Next::fail(Message::SessionClosed)),
            Notice::Lock(path, news) => return self.news(path, news, scene),
            Notice::Aside(Asker::WaitingLine, Reply::Read(node, Ok(read))) => {
                if let Some(why) = self.lineage.waits_for_itself(&read.data, scene) {
                    return Some(Next::fail_at(scene.current_lock(), why));
                }
                let seen = seen(who(node.name(), &read.data, scene), &read.data, read.created);
                self.progress.holder(&node, Some(seen), scene);
            }
            Notice::Aside(Asker::WaitingLine, Reply::Listed(Ok(children))) => {
                self.lineage.listed(&children, scene);
            }
            Notice::Aside(Asker::WaitingLine, Reply::Read(node, Err(_))) => {
                self.progress.holder(&node, None, scene);
            }
            Notice::Aside(Asker::Once, reply) => return self.once_answered(reply, scene),
            Notice::Confirmed | Notice::Aside(..) => {}
        }
        None
    }

    /// Another client deleted zklock's node.
    pub(super) fn deleted(&self) -> Next {
        Next::fail_at(self.node_gone.clone(), Message::Contender(ContentionError::Deleted))
    }

    pub(super) fn once_answered(&mut self, reply: Reply, scene: &mut Scene<'_>) -> Option<Next> {
        match self.once.as_mut()?.take(reply) {
            Ok(requests) => {
                scene.asks(Asker::Once, requests);
                None
            }
            Err(error) => Some(Next::fail(Message::Contender(error))),
        }
    }

    pub(super) fn news(&mut self, path: LockPath, news: News, scene: &mut Scene<'_>) -> Option<Next> {
        match news {
            News::Queued(node) => {
                scene.says_of(path, Message::Queued { node: node.path.to_string() });
                self.progress.queued(node.created, scene.now);
                if self.stop != Stop::Not {
                    scene.state.claim.mark_stopped(true, scene.now, scene.out);
                }
            }
            News::Waiting { predecessor, data, since, ahead, holder } => {
                let who = who(&predecessor, &data, scene);
                // New data in the predecessor's node is no news.
                let said = Some((path.clone(), predecessor.clone(), ahead));
                if self.said != said {
                    scene.says_of(path.clone(), Message::WaitingFor { who: who.clone(), ahead });
                    self.said = said;
                }
                let holder = (holder != predecessor).then(|| path.child(&holder));
                let nearest = seen(who.clone(), &data, since);
                self.progress.waiting(path, nearest, ahead, holder.clone(), scene);
                self.waiting_for = Some(who);
                return self.lineage.ahead(data, holder, scene);
            }
            // The lock isn't used: see `Stop::give_place_up_if_first`.
            News::Held if self.stop != Stop::Not => {}
            News::Held => {
                self.progress.end(scene);
                let node =
                    scene.state.claim.set().and_then(|set| set.nodes().find(|(lock, _)| **lock == path));
                if let Some(token) = node.map(|(_, node)| node.fencing_token) {
                    let after = scene.now.since(scene.plan.began);
                    scene.says_of(path, Message::Acquired { after, token });
                }
            }
            News::Busy { holder, data } => {
                self.busy = Some(SeenBusy { path, holder, data });
                if matches!(scene.plan.mode, Mode::Slots(2..)) {
                    return self.leave_busy(scene);
                }
                scene.does(Effect::FindAncestors);
            }
            // Reported only while a command runs.
            News::Neighbour(_) => {}
            News::Revoked(by) => return Some(Next::fail_at(Some(path), Message::PlaceRevoked(by))),
            // The watch also fires when the session ends, and may be handled first after a freeze. The answer to a
            // confirmation shows which it was: no node, or no session.
            News::Failed(ContentionError::Deleted) => {
                self.node_gone = Some(path);
                scene.state.claim.confirm_soon(scene.now);
            }
            News::Failed(ContentionError::Permission { .. }) if planted(Mistake::DeniedIsBusy) => {
                return Some(Next::leave(Exit::Code(scene.plan.conflict_exit_code)));
            }
            News::Failed(error) => return Some(Next::fail_at(Some(path), Message::Contender(error))),
        }
        None
    }

    pub(super) fn queue_again(&mut self, go_on: GoOn, scene: &mut Scene<'_>) -> Option<Next> {
        if go_on == GoOn::QueueAnew {
            (self.connected, self.connect_by) = (false, scene.plan.try_until());
            self.start = StartProgress::None;
            self.node_gone = None;
            self.said = None;
            self.progress.end(scene);
            self.once.iter_mut().for_each(Once::begin_again);
            let connect = scene.state.claim.connect(self.connect_by);
            scene.does(connect);
        }
        None
    }
}

/// A description of a contender for messages.
pub(super) fn who(node: &str, data: &[u8], scene: &Scene<'_>) -> String {
    describe(node, data, scene.state.record.as_ref())
}

/// What is shown of a contender.
fn seen(who: String, data: &[u8], since: ServerTime) -> Seen {
    Seen { who, since, held_since: held_since(data, since) }
}

/// The message for a session failure that a new session can't fix.
fn hopeless(failure: RequestError, plan: &Plan) -> Message {
    match failure {
        RequestError::AuthFailed => {
            Message::CredentialsRefused { hosts: plan.hosts.clone(), given: plan.has_credentials }
        }
        failure => Message::SessionFailed(failure),
    }
}
