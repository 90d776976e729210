//! `wait`: returns when locks are free of all that held them or queued for them when it began. It takes no lock and writes
//! nothing.
//!
//! The names of the first listing are awaited, so that later contenders never count, whatever happens to the connection and
//! the session. Only the last of them is watched: usually the others are gone before it.

use std::env;

use anyhow::{Result, bail, ensure};
use zklock_core::environment::{HELD, held_outside};
use zklock_core::exit::Exit;
use zklock_core::message::Message;
use zklock_core::path::LockPath;
use zklock_core::queue::contender::ContentionError;
use zklock_core::queue::order;
use zklock_core::queue::other_recipes::refusal;
use zklock_core::queue::record::{describe, held_since};
use zklock_core::time::BootTime;

use super::session::{in_session_of, line};
use crate::cli::{Options, WaitOptions};
use crate::ensemble::{BlockingSession, Limit, ReadNode, Request, RequestError, Settings};
use crate::output;
use crate::process::clock;

pub(super) fn run(wait: &WaitOptions, options: &Options) -> Result<Exit> {
    let mut lock = options.lock.clone();
    (lock.nonblock, lock.timeout) = (lock.nonblock || wait.nonblock, wait.timeout.or(lock.timeout));
    let nonblock = lock.gives_up_at_once();
    let within = lock.connect_limit(&options.connection);
    let began = clock::now();
    let connect_by = began + within.0;
    let until = lock.wait_limit().map(|limit| began + limit).or_else(|| nonblock.then_some(connect_by));
    let mut settings = Settings::new(&options.connection, connect_by)?;
    settings.refusals_end = nonblock;
    in_session_of(options, settings, Limit::Until(until), within, |session| {
        let outer = held_outside(env::var_os(HELD).as_deref());
        let is_outer = |name: &String| outer.iter().any(|held| held.node.ends_with(&format!("/{name}")));
        // All of them before the first wait: contenders that come later don't count. Those behind a lock of the
        // surrounding command neither: they wait for its end.
        let listings = wait.paths.iter().map(|path| {
            let names = order::names(&list(session, path)?);
            Ok((path, names.into_iter().take_while(|name| !is_outer(name)).collect()))
        });
        for (path, names) in listings.collect::<Result<Vec<_>>>()? {
            let busy = until_free(session, path, names, nonblock, (began, until), &mut line(options))?;
            let free = || Message::free(clock::now().since(began));
            output::say(path, None, busy.as_ref().unwrap_or(&free()));
            if busy.is_some() {
                return Ok(Exit::Code(wait.conflict_exit_code.unwrap_or(lock.conflict_exit_code)));
            }
        }
        Ok(Exit::Code(0))
    })
}

/// The children of a lock. The server catches up before: one that lags behind must not hide a holder.
fn list(session: &mut BlockingSession<'_>, path: &LockPath) -> Result<Vec<String>> {
    let children = match session.ask(Request::CatchUpAndList(path.node()))? {
        // Nobody can hold a lock that doesn't exist.
        Err(RequestError::NoNode) => vec![],
        Err(failure) => bail!("{path}: {}", no_read("see the queue", failure, path)),
        Ok(children) => children,
    };
    // Another recipe's contenders can't be told from other nodes.
    refusal(&children).map_or(Ok(children), |refusal| bail!("{path}: {refusal}"))
}

/// Waits until none of these contenders is left. With `nonblock` or after `until` returns a message that says who is ahead.
fn until_free(
    session: &mut BlockingSession<'_>,
    path: &LockPath,
    mut names: Vec<String>,
    nonblock: bool,
    (began, until): (BootTime, Option<BootTime>),
    line: &mut impl FnMut(Option<String>),
) -> Result<Option<Message>> {
    let mut said = String::new();
    while let Some(name) = if nonblock { names.first() } else { names.last() } {
        let node = path.child(name);
        match session.ask::<ReadNode>(Request::Watch(node.clone()))? {
            Err(RequestError::NoNode) => {}
            Err(failure) => bail!("{path}: {}", no_read("watch the contender ahead", failure, path)),
            Ok(seen) => {
                ensure!(!seen.is_permanent(), "{path}: {}", ContentionError::NotEphemeral(node.to_string()));
                let who = describe(name, seen.data(), None);
                let held_since = seen.seen().and_then(|node| held_since(&node.data, node.created));
                if nonblock {
                    return Ok(Some(Message::busy(&who, held_since, clock::host_time())));
                }
                let (position, waited) = (names.len() + 1, clock::now().since(began));
                let left = until.map(|until| clock::now().until(until));
                let waiting = Message::waiting(position, &who, waited, left);
                line(Some(format!("{path}: {waiting}")));
                let sentence = Message::waiting(position, &who, waited, None).text;
                if sentence != said {
                    output::say(path, None, &waiting);
                    said = sentence;
                }
                let changed = session.wait_for_change(until);
                line(None);
                if !changed? {
                    let is_busy = session.is_connected();
                    ensure!(is_busy, "{path}: last seen busy; no connection to the servers any more");
                    let waited = clock::now().since(began);
                    return Ok(Some(Message::gave_up(
                        waited,
                        Some(&said),
                        Some(&who),
                        held_since,
                        clock::host_time(),
                    )));
                }
            }
        }
        names = order::remaining(&list(session, path)?, &names);
    }
    Ok(None)
}

fn no_read(action: &'static str, failure: RequestError, path: &LockPath) -> ContentionError {
    ContentionError::of(failure, action, "READ", path)
}
