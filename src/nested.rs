//! zklock inside a command of zklock: which of the wanted locks are held around it is decided before it starts anything.
//!
//! `ZKLOCK_HELD` may be stale: a daemon inherits it and outlives the lock. A lock counts as held if its node is still the
//! same one, which also tells the ensemble, and if the zklock that made it is above this process: that one ends its
//! descendants before it gives the lock up.

use std::io::{self, Read as _, Write as _};

use anyhow::{Context, Result, anyhow};
use nix::sys::signal::SigSet;
use nix::unistd::{Pid, getpid};
use zklock_core::environment::HeldLock;
use zklock_core::exit::{self, Exit};
use zklock_core::path::NodePath;
use zklock_core::protocol::ReadNode;
use zklock_core::queue::contender::ContentionError;
use zklock_core::queue::record::Record;
use zklock_core::run::Plan;

use crate::cli::Options;
use crate::ensemble::{Limit, Request, RequestError, Settings};
use crate::job::become_command;
use crate::job::spawn::Launch;
use crate::link::InheritedState;
use crate::output;
use crate::plan::Invocation;
use crate::process::identity;
use crate::process::proc_stat::is_ancestor;
use crate::process::sys::{self, ForkSide};
use crate::process::system_error::explain;
use crate::subcommands::in_session_of;

/// Leaves the locks that are held around zklock out of the plan. If none is left, zklock becomes its command: this returns
/// only how to exit if that fails. `None`: the others are to be queued for.
pub fn enter(
    plan: &mut Plan,
    invocation: &Invocation,
    options: &Options,
    nice: Option<i32>,
) -> Result<Option<Exit>> {
    let said = plan.said_to_be_held();
    if said.is_empty() {
        return Ok(None);
    }
    let Some(held) = look(plan, &said, options)? else { return Ok(Some(Exit::Code(exit::FAILURE))) };
    let held = said.into_iter().zip(held).filter_map(|(said, is_held)| is_held.then_some(said)).collect();
    let variables = match plan.enter(held) {
        Ok(Some(variables)) => variables,
        Ok(None) => return Ok(None),
        Err((path, why)) => {
            output::queue_output();
            output::say(&path, None, &why);
            return Ok(Some(Exit::Code(exit::FAILURE)));
        }
    };
    output::queue_output();
    output::step(invocation.first_lock(), "already held by the surrounding command");
    output::drain(output::BRIEFLY);
    let mask = SigSet::thread_get_mask()?;
    let has_terminal = plan.has_terminal;
    let inherited = InheritedState { mask, ignores_children: false, has_terminal, nice };
    let error = become_command(Launch::new(invocation, inherited), &variables);
    output::error(invocation.first_lock(), &error);
    Ok(Some(Exit::Code(error.code())))
}

/// Looks which of these locks are held around zklock, in a child: the session needs threads, and zklock still has to fork.
/// `None`: the child has said why it doesn't know.
fn look(plan: &Plan, said: &[HeldLock], options: &Options) -> Result<Option<Vec<bool>>> {
    let (mut answer, mut writer) = io::pipe()?;
    match sys::split().context("can't start a process to look at the surrounding locks")? {
        ForkSide::Parent(child) => {
            drop(writer);
            let mut text = vec![];
            answer.read_to_end(&mut text)?;
            let _ = sys::reap(child);
            serde_json::from_slice(&text).map_err(|_| anyhow!("the look at the surrounding locks was ended"))
        }
        ForkSide::Child(parent) => {
            // Nobody may read what is said: the lock around zklock must not wait for that.
            output::queue_output();
            let held = sys::die_with(parent).map_err(Into::into).and_then(|()| ask(plan, said, options));
            if let Err(error) = &held {
                match error.downcast_ref() {
                    Some(message) => output::say(plan.first(), None, message),
                    None => output::error(plan.first(), explain(error)),
                }
            }
            output::drain(output::AT_THE_END);
            let _ = writer.write_all(&serde_json::to_vec(&held.ok()).unwrap_or_default());
            sys::exit_at_once(0)
        }
    }
}

fn ask(plan: &Plan, said: &[HeldLock], options: &Options) -> Result<Vec<bool>> {
    let mut settings = Settings::new(&options.connection, plan.connect_by())?;
    settings.refusals_end = plan.nonblock;
    let within = (plan.connect_timeout, plan.connect_option);
    in_session_of(options, settings, Limit::Until(plan.try_until()), within, |session| {
        let nodes: Vec<NodePath> = said.iter().map(|held| held.node_below(&plan.chroot)).collect();
        // A server that lags behind may not have the node yet.
        let parents = nodes.iter().map(|node| Request::CatchUpAndList(node.split().0.into()));
        session.replies(parents)?;
        let own = getpid();
        let is_held = |((held, node), answer): ((&HeldLock, &NodePath), _)| match answer {
            Ok(ReadNode::Seen(node)) => Ok(held.is_still_held(&node) && is_above(&node.data, own)?),
            // Its name contains a uuid, so it can't be another node.
            Ok(ReadNode::Hidden) if held.started > 0 => is_ancestor(held.pid, Some(held.started), own),
            Err(RequestError::NoNode) => Ok(false),
            // Queueing for a lock that may be held around zklock could wait for zklock's own end.
            Ok(ReadNode::Hidden) | Err(_) => {
                let failure = answer.err().unwrap_or(RequestError::NoAuth);
                let action = "see whether the surrounding command holds the lock";
                Err(anyhow!(ContentionError::of(failure, action, "READ", &node.split().0)))
            }
        };
        let answers = session.ask_all(nodes.iter().cloned().map(Request::Watch))?;
        said.iter().zip(&nodes).zip(answers).map(is_held).collect()
    })
}

/// Whether the zklock that wrote this record is an ancestor of the process `below`. If that can't be seen, queueing for a
/// lock that may be held around zklock could wait for zklock's own end. A record of 1.0 may know its host and
/// pid only.
fn is_above(record: &[u8], below: Pid) -> Result<bool> {
    let Some(record) = Record::from_bytes(record) else { return Ok(false) };
    let is_here = match (&record.process, identity::process(below)) {
        (Some(holder), Some(own)) => (&holder.boot, &holder.namespace) == (&own.boot, &own.namespace),
        _ => record.host == identity::host(),
    };
    Ok(is_here && is_ancestor(record.pid, record.process.map(|process| process.started), below)?)
}
