//! `revoke`: asks contenders to stop, or deletes their nodes.

use std::fmt::Write;
use std::process;

use anyhow::{Result, bail, ensure};
use serde_json::Value;
use zklock_core::exit::Exit;
use zklock_core::path::LockPath;
use zklock_core::queue::name::Family;
use zklock_core::queue::record::{CURATOR_REVOKES, Record, revocation};
use zklock_core::text::{shell_word, without_controls};

use super::listing::{ListedContender, State, lock_of, locks};
use super::print;
use super::session;
use crate::cli::{Options, RevokeOptions};
use crate::ensemble::{BlockingSession, Node, ReadNode, Request, RequestError, ServerTime};
use crate::output;
use crate::process::identity::host;

/// The exit code if there is no contender to revoke, as of pkill(1).
const NO_CONTENDER: u8 = 1;

/// What an earlier call has done.
const ASKED_BEFORE: &str = "was asked to stop before";

/// The most attempts to write a node that changes between read and write.
const MOST_TRIES: usize = 10;

pub(super) fn run(revoke: &RevokeOptions, options: &Options) -> Result<Exit> {
    let text = session::in_session(options, |session| revoke_in(session, revoke))?;
    match text {
        None => Ok(Exit::Code(NO_CONTENDER)),
        Some(_) if options.quiet => Ok(Exit::Code(0)),
        Some(text) => print(text.as_bytes()),
    }
}

/// Revokes, and returns what to print; `None` if there is no contender to revoke.
fn revoke_in(session: &mut BlockingSession<'_>, revoke: &RevokeOptions) -> Result<Option<String>> {
    let path = &revoke.path;
    let mut listing = match &revoke.node {
        Some(node) => lock_of(session, path, node)?,
        None => locks(session, std::slice::from_ref(path))?,
    };
    let Some(contenders) = listing.locks.pop().and_then(|lock| lock.contenders) else {
        bail!("{path}: no permission to look there (READ): ask for it, or use other credentials");
    };
    let chosen = choose(revoke, contenders)?;
    if chosen.is_empty() {
        let nobody = if revoke.waiting { "nobody waits for it" } else { "it is free" };
        let why = revoke.node.as_deref().map_or_else(
            || nobody.to_owned(),
            |node| {
                format!(
                    "no contender has the node {}; 'zklock status {}' shows who there is",
                    without_controls(node),
                    shell_word(path.as_str())
                )
            },
        );
        output::error(path, why);
        return Ok(None);
    }
    if !revoke.force {
        chosen.iter().try_for_each(can_be_asked)?;
    }
    let mut text = String::new();
    for contender in &chosen {
        let result = if revoke.force { delete(session, contender)? } else { ask(session, contender)? };
        let who = description(contender);
        if result == ASKED_BEFORE {
            let text = "it may be dead: then its node goes when its session times out, or now by --force";
            output::warn(path, format!("{who}: {text}"));
        } else if !revoke.force && contender.owner.pid.is_none() {
            let text =
                "if it isn't a Curator lock that can be revoked, nobody reads that; --force deletes its node";
            output::warn(path, format!("{who}: {text}"));
        }
        let _ = writeln!(text, "{path}: {who}: {result}");
    }
    Ok(Some(text))
}

/// The contenders that the options select.
fn choose(revoke: &RevokeOptions, contenders: Vec<ListedContender>) -> Result<Vec<ListedContender>> {
    let path: &LockPath = &revoke.path;
    if revoke.waiting {
        let waiters = contenders.into_iter().filter(|contender| contender.state == State::Waiting);
        return Ok(waiters.rev().collect());
    }
    if revoke.all {
        // From the end of the queue, so that no contender acquires the lock meanwhile.
        return Ok(contenders.into_iter().rev().collect());
    }
    if let Some(node) = &revoke.node {
        let node = path.child(node);
        return Ok(contenders.into_iter().filter(|contender| contender.node == node).collect());
    }
    // A node that no session owns is in a holder's place: `ask` explains what to do with it.
    let is_first = |contender: &ListedContender| {
        matches!(contender.state, State::Held | State::Unowned { is_first: true })
    };
    let holders: Vec<ListedContender> = contenders.into_iter().filter(is_first).collect();
    ensure!(holders.len() < 2, "{path}: {} hold it; name one with --node, or all with --all", holders.len());
    Ok(holders)
}

/// Fails if the contender can't be asked: only zklock and Curator can be.
fn can_be_asked(contender: &ListedContender) -> Result<()> {
    ensure!(
        contender.family != Family::Kazoo || contender.owner.pid.is_some(),
        "{}: kazoo's locks have no way to be asked; --force deletes the node",
        without_controls(contender.node.as_str())
    );
    Ok(())
}

