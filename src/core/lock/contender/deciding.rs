//! What a listing means: hold the lock, wait, or refuse the queue.

use super::error::ContentionError;
use super::step::{News, Step};
use super::{Contender, ContenderPhase, Inspection, InspectionResult};
use crate::core::lock::name::Mode;
use crate::core::lock::queue;
use crate::core::lock::queue::Decision;
use crate::core::planted::{Mistake, planted};
use crate::core::protocol::{Reply, Request};

impl Contender {
    /// The step that checks other recipes on the path, if these children show any. The queue is listed again
    /// afterwards, because it may have changed meanwhile.
    pub(super) fn must_inspect(&mut self, children: &[String]) -> Option<Step> {
        if std::mem::take(&mut self.inspected) {
            return None;
        }
        let mut inspection = Inspection::of(children)?;
        let result = inspection.begin(&self.entry.path);
        self.phase = ContenderPhase::Inspecting(inspection);
        Some(self.after_inspecting(result))
    }

    pub(super) fn inspect(&mut self, reply: Reply) -> Step {
        let ContenderPhase::Inspecting(inspection) = &mut self.phase else { return Step::default() };
        let result = inspection.take(&self.entry.path, reply);
        self.after_inspecting(result)
    }

    pub(super) fn after_inspecting(&mut self, result: InspectionResult) -> Step {
        match result {
            InspectionResult::Ask(requests) => Step { requests, news: vec![] },
            InspectionResult::Fail(error) => self.fail(error),
            InspectionResult::Clean => {
                self.inspected = true;
                self.go(
                    if self.own.is_none() { ContenderPhase::Looking } else { ContenderPhase::Listing },
                    self.list(),
                )
            }
        }
    }

    pub(super) fn decide(&mut self, children: &[String]) -> Step {
        if let Some(step) = self.must_inspect(children) {
            return step;
        }
        let Some(own) = self.own.as_ref().map(|own| own.path.name()) else {
            debug_assert!(false, "nothing is decided before its own node is known");
            return self.fail(ContentionError::Deleted);
        };
        match queue::decide(children, own) {
            Decision::Hold => {
                // Contenders that entered before this listing may have read the node without a slot, even if this one
                // never waited. Later contenders read what it says now.
                let is_to_be_told = queue::anybody_behind(children, own);
                let told = if is_to_be_told { self.announce_slot() } else { Step::default() };
                let mut step = self.hold();
                step.append(told);
                step
            }
            Decision::Wait { holder, .. } if self.entry.nonblock => self.busy(holder),
            Decision::Wait { watch, ahead, holder } => {
                self.seen_busy = true;
                let mut step = self.watch_own();
                step.requests.extend(watch.iter().map(|name| Request::Watch(self.path().child(name))));
                self.phase =
                    ContenderPhase::Approaching { unset: watch.clone(), watch, nearest: None, ahead, holder };
                step
            }
            Decision::Gone => self.fail(ContentionError::Deleted),
            Decision::Refuse(refusal) => self.fail(refusal.into()),
        }
    }

    pub(super) fn hold(&mut self) -> Step {
        self.phase = ContenderPhase::Holding;
        let mut step = self.watch_own();
        step.news.push(News::Held);
        step
    }

    /// The contenders behind watch only this node. Its slot makes the next of them the first waiter for another slot.
    pub(super) fn announce_slot(&mut self) -> Step {
        if !matches!(self.entry.mode, Mode::Slots(2..)) || planted(Mistake::SlotUntold) {
            return Step::default();
        }
        self.content.has_slot = true;
        self.write_own()
    }

    pub(super) fn busy(&mut self, holder: String) -> Step {
        self.seen_busy = true;
        let watch = Request::Watch(self.path().child(&holder));
        self.go(ContenderPhase::Naming(holder), watch)
    }
}
