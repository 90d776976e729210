//! zklock inside a command of zklock: a lock that the outer zklock holds isn't queued for a second time.
//!
//! The variables may be stale: a daemon inherits them and outlives the lock. zklock therefore reads the outer node and
//! checks that it is the same one. This also identifies the ensemble: the same path on another ensemble has another
//! node.

use super::progress::{Shown, Wait};
use super::variables::variables;
use super::{Context, Effect, End, Input, LookUp, Next};
use crate::environment::HeldLock;
use crate::exit::Exit;
use crate::message::Message;
use crate::protocol::ReadNode;
use crate::queue::contender::ContentionError;
use crate::queue::name::{Family, Mode, Name};
use crate::server_wait::Awaited;
use crate::signal::{SIGCONT, SIGKILL, SIGTSTP, ends_waiting};

/// The check of the locks that are said to be held around zklock.
#[derive(Debug)]
pub(super) struct Nested {
    /// The wanted ones among these locks. One path may appear several times, held on different ensembles.
    candidates: Vec<HeldLock>,
}

impl Nested {
    pub(super) fn begin(ctx: &mut Context<'_>) -> (Self, Option<Next>) {
        let plan = ctx.plan;
        let is_wanted = |held: &&HeldLock| plan.locks.iter().any(|path| held.is_of(&plan.chroot, path));
        let nested = Self { candidates: plan.outer.iter().filter(is_wanted).cloned().collect() };
        if nested.candidates.is_empty() {
            return (nested, Some(Next::Queue));
        }
        nested.look_up(ctx);
        (nested, None)
    }

    pub(super) fn on(&mut self, input: Input, ctx: &mut Context<'_>) -> Option<Next> {
        match input {
            Input::Tick => {
                let (since, until) = (ctx.plan.began, Some(ctx.plan.connect_by()));
                ctx.show(Some(Wait { awaited: Awaited::Session, since, until }), Shown::Everywhere);
                None
            }
            Input::LookedUp(LookUp::Seen(nodes)) => Some(self.seen(&nodes, ctx)),
            Input::LookedUp(LookUp::SessionLost) => {
                self.look_up(ctx);
                None
            }
            Input::LookedUp(LookUp::Unreachable(servers)) => {
                Some(Next::fail(ctx.plan.unreachable(servers, ctx.now)))
            }
            // Queueing for a lock that may be held around zklock could wait for zklock's own end.
            Input::LookedUp(LookUp::Refused(node, failure)) => {
                let (lock, _) = node.split();
                let action = "see whether the surrounding command holds the lock";
                let why = ContentionError::of(failure, action, "READ", &lock);
                let path = ctx.plan.locks.iter().find(|path| path.as_str() == lock);
                Some(Next::fail_at(path.cloned(), Message::Contender(why)))
            }
            // Without an answer nothing is known; queueing will report why there is none.
            Input::LookedUp(LookUp::NoAnswer) => Some(Next::Queue),
            // No command is running yet that could stop with zklock.
            Input::Signal(SIGTSTP) => {
                ctx.state.stopped = true;
                ctx.erase_line();
                ctx.emit(Effect::StopWaiting);
                None
            }
            Input::Signal(SIGCONT) | Input::NotStopped => {
                ctx.state.stopped = false;
                None
            }
            Input::Signal(signal) if ends_waiting(signal) => Some(Next::leave(Exit::Signal(signal))),
            Input::MonitorDied => Some(Next::leave(Exit::Signal(SIGKILL))),
            _ => None,
        }
    }

    fn look_up(&self, ctx: &mut Context<'_>) {
        let nodes = self.candidates.iter().map(|held| held.node_below(&ctx.plan.chroot)).collect();
        ctx.emit(Effect::LookUp(nodes));
    }

    /// A lock counts as not held only if its node is seen to be gone. If a fault counted as that, zklock would queue
    /// behind the surrounding lock, which waits for zklock's end.
    fn seen(&self, nodes: &[Option<ReadNode>], ctx: &mut Context<'_>) -> Next {
        let plan = ctx.plan;
        let is_there = |held: &HeldLock, node: &Option<ReadNode>| match node {
            Some(node) => held.is_still_held(node),
            None => false,
        };
        let seen = self.candidates.iter().zip(nodes).filter(|(held, node)| is_there(held, node));
        ctx.state.held_around = seen.map(|(held, _)| held.clone()).collect();
        let held = &ctx.state.held_around;
        let weak = |held: &HeldLock| Some((held.clone(), too_weak(held, plan.mode, plan.family)?));
        if let Some((held, why)) = held.iter().find_map(weak) {
            let path = plan.locks.iter().find(|path| held.is_of(&plan.chroot, path));
            return Next::fail_at(path.cloned(), why);
        }
        if plan.not_held_in(held).next().is_some() {
            return Next::Queue;
        }
        if plan.once_per.is_some() {
            // The surrounding lock will be released without a record, whatever the command does.
            return Next::fail(Message::OncePerInside);
        }
        match variables(plan, &[], held.clone()) {
            Ok(variables) => Next::Finish(End::Become(variables)),
            Err(why) => Next::fail(Message::NotStarted(why)),
        }
    }
}

/// Why the surrounding lock isn't enough for `mode`, if it isn't. Waiting can't help, because the outer lock ends only
/// after zklock.
fn too_weak(held: &HeldLock, mode: Mode, family: Family) -> Option<Message> {
    let name = held.node.rsplit('/').next().and_then(Name::parse);
    if let Some(outer) = name.map(|name| name.family).filter(|&outer| outer != family) {
        return Some(Message::HeldInOtherNaming { outer, inner: family });
    }
    let enough = match (held.mode(), mode) {
        (Some(outer), Mode::Shared) => outer.slots() == 1,
        (None | Some(Mode::Shared), _) => false,
        (Some(outer), inner) => outer.slots() == inner.slots(),
    };
    let outer = || held.mode().map_or_else(|| held.mode.clone(), |outer| outer.to_string());
    (!enough).then(|| Message::HeldTooWeakly { outer: outer(), inner: mode })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(mode: Mode) -> HeldLock {
        HeldLock {
            path: "/a".to_owned(),
            node: "/a/n".to_owned(),
            fencing_token: 1,
            session: 1,
            mode: mode.word().to_owned(),
            slots: mode.slots(),
        }
    }

    #[test]
    fn the_outer_lock_must_be_at_least_as_strong() {
        use Mode::{Exclusive, Shared, Slots};
        for (outer, inner, enough) in [
            (Exclusive, Exclusive, true),
            (Exclusive, Shared, true),
            (Shared, Shared, true),
            (Shared, Exclusive, false),
            (Slots(2), Slots(2), true),
            (Slots(2), Slots(3), false),
            (Slots(2), Exclusive, false),
            (Slots(2), Shared, false),
            (Slots(1), Exclusive, true),
            (Exclusive, Slots(1), true),
            (Exclusive, Slots(2), false),
        ] {
            let why = too_weak(&held(outer), inner, Family::Curator);
            assert_eq!(why.is_none(), enough, "{inner} inside {outer}");
        }
    }
}
