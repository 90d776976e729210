//! Detects a zklock that would wait for its own ancestor: the holder started the command that this zklock runs in, and
//! waits for its end. The variables that would have shown this were removed on the way, for example by sudo or `env
//! -i`.

use super::{Ancestor, Effect, Next, Scene};
use crate::core::lock::name::Mode;
use crate::core::lock::record::Record;
use crate::core::message::Message;
use crate::core::protocol::{Asker, Request};

/// What is known of the zklocks that started this one. They are looked up only once another contender is ahead, because
/// most runs never wait.
#[derive(Debug, Default)]
pub(super) struct Lineage {
    ancestors: Option<Vec<Ancestor>>,
    /// The contenders ahead that were reported while the lookup was pending.
    ahead: Option<Ahead>,
}

#[derive(Debug)]
struct Ahead {
    /// The predecessor's data.
    data: Vec<u8>,
    /// The holder's node, if it isn't the predecessor's.
    holder: Option<String>,
}

impl Lineage {
    /// The predecessor's node has this `data`; `holder` is the holder's node if it isn't the predecessor's.
    pub(super) fn ahead(
        &mut self,
        data: Vec<u8>,
        holder: Option<String>,
        scene: &mut Scene<'_>,
    ) -> Option<Next> {
        // With several slots, another holder may release one.
        if matches!(scene.plan.mode, Mode::Slots(2..)) {
            return None;
        }
        if self.ancestors.is_some() {
            return self.look(&data, holder, scene);
        }
        if self.ahead.replace(Ahead { data, holder }).is_none() {
            scene.does(Effect::FindAncestors);
        }
        None
    }

    /// Takes in the answer to [`Effect::FindAncestors`].
    pub(super) fn found(&mut self, ancestors: Vec<Ancestor>, scene: &mut Scene<'_>) -> Option<Next> {
        self.ancestors = Some(ancestors);
        let Ahead { data, holder } = self.ahead.take()?;
        self.look(&data, holder, scene)
    }

    /// The message if the contender with this data is an ancestor.
    pub(super) fn waits_for_itself(&self, data: &[u8], scene: &Scene<'_>) -> Option<Message> {
        let ancestors = self.ancestors.as_deref().filter(|ancestors| !ancestors.is_empty())?;
        let own = scene.state.record.as_ref()?.process.as_ref()?;
        let Record { pid, process, .. } = Record::from_bytes(data)?;
        let process = process?;
        let is_here = process.boot == own.boot && process.namespace == own.namespace;
        let ancestor = Ancestor { pid, started: process.started };
        (is_here && ancestors.contains(&ancestor)).then_some(Message::WaitsForItself { pid })
    }

    fn look(&self, data: &[u8], holder: Option<String>, scene: &mut Scene<'_>) -> Option<Next> {
        if let Some(why) = self.waits_for_itself(data, scene) {
            return Some(Next::fail(why));
        }
        let is_wanted = !scene.plan.shows_line && self.ancestors.as_ref().is_some_and(|all| !all.is_empty());
        if let Some(node) = holder.filter(|_| is_wanted) {
            scene.does(Effect::Ask(Asker::WaitingLine, Request::Get(node)));
        }
        None
    }
}
