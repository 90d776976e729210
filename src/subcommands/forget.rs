//! `forget`: deletes the record of a lock's last success, so that the next `--once-per` run is due.

use anyhow::{Result, bail};
use zklock_core::exit::Exit;
use zklock_core::queue::once::record_path;
use zklock_core::text::without_controls;

use super::owner::Owner;
use super::print;
use super::session;
use crate::cli::{ForgetOptions, Options};
use crate::ensemble::{BlockingSession, NodePath, ReadNode, Request, RequestError};

pub(super) fn run(forget: &ForgetOptions, options: &Options) -> Result<Exit> {
    let path = &forget.path;
    let record = record_path(path.as_str());
    let message = session::in_session(options, |session| match read(session, &record)? {
        Some(node) if delete(session, &record)? => Ok(format!(
            "{path}: forgot the last success{}; the next --once-per run is due\n",
            success_details(&node)
        )),
        _ => Ok(format!("{path}: no success is recorded\n")),
    })?;
    if options.quiet { Ok(Exit::Code(0)) } else { print(message.as_bytes()) }
}

/// Reads the record, if there is one. A record without READ is returned as hidden: zklock may be able to delete it.
fn read(session: &mut BlockingSession<'_>, record: &NodePath) -> Result<Option<ReadNode>> {
    match session.ask(Request::Get(record.clone()))? {
        Ok(node) => Ok(Some(node)),
        Err(RequestError::NoAuth) => Ok(Some(ReadNode::Hidden)),
        Err(RequestError::NoNode) => Ok(None),
        Err(failure) => bail!("{}: {failure}", without_controls(record.as_str())),
    }
}

/// Deletes a record that exists. Returns `false` if another client has deleted it meanwhile.
fn delete(session: &mut BlockingSession<'_>, record: &NodePath) -> Result<bool> {
    let parent = Some(record.split().0).filter(|parent| !parent.is_empty()).unwrap_or("/");
    match session::delete_any_version(session, record)? {
        Ok(existed) => Ok(existed),
        Err(RequestError::NoAuth) => bail!(
            "{}: no permission to delete it: it takes DELETE on {parent}; ask for it, or use other credentials",
            without_controls(record.as_str())
        ),
        Err(failure) => bail!("{}: {failure}", without_controls(record.as_str())),
    }
}

/// The time and the host of the recorded success, for the message; empty if the record can't be read.
fn success_details(record: &ReadNode) -> String {
    let Some(node) = record.seen() else { return String::new() };
    match Owner::of(&node.data).place() {
        place if place == "-" => format!(", {}", node.modified),
        place => format!(", {} on {place}", node.modified),
    }
}
