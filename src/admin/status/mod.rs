//! `status`: who holds the locks and who waits, once or for as long as somebody looks.

mod json;
mod table;

use std::io::{IsTerminal, stdout};

use anyhow::{Result, bail};
use nix::sys::signal::Signal;

use super::conversation::Conversation;
use super::print;
use super::survey::{Closed, Lock, locks, locks_below};
use crate::cli::{Options, StatusOptions};
use crate::core::exit::Exit;
use crate::core::lock::once::record_path;
use crate::core::path::LockPath;
use crate::runtime::zk::{Failure, Reply, Request};

/// Some lock is held, with `--exit-code`.
const HELD: u8 = 1;

/// Back to the corner, and away with all that is there.
const CLEAR_SCREEN: &str = "\x1b[H\x1b[2J\x1b[3J";

pub(super) fn run(status: &StatusOptions, options: &Options) -> Result<Exit> {
    let mut conversation = Conversation::open(options)?;
    if status.watch {
        watch(status, options, conversation)
    } else {
        let locks = look(status, &mut conversation)?;
        conversation.close();
        let exit = show(status, &locks)?;
        let held = status.exit_code && locks.iter().any(Lock::is_held);
        Ok(if held && exit == Exit::Code(0) { Exit::Code(HELD) } else { exit })
    }
}

fn look(status: &StatusOptions, conversation: &mut Conversation) -> Result<Vec<Lock>> {
    if status.recursive || status.paths.is_empty() {
        // Where a script asks, an answer that leaves something out is none.
        let closed = if status.exit_code { Closed::Refused } else { Closed::LeftOut };
        locks_below(conversation, &roots(status), closed)
    } else {
        locks(conversation, &status.paths)
    }
}

/// Where to look; bare, at everything there is.
fn roots(status: &StatusOptions) -> Vec<String> {
    match status.paths.as_slice() {
        [] => vec!["/".to_owned()],
        paths => paths.iter().map(ToString::to_string).collect(),
    }
}

/// Shows the locks again whenever something below the paths changes. The servers tell: nothing is asked before.
fn watch(status: &StatusOptions, options: &Options, mut conversation: Conversation) -> Result<Exit> {
    let mut shown = None;
    loop {
        match look_and_wait(status, &mut conversation, &mut shown) {
            Ok(None) => {}
            Ok(Some(exit)) => return Ok(exit),
            // The session has gone: another is as good.
            Err(error) if matches!(error.downcast_ref(), Some(Failure::Expired | Failure::GivenUp)) => {
                conversation = Conversation::open(options)?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Shows what there is, unless that is what is shown already, and waits for a change. An exit if nobody reads.
fn look_and_wait(
    status: &StatusOptions,
    conversation: &mut Conversation,
    shown: &mut Option<Vec<Lock>>,
) -> Result<Option<Exit>> {
    if conversation.must_watch() {
        set_watches(status, conversation)?;
    }
    let locks = look(status, conversation)?;
    if shown.as_ref() != Some(&locks) {
        if stdout().is_terminal() && !status.json {
            print(CLEAR_SCREEN.as_bytes())?;
        }
        let exit = show(status, &locks)?;
        if exit == Exit::Signal(Signal::SIGPIPE as i32) {
            return Ok(Some(exit));
        }
        *shown = Some(locks);
    }
    conversation.wait_for_change()?;
    Ok(None)
}

fn set_watches(status: &StatusOptions, conversation: &mut Conversation) -> Result<()> {
    let records = status.paths.iter().map(LockPath::as_str).map(record_path);
    let requests: Vec<Request> = roots(status).into_iter().chain(records).map(Request::WatchBelow).collect();
    for reply in conversation.ask_all(&requests)? {
        if let Reply::Watching(Err(failure)) = reply {
            bail!("can't watch: {failure}");
        }
    }
    Ok(())
}

fn show(status: &StatusOptions, locks: &[Lock]) -> Result<Exit> {
    if status.json {
        let text = json::text(locks, !status.watch)?;
        return print(format!("{text}\n").as_bytes());
    }
    print(table::text(locks, &table::Style::of_stdout()).as_bytes())
}
