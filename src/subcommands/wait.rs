//! `wait`: returns when locks are free of all that held them or queued for them when it began. It takes no lock and writes
//! nothing.
//!
//! The names of the first listing are awaited, so that later contenders never count, whatever happens to the connection and
//! the session. Only the last of them is watched: usually the others are gone before it.

use std::{env, slice};

use anyhow::{Result, bail, ensure};
use zklock_core::environment::{HELD, held_outside};
use zklock_core::exit::Exit;
use zklock_core::message::Message;
use zklock_core::path::LockPath;
use zklock_core::queue::contender::ContentionError;
use zklock_core::queue::name::{Family, Name};
use zklock_core::queue::order::queue_entries;
use zklock_core::queue::other_recipes;
use zklock_core::queue::record::{describe, held_since};
use zklock_core::time::BootTime;

use super::session::{in_session_of, line};
use crate::cli::{Options, WaitOptions};
use crate::ensemble::{BlockingSession, Limit, Reply, Request, RequestError, Settings};
use crate::output;
use crate::process::clock;

pub(super) fn run(wait: &WaitOptions, options: &Options) -> Result<Exit> {
    let mut lock = options.lock.clone();
    (lock.nonblock, lock.timeout) = (lock.nonblock || wait.nonblock, wait.timeout.or(lock.timeout));
    let nonblock = lock.gives_up_at_once();
    let (limit, option) = lock.connect_limit(options.connection.connect_timeout);
    let began = clock::now();
    let until = (nonblock || option == "-w").then(|| began + limit);
    let mut settings = Settings::new(&options.connection, began + limit)?;
    settings.refusals_end = nonblock;
    in_session_of(options, settings, Limit::Until(until), (limit, option), |session| {
        // All of them before the first wait: contenders that come later don't count.
        for (path, names) in first_listings(session, &wait.paths)? {
            let busy = until_free(session, path, names, nonblock, (began, until), &mut line(options))?;
            let free = || Message::Free { after: clock::now().since(began) };
            output::say(path, None, busy.as_ref().unwrap_or(&free()));
            if busy.is_some() {
                return Ok(Exit::Code(wait.conflict_exit_code.unwrap_or(lock.conflict_exit_code)));
            }
        }
        Ok(Exit::Code(0))
    })
}

/// All that hold the locks or queue for them now. Inside a command that holds a lock only those ahead of it: those behind wait
/// for its end.
fn first_listings<'a>(
    session: &mut BlockingSession<'_>,
    paths: &'a [LockPath],
) -> Result<Vec<(&'a LockPath, Vec<String>)>> {
    let outer = held_outside(env::var_os(HELD).as_deref());
    let is_outer = |name: &Name<'_>| outer.iter().any(|held| held.node.ends_with(&format!("/{}", name.text)));
    let awaited = |(path, children): (&'a LockPath, Vec<String>)| {
        // Another recipe's contenders can't be told from other nodes.
        if let Some(refusal) = other_recipes::refusal(&children) {
            bail!("{path}: {refusal}");
        }
        let names = queue(&children).take_while(|name| !is_outer(name)).map(|name| name.text.to_owned());
        Ok((path, names.collect()))
    };
    paths.iter().zip(list(session, paths)?).map(awaited).collect()
}

/// The children of these paths. The server catches up before: one that lags behind must not hide a holder.
fn list(session: &mut BlockingSession<'_>, paths: &[LockPath]) -> Result<Vec<Vec<String>>> {
    let requests: Vec<_> = paths.iter().map(|path| Request::CatchUpAndList(path.node())).collect();
    let replies = session.ask_all(&requests)?;
    let children = |(path, reply)| match reply {
        Reply::Listed(Ok(children)) => Ok(children),
        // Nobody can hold a lock that doesn't exist.
        Reply::Listed(Err(RequestError::NoNode)) => Ok(vec![]),
        Reply::Listed(Err(failure)) => {
            bail!("{path}: {}", ContentionError::of(failure, "see the queue", "READ", path))
        }
        reply => bail!("{path}: an answer to another question: {reply:?}"),
    };
    paths.iter().zip(replies).map(children).collect()
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
    let mut said = None;
    while let Some(name) = if nonblock { names.first() } else { names.last() } {
        match session.watch(path.child(name))? {
            Ok(node) if node.is_permanent() => {
                bail!("{path}: {}", ContentionError::NotEphemeral(path.child(name).to_string()))
            }
            Ok(node) => {
                let who = describe(name, node.data(), None);
                let held_since = node.seen().and_then(|node| held_since(&node.data, node.created));
                if nonblock {
                    return Ok(Some(Message::Busy { holder: who, held_since }));
                }
                let (position, waited) = (names.len() + 1, || clock::now().since(began));
                let waiting = |left| Message::Waiting {
                    position,
                    predecessor: who.clone(),
                    waited: waited(),
                    left,
                    again: false,
                };
                let told = waiting(until.map(|until| clock::now().until(until)));
                if said.as_ref() != Some(&(names.len(), who.clone())) {
                    output::say(path, None, &told);
                }
                line(Some(format!("{path}: {told}")));
                let changed = session.wait_for_change(until);
                line(None);
                if !changed? {
                    ensure!(
                        session.is_connected(),
                        "{path}: last seen busy; no connection to the servers any more"
                    );
                    let state = Some(waiting(None).to_string());
                    let (waited, predecessor) = (waited(), Some(who));
                    return Ok(Some(Message::GaveUp {
                        waited,
                        state,
                        is_busy: true,
                        predecessor,
                        held_since,
                    }));
                }
                said = Some((names.len(), who));
            }
            Err(RequestError::NoNode) => {}
            Err(failure) => {
                bail!("{path}: {}", ContentionError::of(failure, "watch the contender ahead", "READ", path))
            }
        }
        let children = list(session, slice::from_ref(path))?.concat();
        let is_awaited = |name: &Name<'_>| names.iter().any(|awaited| is_same(awaited, name));
        names = queue(&children).filter(is_awaited).map(|name| name.text.to_owned()).collect();
    }
    Ok(None)
}

fn queue(children: &[String]) -> impl Iterator<Item = Name<'_>> {
    queue_entries(children).into_iter().map(|entry| entry.name)
}

/// Whether this is the awaited contender. A writer of Curator's that steps down goes on as a reader with its number.
fn is_same(awaited: &str, name: &Name<'_>) -> bool {
    let steps_down = |awaited: Name<'_>| awaited.family == name.family && awaited.sequence == name.sequence;
    awaited == name.text || name.family == Family::CuratorRw && Name::parse(awaited).is_some_and(steps_down)
}
