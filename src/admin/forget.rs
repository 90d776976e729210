//! `forget`: deletes the record of a lock's last success, so that the next `--once-per` run is due.

use anyhow::{Context, Result, bail};

use super::conversation::Conversation;
use super::owner::Owner;
use super::print;
use crate::cli::{ForgetOptions, Options};
use crate::core::exit::Exit;
use crate::core::lock::once::record_path;
use crate::core::words::without_controls;
use crate::runtime::zk::{Failure, Node, NodePath, Reply, Request};

/// A connection that is lost as often as this won't get an answer through.
const MOST_TRIES: usize = 10;

pub(super) fn run(forget: &ForgetOptions, options: &Options) -> Result<Exit> {
    let path = &forget.path;
    let record = record_path(path.as_str());
    let mut conversation = Conversation::open(options)?;
    conversation.check_chroot(options).with_context(|| path.to_string())?;
    let told = match read(&mut conversation, &record)? {
        Some(node) if delete(&mut conversation, &record)? => {
            format!("{path}: forgot the last success{}; the next --once-per run is due\n", of(&node))
        }
        _ => format!("{path}: no success is recorded\n"),
    };
    conversation.close();
    if options.ensemble.quiet { Ok(Exit::Code(0)) } else { print(told.as_bytes()) }
}

/// The record, if there is one. A record that may not be read may still be deleted.
fn read(conversation: &mut Conversation, record: &NodePath) -> Result<Option<Node>> {
    match conversation.ask(Request::Get(record.clone()))? {
        Reply::Read(_, Ok(node)) => Ok(Some(node)),
        Reply::Read(_, Err(Failure::NoAuth)) => Ok(Some(Node::HIDDEN)),
        Reply::Read(_, Err(Failure::NoNode)) => Ok(None),
        Reply::Read(_, Err(failure)) => bail!("{}: {failure}", without_controls(record.as_str())),
        other => bail!("an answer to another question: {other:?}"),
    }
}

/// Deletes a record that was seen. `false`: it was gone, and not by an earlier try of this function.
fn delete(conversation: &mut Conversation, record: &NodePath) -> Result<bool> {
    let parent = Some(record.split().0).filter(|parent| !parent.is_empty()).unwrap_or("/");
    for tries in 0..MOST_TRIES {
        match conversation.ask(Request::Delete(record.clone()))? {
            Reply::Deleted(Ok(())) => return Ok(true),
            Reply::Deleted(Err(Failure::NoNode)) => return Ok(tries > 0),
            Reply::Deleted(Err(Failure::ConnectionLost)) => {}
            Reply::Deleted(Err(Failure::NoAuth)) => bail!(
                "{}: no permission to delete it: it takes DELETE on {parent}; ask for it, or use other credentials",
                without_controls(record.as_str())
            ),
            Reply::Deleted(Err(failure)) => bail!("{}: {failure}", without_controls(record.as_str())),
            other => bail!("an answer to another question: {other:?}"),
        }
    }
    bail!(
        "{}: the connection was lost {MOST_TRIES} times before an answer came",
        without_controls(record.as_str())
    )
}

/// When the success was, and whose, as far as the record can be read.
fn of(node: &Node) -> String {
    if node.is_hidden() {
        return String::new();
    }
    match Owner::of(&node.data).place() {
        place if place == "-" => format!(", {}", node.modified),
        place => format!(", {} on {place}", node.modified),
    }
}
