//! Detects a zklock that would wait for its own ancestor: the holder started the command that this zklock runs in, and
//! waits for its end. The variables that would have shown this were removed on the way, for example by sudo or `env
//! -i`.

use super::{Ancestor, Context, Effect, Next};
use crate::message::Message;
use crate::path::{LockPath, NodePath};
use crate::protocol::{Asker, Request};
use crate::queue::name::{Mode, Name};
use crate::queue::order::queue_entries;
use crate::queue::record::{Process, Record};

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
    holder: Option<NodePath>,
}

impl Lineage {
    /// The predecessor's node has this `data`; `holder` is the holder's node if it isn't the predecessor's.
    pub(super) fn ahead(
        &mut self,
        data: Vec<u8>,
        holder: Option<NodePath>,
        ctx: &mut Context<'_>,
    ) -> Option<Next> {
        // With several slots, another holder may release one.
        if matches!(ctx.plan.mode, Mode::Slots(2..)) {
            return None;
        }
        if self.ancestors.is_some() {
            return self.judge(&data, holder, ctx);
        }
        if self.ahead.replace(Ahead { data, holder }).is_none() {
            ctx.emit(Effect::FindAncestors);
        }
        None
    }

    /// Takes in the answer to [`Effect::FindAncestors`].
    pub(super) fn found(&mut self, ancestors: Vec<Ancestor>, ctx: &mut Context<'_>) -> Option<Next> {
        self.ancestors = Some(ancestors);
        let Ahead { data, holder } = self.ahead.take()?;
        self.judge(&data, holder, ctx)
    }

    /// The message if the contender with this data is an ancestor.
    pub(super) fn waits_for_itself(&self, data: &[u8], ctx: &Context<'_>) -> Option<Message> {
        let own = ctx.state.record.as_ref()?.process.as_ref()?;
        let pid = ancestor(data, own, self.ancestors.as_deref()?)?;
        Some(Message::WaitsForItself { pid })
    }

    fn judge(&self, data: &[u8], holder: Option<NodePath>, ctx: &mut Context<'_>) -> Option<Next> {
        if let Some(why) = self.waits_for_itself(data, ctx) {
            return Some(Next::fail_at(ctx.current_lock(), why));
        }
        let has_ancestors = self.ancestors.as_ref().is_some_and(|all| !all.is_empty());
        let is_read = ctx.plan.always_shows_holder();
        let request = holder.filter(|_| has_ancestors).and_then(|node| read_holder(node, is_read));
        if let Some(request) = request {
            ctx.emit(Effect::Ask(Asker::WaitingLine, request));
        }
        None
    }

    /// Takes in a listing of the lock that zklock waits for: any of several holders may be an ancestor.
    #[allow(clippy::unused_self, reason = "reads as a sentence where it is called")]
    pub(super) fn listed(&self, children: &[String], ctx: &mut Context<'_>) {
        let Some(lock) = ctx.current_lock() else { return };
        ctx.request(Asker::WaitingLine, read_holders(&lock, children));
    }
}

/// The pid of the contender with this data if it is one of the `ancestors` of the process `own`.
pub fn ancestor(data: &[u8], own: &Process, ancestors: &[Ancestor]) -> Option<u32> {
    if ancestors.is_empty() {
        return None;
    }
    let Record { pid, process, .. } = Record::from_bytes(data)?;
    let process = process?;
    let is_here = process.boot == own.boot && process.namespace == own.namespace;
    (is_here && ancestors.contains(&Ancestor { pid, started: process.started })).then_some(pid)
}

/// The request that shows whether an ancestor is among the holders, of which `holder` is the first, if its node isn't
/// read anyway.
fn read_holder(holder: NodePath, is_read: bool) -> Option<Request> {
    let (lock, name) = holder.split();
    match Name::parse(name) {
        // A writer may wait between zklock and the reader that started it, and that reader needn't be the first.
        Some(Name { mode: Mode::Shared, .. }) => Some(Request::List(lock.into())),
        _ => (!is_read).then_some(Request::Get(holder)),
    }
}

fn read_holders(lock: &LockPath, children: &[String]) -> Vec<Request> {
    let holders = queue_entries(children).into_iter().filter(|entry| entry.holds);
    holders.map(|holder| Request::Get(lock.child(holder.name.text))).collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    const READERS: [&str; 2] = ["read-lock-0000000001", "read-lock-0000000002"];

    #[test]
    fn all_readers_that_hold_are_read_and_not_only_the_first() {
        let node = |name: &str| NodePath::from(format!("/locks/a/{name}"));
        let list = Some(Request::List("/locks/a".into()));
        assert_eq!(read_holder(node(READERS[0]), false), list);
        assert_eq!(read_holder(node(READERS[0]), true), list);

        let lock = LockPath::parse(OsStr::new("/locks/a")).unwrap();
        let behind = ["lock-0000000003", "read-lock-0000000004"];
        let children: Vec<String> = READERS.iter().chain(&behind).map(|&name| name.to_owned()).collect();
        assert_eq!(read_holders(&lock, &children), READERS.map(|name| Request::Get(node(name))));
    }

    #[test]
    fn a_writer_that_holds_is_the_only_one_to_read() {
        let writer = NodePath::from("/locks/a/lock-0000000001");
        assert_eq!(read_holder(writer.clone(), false), Some(Request::Get(writer.clone())));
        assert_eq!(read_holder(writer, true), None);
    }
}
