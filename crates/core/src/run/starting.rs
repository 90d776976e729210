//! Starts the command once every lock is held. The monitor learns its deadline before the command starts.

use std::time::Duration;

use super::progress::tell_manager;
use super::releasing::{FinalExit, ReleaseKind};
use super::variables::{held_locks, variables};
use super::{Context, Effect, Input, LONGEST_REST, Next};
use crate::exit::Exit;
use crate::lease::Lease;
use crate::message::Message;

/// How long the command of a service has to report that it is ready, at least: systemd's own default for the start of a
/// service. A standby may have waited for longer than that.
const START: Duration = Duration::from_secs(90);

pub(super) fn begin(ctx: &mut Context<'_>) -> Option<Next> {
    let (plan, claim) = (ctx.plan, &ctx.state.claim);
    let variables = match variables(plan, held_locks(plan, claim, ctx.state.record.as_ref())) {
        Ok(variables) => variables,
        Err(why) => return Some(Next::fail(Message::error("not_started", why))),
    };
    let lease = claim.lease();
    let latest = lease.map(|lease| lease.stop_at(plan.kill_after));
    let deadline = lease.map(Lease::take_over_at);
    // Before the command can report a state of its own.
    tell_manager("acquired", START, ctx);
    ctx.emit(Effect::StartCommand { variables, latest, deadline });
    None
}

pub(super) fn on(input: Input, ctx: &mut Context<'_>) -> Option<Next> {
    // The answer is immediate: no other event comes before it.
    let Input::Started(started) = input else { return None };
    Some(match started {
        Ok(()) => {
            let command = ctx.plan.command.as_str();
            ctx.say(Message::debug("started", format!("{command} was started")).with("command", command));
            Next::Run
        }
        Err((code, why)) => {
            let exit = Exit::Code(code);
            ctx.emit(Effect::CommandIsOver(exit, LONGEST_REST));
            ctx.say(Message::error("not_started", why));
            Next::Release(ReleaseKind::Locks, FinalExit { exit, about: None, final_message: None })
        }
    })
}