/// Writes the mark into the contender's node, which its owner watches. Returns the result, for the message.
fn ask(session: &mut BlockingSession<'_>, contender: &ListedContender) -> Result<&'static str> {
    // Written already, if the answer was lost.
    let mut sent = None;
    for _ in 0..MOST_TRIES {
        if contender.is_hidden() {
            return refused(contender, RequestError::NoAuth, "READ and WRITE on its node");
        }
        let Some(node) = read(session, contender)? else { return Ok("gone already") };
        ensure!(
            !node.is_permanent(),
            "{}: no session owns it, so nobody can be asked; --force deletes the node",
            without_controls(contender.node.as_str())
        );
        if revocation(&node.data).is_some() {
            let is_own = sent.is_some_and(|sent| sent == node.data);
            return Ok(if is_own { "asked to stop" } else { ASKED_BEFORE });
        }
        let marked = marked(&node.data);
        let write = Request::Write(contender.node.clone(), marked.clone(), node.version);
        match session.ask::<ServerTime>(write)? {
            Ok(_) => return Ok("asked to stop"),
            Err(RequestError::ConnectionLost) => sent = Some(marked),
            Err(RequestError::NoNode) => return Ok("gone already"),
            Err(RequestError::Changed) => {}
            Err(failure) => return refused(contender, failure, "WRITE on its node"),
        }
    }
    bail!("{}: it changed on every attempt; try again", without_controls(contender.node.as_str()))
}

/// Deletes the node, if it is still the one that was chosen. Returns the result, for the message.
fn delete(session: &mut BlockingSession<'_>, contender: &ListedContender) -> Result<&'static str> {
    if contender.is_hidden() {
        return delete_unread(session, contender);
    }
    // Deleted already, if the answer was lost.
    let mut sent = false;
    for _ in 0..MOST_TRIES {
        let Some(node) = read(session, contender)? else {
            return Ok(if sent { "its node is deleted" } else { "gone already" });
        };
        match session.ask(Request::DeleteUnchanged(contender.node.clone(), node.version))? {
            Ok(()) => return Ok("its node is deleted"),
            Err(RequestError::NoNode) => return Ok("gone already"),
            Err(RequestError::Changed) => {}
            Err(RequestError::ConnectionLost) => sent = true,
            Err(failure) => return refused(contender, failure, "DELETE on the lock path"),
        }
    }
    bail!("{}: it changed on every attempt; try again", without_controls(contender.node.as_str()))
}

/// Deletes a node that can't be read, however often the answer is lost. Its name can't be another contender's, because
/// the sequence number is part of it.
fn delete_unread(session: &mut BlockingSession<'_>, contender: &ListedContender) -> Result<&'static str> {
    match session::delete_any_version(session, &contender.node)? {
        Ok(true) => Ok("its node is deleted"),
        Ok(false) => Ok("gone already"),
        Err(failure) => refused(contender, failure, "DELETE on the lock path"),
    }
}

/// Reads the node again. `None` if it is gone, or has been replaced by one with the same name.
fn read(session: &mut BlockingSession<'_>, contender: &ListedContender) -> Result<Option<Node>> {
    match session.ask(Request::Get(contender.node.clone()))? {
        Ok(ReadNode::Hidden) => refused(contender, RequestError::NoAuth, "READ on its node"),
        Ok(ReadNode::Seen(node)) => Ok((Some(node.czxid) == contender.fencing_token).then_some(node)),
        Err(RequestError::NoNode) => Ok(None),
        Err(failure) => bail!("{}: {failure}", without_controls(contender.node.as_str())),
    }
}

/// The node's data with the mark added: `revoked_by` in zklock's JSON, or else Curator's `__REVOKE__` in place of it.
fn marked(data: &[u8]) -> Vec<u8> {
    let json = Record::from_bytes(data).and_then(|_| serde_json::from_slice::<Value>(data).ok());
    let Some(Value::Object(mut record)) = json else {
        return CURATOR_REVOKES.to_vec();
    };
    record.insert("revoked_by".to_owned(), Value::String(format!("{}:{}", host(), process::id())));
    Value::Object(record).to_string().into_bytes()
}

fn refused<T>(contender: &ListedContender, failure: RequestError, permission: &str) -> Result<T> {
    let node = without_controls(contender.node.as_str());
    match failure {
        RequestError::NoAuth => {
            bail!("{node}: no permission: it takes {permission}; ask for it, or use other credentials")
        }
        failure => bail!("{node}: {failure}"),
    }
}

fn description(contender: &ListedContender) -> String {
    if contender.is_hidden() {
        return format!("{} (hidden)", without_controls(contender.node.as_str()));
    }
    let name = without_controls(contender.node.name());
    match (contender.owner.place().as_str(), contender.owner.work()) {
        ("-", "-") => format!("node {name}"),
        ("-", known) | (known, "-") => format!("{known} (node {name})"),
        (place, work) => format!("{place} ({work})"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use zklock_core::queue::name::Mode;

    use super::*;
    use crate::process::identity;

    #[test]
    fn a_mark_keeps_the_record_and_adds_the_host_and_pid_that_ask() {
        let record = identity::record(
            nix::unistd::Pid::from_raw(7),
            Path::new("/bin/true"),
            Some("x".to_owned()),
            Mode::Exclusive,
            || {},
        );
        let marked = marked(&record.to_bytes());
        assert_eq!(revocation(&marked), Some(Some(format!("{}:{}", host(), process::id()))));
        let read = Record::from_bytes(&marked).unwrap();
        assert_eq!(Record { revoked_by: None, ..read }, record);
    }

    #[test]
    fn nodes_of_other_programs_get_curator_s_mark() {
        for data in [&b"10.0.0.1"[..], b"", b"{\"json\": \"of somebody else\"}"] {
            assert_eq!(marked(data), CURATOR_REVOKES);
        }
    }
}
