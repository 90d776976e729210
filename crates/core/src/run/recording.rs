//! After a success with `--once-per`: records it and releases the lock in one transaction.
//!
//! Therefore only a holder can record: if zklock has lost the lock, its node is gone, and the transaction fails.

use super::progress::{Shown, Wait};
use super::releasing::{FinalExit, ReleaseKind, answer_limit};
use super::{Context, Effect, Input, Next};
use crate::exit::Exit;
use crate::message::Message;
use crate::path::NodePath;
use crate::protocol::{Asker, Reply, Request, RequestError};
use crate::queue::event::Event;
use crate::queue::once::{LastSuccess, record_path};
use crate::server_wait::Awaited;
use crate::time::BootTime;

/// A record that is being written.
#[derive(Debug)]
pub(super) struct Recording {
    exit: Exit,
    record: NodePath,
    node: NodePath,
    success: LastSuccess,
    /// An answer was lost: the record may already be written.
    uncertain: bool,
    since: BootTime,
    until: BootTime,
}

impl Recording {
    /// Begins to record a success. `None` if the command failed, the lock is lost, or nothing is to be recorded: then
    /// [`release`] follows. The command's exit code stands in any case.
    pub(super) fn begin(exit: Exit, ctx: &mut Context<'_>) -> Option<Self> {
        let plan = ctx.plan;
        if plan.once_per.is_none() || exit != Exit::Code(0) {
            return None;
        }
        let claim = &ctx.state.claim;
        let own = claim.session().and_then(|session| session.nodes().next()).map(|(_, node)| node.clone());
        let own = own.filter(|_| !claim.is_over()).zip(ctx.state.record.clone());
        let Some((own, by)) = own else {
            let why = "the session is over".to_owned();
            ctx.say(not_recorded(&why, true));
            return None;
        };
        let recording = Self {
            exit,
            record: record_path(plan.first().as_str()),
            success: LastSuccess { by, fencing_token: own.czxid },
            node: own.path,
            uncertain: false,
            since: ctx.now,
            until: ctx.now + answer_limit(claim),
        };
        recording.ask(ctx);
        Some(recording)
    }

    pub(super) fn on(&mut self, input: Input, ctx: &mut Context<'_>) -> Option<Next> {
        let events = match input {
            Input::Tick if ctx.now >= self.until => {
                return Some(self.end(Some("no server confirmed it".to_owned()), ctx));
            }
            Input::Tick => {
                let shown = if ctx.state.monitor_died { Shown::Nowhere } else { Shown::Everywhere };
                let wait = Wait { awaited: Awaited::Record, since: self.since, until: Some(self.until) };
                ctx.show(Some(wait), shown);
                return None;
            }
            Input::MonitorDied => {
                ctx.emit(Effect::Detach);
                return None;
            }
            Input::Session(key, change) => ctx.state.claim.session_changed(key, change, ctx.now, ctx.out),
            Input::Reply(key, asker, reply) => ctx.state.claim.replied(key, asker, reply, ctx.now, ctx.out),
            _ => return None,
        };
        events.into_iter().find_map(|event| self.on_event(event, ctx))
    }

    fn on_event(&mut self, event: Event, ctx: &mut Context<'_>) -> Option<Next> {
        match event {
            Event::Aside(Asker::Once, Reply::SuccessRecorded(Ok(()))) => Some(self.end(None, ctx)),
            Event::Aside(Asker::Once, Reply::SuccessRecorded(Err(RequestError::ConnectionLost))) => {
                self.uncertain = true;
                self.ask(ctx);
                None
            }
            // The attempt whose answer was lost may have recorded the success and deleted the node.
            Event::Aside(Asker::Once, Reply::SuccessRecorded(Err(RequestError::NoNode))) => {
                Some(self.end(Some("its node was already gone".to_owned()), ctx))
            }
            Event::Aside(Asker::Once, Reply::SuccessRecorded(Err(failure))) | Event::Lost(failure) => {
                Some(self.end(Some(failure.to_string()), ctx))
            }
            _ => None,
        }
    }

    pub(super) fn wake_at(&self) -> BootTime {
        self.until
    }

    fn end(&self, why_not: Option<String>, ctx: &mut Context<'_>) -> Next {
        // A failure is reported as an error and not as a warning: otherwise `-q` would hide that the command runs every
        // time.
        ctx.say(match why_not {
            None => Message::step("recorded", "success recorded"),
            Some(why) => not_recorded(&why, !self.uncertain),
        });
        release(self.exit)
    }

    fn ask(&self, ctx: &mut Context<'_>) {
        let (record, node) = (self.record.clone(), self.node.clone());
        let request = Request::RecordSuccess { record, data: self.success.to_bytes(), node };
        ctx.emit(Effect::Ask(Asker::Once, request));
    }
}

/// Releases the locks without a record.
pub(super) fn release(exit: Exit) -> Next {
    Next::Release(ReleaseKind::Locks, FinalExit { exit, about: None, final_message: None })
}

fn not_recorded(why: &str, is_certain: bool) -> Message {
    let text = if is_certain {
        "the success could not be recorded, so the next run is not skipped"
    } else {
        "the success may not be recorded, so the next run may not be skipped"
    };
    Message::error("not_recorded", format!("{text}: {why}"))
}
