//! A zklock that would wait for its own ancestor: the holder started the command that this zklock runs in, and waits for
//! its end. The variables that would have told so were lost on the way, to sudo or `env -i` for example.

use super::{Ancestor, Effect, Next, Scene};
use crate::core::lock::name::Mode;
use crate::core::lock::record::Record;
use crate::core::message::Message;
use crate::core::protocol::{Asker, Request};

/// What is known of the zklocks that started this one. They are looked for once another contender is ahead, and not before:
/// most runs never wait.
#[derive(Debug, Default)]
pub(super) struct Lineage {
    ancestors: Option<Vec<Ancestor>>,
    /// What came while that was asked.
    ahead: Option<Ahead>,
}

#[derive(Debug)]
struct Ahead {
    /// The predecessor's.
    data: Vec<u8>,
    /// The holder's node, if it is another one.
    holder: Option<String>,
}

impl Lineage {
    /// A contender with this `data` is just ahead, and this node is the `holder`'s if it is another.
    pub(super) fn ahead(
        &mut self,
        data: Vec<u8>,
        holder: Option<String>,
        scene: &mut Scene<'_>,
    ) -> Option<Next> {
        // A slot may come from another holder.
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

    /// The answer to [`Effect::FindAncestors`].
    pub(super) fn found(&mut self, ancestors: Vec<Ancestor>, scene: &mut Scene<'_>) -> Option<Next> {
        self.ancestors = Some(ancestors);
        let Ahead { data, holder } = self.ahead.take()?;
        self.look(&data, holder, scene)
    }

    /// Whether the contender with this data is an ancestor.
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
