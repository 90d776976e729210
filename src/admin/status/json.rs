//! The JSON of `status`. `docs/status-json.md` specifies it: `version` changes if a field is removed or changes its
//! meaning, and new fields may be added at any time.

use anyhow::Result;
use serde::Serialize;

use super::super::listing::{ListedContender, Lock, Success};
use super::super::neighbours::Neighbour;

const VERSION: u32 = 1;

#[derive(Serialize)]
struct StatusDocument<'a> {
    version: u32,
    locks: Vec<LockEntry<'a>>,
}

#[derive(Serialize)]
struct LockEntry<'a> {
    path: &'a str,
    contenders: Option<Vec<ContenderEntry<'a>>>,
    neighbours: Vec<NeighbourEntry<'a>>,
    last_success: Option<SuccessEntry<'a>>,
}

#[derive(Serialize)]
struct ContenderEntry<'a> {
    position: usize,
    state: &'static str,
    stopped: bool,
    mode: &'static str,
    slots: u32,
    host: Option<&'a str>,
    pid: Option<u32>,
    user: Option<&'a str>,
    program: Option<&'a str>,
    label: Option<&'a str>,
    since: Option<String>,
    held_since: Option<String>,
    fencing_token: Option<i64>,
    session: Option<String>,
    node: &'a str,
    naming: String,
    revoked_by: Option<&'a str>,
}

#[derive(Serialize)]
struct NeighbourEntry<'a> {
    recipe: &'static str,
    host: Option<&'a str>,
    label: Option<&'a str>,
    since: Option<String>,
    session: Option<String>,
    node: &'a str,
}

#[derive(Serialize)]
struct SuccessEntry<'a> {
    at: Option<String>,
    host: Option<&'a str>,
    pid: Option<u32>,
    fencing_token: Option<i64>,
}

/// The document, on several lines if `pretty`, or else on one line.
pub(super) fn text(locks: &[Lock], pretty: bool) -> Result<String> {
    let document = StatusDocument { version: VERSION, locks: locks.iter().map(entry).collect() };
    Ok(if pretty { serde_json::to_string_pretty(&document)? } else { serde_json::to_string(&document)? })
}

fn entry(lock: &Lock) -> LockEntry<'_> {
    LockEntry {
        path: &lock.path,
        contenders: lock.contenders.as_ref().map(|contenders| contenders.iter().map(contender).collect()),
        neighbours: lock.neighbours.iter().map(neighbour).collect(),
        last_success: lock.last_success.as_ref().map(success),
    }
}

fn contender(contender: &ListedContender) -> ContenderEntry<'_> {
    let owner = &contender.owner;
    ContenderEntry {
        position: contender.position,
        state: if contender.holds { "held" } else { "waiting" },
        stopped: owner.stopped,
        mode: contender.mode.word(),
        slots: contender.mode.slots(),
        host: owner.host.as_deref(),
        pid: owner.pid,
        user: owner.user.as_deref(),
        program: owner.program.as_deref(),
        label: owner.label.as_deref(),
        since: contender.since.map(|since| since.to_string()),
        held_since: contender.held_since.map(|since| since.to_string()),
        fencing_token: contender.fencing_token,
        session: contender.session.map(session),
        node: contender.node.as_str(),
        naming: contender.family.to_string(),
        revoked_by: owner.revoked_by.as_deref(),
    }
}

fn neighbour(neighbour: &Neighbour) -> NeighbourEntry<'_> {
    NeighbourEntry {
        recipe: neighbour.recipe.word(),
        host: neighbour.owner.host.as_deref(),
        label: neighbour.owner.label.as_deref(),
        since: neighbour.since.map(|since| since.to_string()),
        session: neighbour.session.map(session),
        node: &neighbour.node,
    }
}

/// The session id in hexadecimal, as in ZooKeeper's own tools. It is a string because JavaScript can't represent a
/// number of this size exactly.
fn session(id: i64) -> String {
    format!("{id:#x}")
}

fn success(success: &Success) -> SuccessEntry<'_> {
    SuccessEntry {
        at: success.at.map(|at| at.to_string()),
        host: success.owner.host.as_deref(),
        pid: success.owner.pid,
        fencing_token: success.fencing_token,
    }
}
