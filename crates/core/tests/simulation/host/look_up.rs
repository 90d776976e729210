//! A session that checks whether the locks named in the environment are really held.

use zklock_core::path::NodePath;
use zklock_core::protocol::{
    Asker, QuestionIndex, ReadNode, Reply, Request, RequestError, SessionChange, SessionKey,
};
use zklock_core::run::{Input, LookUp};

use crate::sessions::ClientId;
use crate::world::{SessionOwner, World};

#[derive(Debug)]
pub(super) struct Asking {
    client: ClientId,
    nodes: Vec<NodePath>,
    seen: Vec<Option<ReadNode>>,
}

/// How long connecting may take.
const CONNECTS_WITHIN: u64 = 10_000_000_000;

impl World {
    pub(super) fn look_up(&mut self, index: usize, nodes: Vec<NodePath>) {
        let zklock = &self.zklocks[index];
        let deadline = zklock.contender.clock.boot(self.now) + CONNECTS_WITHIN;
        let wanted = zklock.contender.session_timeout;
        let client = self.open(SessionOwner::LookUp(index), SessionKey(0), wanted, Some(deadline));
        self.zklocks[index].worker.asking = Some(Asking { client, nodes, seen: vec![] });
    }

    pub(crate) fn look_up_hears(&mut self, index: usize, change: SessionChange) {
        match change {
            SessionChange::Connected { .. } | SessionChange::Reconnected => {
                let Some(asking) = &mut self.zklocks[index].worker.asking else { return };
                asking.seen.clear();
                let (client, nodes) = (asking.client, asking.nodes.clone());
                for (number, node) in nodes.into_iter().enumerate() {
                    self.ask(client, Asker::Question(QuestionIndex(number)), Request::Watch(node));
                }
            }
            SessionChange::Unreachable(servers) => self.looked_up(index, LookUp::Unreachable(servers)),
            SessionChange::Lost(_) => self.looked_up(index, LookUp::SessionLost),
            SessionChange::Closed | SessionChange::Disconnected | SessionChange::ServersSay(_) => {}
        }
    }

    pub(crate) fn look_up_is_answered(&mut self, index: usize, reply: Reply) {
        let Reply::Read(_, read) = reply else { return };
        let Some(asking) = &mut self.zklocks[index].worker.asking else { return };
        if read == Err(RequestError::ConnectionLost) {
            return;
        }
        match read {
            Ok(node) => asking.seen.push(Some(node)),
            Err(RequestError::NoNode) => asking.seen.push(None),
            Err(failure) => {
                let node = asking.nodes[asking.seen.len()].clone();
                return self.looked_up(index, LookUp::Refused(node, failure));
            }
        }
        if asking.seen.len() == asking.nodes.len() {
            let seen = std::mem::take(&mut asking.seen);
            self.looked_up(index, LookUp::Seen(seen));
        }
    }

    fn looked_up(&mut self, index: usize, found: LookUp) {
        if let Some(asking) = self.zklocks[index].worker.asking.take() {
            self.release(asking.client, vec![]);
            self.tell_worker(index, Input::LookedUp(found));
        }
    }
}
