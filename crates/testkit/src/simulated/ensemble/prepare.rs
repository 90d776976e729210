//! The leader's check of a write: it refuses the write or turns it into changes that every server can apply.
//!
//! The check runs against a tree that contains all changes proposed so far, committed or not.

use std::rc::Rc;

use super::tree::{Change, Stamp, Tree, Znode, parent_of};
use super::wire::{Answer, Code, Mode, Op, WireError};

/// Checks a write of a session and applies it to `tree`. Returns the changes and the answer.
pub(super) fn prepare(
    tree: &mut Tree,
    op: Op,
    session: i64,
    at: Stamp,
) -> (Vec<Change>, Result<Answer, WireError>) {
    let Op::Multi(ops) = op else {
        return match plan(tree, op, session) {
            Ok(change) => {
                let answer = change.as_ref().map_or(Answer::Done, |change| make(tree, change, at));
                (change.into_iter().collect(), Ok(answer))
            }
            Err(code) => (vec![], Err(code.into())),
        };
    };
    let (mut changes, mut answers, mut undos) = (vec![], vec![], vec![]);
    for (index, op) in ops.into_iter().enumerate() {
        match plan(tree, op, session) {
            Ok(change) => {
                undos.extend(change.as_ref().and_then(|change| tree.undo_of(change)));
                answers.push(change.as_ref().map_or(Answer::Done, |change| make(tree, change, at)));
                changes.extend(change);
            }
            Err(code) => {
                undos.into_iter().rev().for_each(|undo| tree.undo(undo));
                return (vec![], Err(WireError { code, index }));
            }
        }
    }
    (changes, Ok(Answer::Multi(answers)))
}

fn make(tree: &mut Tree, change: &Change, at: Stamp) -> Answer {
    tree.apply(change, at, |_, _| ());
    match change {
        Change::Create { path, .. } => {
            let stat = tree.get(path).map(Znode::stat).unwrap_or_default();
            Answer::Created(Rc::clone(path), stat)
        }
        Change::Set { path, .. } => Answer::Stat(tree.get(path).map(Znode::stat).unwrap_or_default()),
        _ => Answer::Done,
    }
}

fn plan(tree: &Tree, op: Op, session: i64) -> Result<Option<Change>, Code> {
    let node = |path: &str| tree.get(path).ok_or(Code::NoNode);
    match op {
        Op::Create { path, data, mode } => {
            let parent = node(parent_of(&path))?;
            let path: Rc<str> = if mode == Mode::EphemeralSequential {
                format!("{path}{:010}", parent.next_number()).into()
            } else {
                path.into()
            };
            if tree.get(&path).is_some() {
                return Err(Code::NodeExists);
            }
            if parent.is_ephemeral() {
                return Err(Code::NoChildrenForEphemerals);
            }
            let owner = if mode.is_ephemeral() { session } else { 0 };
            Ok(Some(Change::Create { path, data: data.into(), owner, is_container: mode == Mode::Container }))
        }
        Op::Delete { path, version: expected } => {
            let there = node(&path)?;
            check_version(there, expected)?;
            if !there.children.is_empty() {
                return Err(Code::NotEmpty);
            }
            Ok(Some(Change::Delete { path: path.into() }))
        }
        Op::SetData { path, data, version } => {
            let there = node(&path)?;
            check_version(there, version)?;
            Ok(Some(Change::Set { path: path.into(), data: data.into() }))
        }
        Op::Check { path, version } => {
            let there = node(&path)?;
            check_version(there, version)?;
            Ok(None)
        }
        Op::Close => Ok(Some(Change::Close { session })),
        _ => Err(Code::BadArguments),
    }
}

/// The server's own request to remove a container that once had children and is empty.
pub(super) fn plan_reaping(tree: &Tree, path: &str) -> Result<Change, Code> {
    let node = tree.get(path).ok_or(Code::NoNode)?;
    if !node.is_container {
        return Err(Code::BadArguments);
    }
    if !node.children.is_empty() {
        return Err(Code::NotEmpty);
    }
    Ok(Change::Delete { path: path.into() })
}

fn check_version(node: &Znode, version: i32) -> Result<(), Code> {
    if version == -1 || node.version() == version { Ok(()) } else { Err(Code::BadVersion) }
}
