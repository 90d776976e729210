//! Sessions that delete the nodes left by another session.

use zklock_core::leftover_nodes::LeftoverNodes;
use zklock_core::monitor::MonitorInput;
use zklock_core::protocol::{Asker, QuestionIndex, Reply, RequestError, SessionChange, SessionKey};
use zklock_core::run::Input;

use super::Cleaner;
use crate::world::{SessionOwner, World};

impl World {
    pub(super) fn begin_cleaning(&mut self, owner: SessionOwner, leftover: LeftoverNodes) {
        let index = owner.zklock();
        let wanted = u64::try_from(leftover.session_timeout.as_nanos()).unwrap();
        let deadline = self.zklocks[index].clock(self.now) + leftover.session_timeout;
        self.trace.print(self.now, || format!("{owner:?} cleans up: {leftover:?}"));
        let client = self.open(owner, SessionKey(0), wanted, Some(deadline));
        let expected = leftover.nodes.len() + usize::from(leftover.pending_create.is_some());
        let cleaner =
            Cleaner { client, leftover, answers: vec![], expected, deleting: false, is_certain: true };
        let cleaner = Some(cleaner);
        match owner {
            SessionOwner::MonitorsCleaner(_) => self.zklocks[index].monitor.cleaner = cleaner,
            _ => self.zklocks[index].worker.cleaner = cleaner,
        }
    }

    pub(super) fn cleaner(&mut self, owner: SessionOwner) -> Option<&mut Cleaner> {
        let zklock = &mut self.zklocks[owner.zklock()];
        match owner {
            SessionOwner::MonitorsCleaner(_) => zklock.monitor.cleaner.as_mut(),
            _ => zklock.worker.cleaner.as_mut(),
        }
    }

    pub(crate) fn cleaner_hears(&mut self, owner: SessionOwner, change: &SessionChange) {
        match change {
            SessionChange::Connected { .. } | SessionChange::Reconnected => {
                let Some(cleaner) = self.cleaner(owner) else { return };
                (cleaner.answers, cleaner.deleting, cleaner.is_certain) = (vec![], false, true);
                let client = cleaner.client;
                for (number, request) in cleaner.leftover.questions().into_iter().enumerate() {
                    self.ask(client, Asker::Question(QuestionIndex(number)), request);
                }
            }
            SessionChange::Unreachable(_) | SessionChange::Lost(_) => self.cleaned(owner, false),
            SessionChange::Closed | SessionChange::Disconnected | SessionChange::ServersSay(_) => {}
        }
    }

    pub(crate) fn cleaner_is_answered(&mut self, owner: SessionOwner, asker: Asker, reply: Reply) {
        let Some(cleaner) = self.cleaner(owner) else { return };
        if matches!(reply, Reply::Changed(..)) || reply.failure() == Some(&RequestError::ConnectionLost) {
            return;
        }
        let Asker::Question(_) = asker else { return };
        cleaner.answers.push(reply);
        if cleaner.answers.len() < cleaner.expected {
            return;
        }
        cleaner.is_certain &= cleaner.answers.iter().all(LeftoverNodes::is_certain);
        let is_certain = cleaner.is_certain;
        if cleaner.deleting {
            return self.cleaned(owner, is_certain);
        }
        let found = cleaner.leftover.found_in(&cleaner.answers);
        if found.is_empty() {
            return self.cleaned(owner, is_certain);
        }
        (cleaner.expected, cleaner.deleting) = (found.len(), true);
        cleaner.answers.clear();
        let client = cleaner.client;
        for (number, request) in found.into_iter().enumerate() {
            self.ask(client, Asker::Question(QuestionIndex(number)), request);
        }
    }

    pub(super) fn cleaned(&mut self, owner: SessionOwner, gone: bool) {
        let index = owner.zklock();
        let zklock = &mut self.zklocks[index];
        let cleaner = match owner {
            SessionOwner::MonitorsCleaner(_) => zklock.monitor.cleaner.take(),
            _ => zklock.worker.cleaner.take(),
        };
        let Some(cleaner) = cleaner else { return };
        self.release(cleaner.client, vec![]);
        match owner {
            SessionOwner::MonitorsCleaner(_) => {
                self.answer_monitor(index, MonitorInput::Cleaned(gone));
                self.watch(index);
            }
            _ if self.zklocks[index].worker.alone => self.worker_ends(index),
            _ => self.tell_worker(index, Input::Cleaned(gone)),
        }
    }
}
