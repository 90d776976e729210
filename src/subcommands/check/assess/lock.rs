//! Findings about the nodes of a lock: the chroot, permissions, and records of `--once-per`.

use zklock_core::text::{shell_word, without_controls};

use super::super::facts::{Chroot, ChrootState, Facts, Probe};
use super::{Finding, is_stale};
use crate::ensemble::RequestError;

/// The most locks with old records that are named.
const NAMED: usize = 3;

/// Whether the chroot exists.
pub(super) fn chroot(facts: &Facts) -> Option<Finding> {
    let Chroot { path, state } = facts.chroot.as_ref()?;
    let about = format!("chroot {path}");
    Some(match state {
        ChrootState::Unknown => return None,
        ChrootState::Exists => Finding::ok(about, "exists"),
        ChrootState::Created => Finding::ok(about, "created"),
        ChrootState::Missing => Finding::fail(about, "doesn't exist").remedy(format!(
            "create it once with 'zklock check --create-chroot -z {}', or correct the connect string",
            facts.hosts
        )),
        ChrootState::Refused(failure) => {
            Finding::fail(about, format!("doesn't exist and can't be created: {failure}"))
                .remedy("ask for the permission, or let the servers' operator create it")
        }
    })
}

/// Whether zklock has the permissions of a contender at the lock path.
pub(super) fn permissions(facts: &Facts) -> Vec<Finding> {
    let (Some(path), Some(probe)) = (&facts.path, &facts.probe) else { return vec![] };
    let Probe { parent, create, read, delete, .. } = probe;
    let remedy = match facts.credentials.as_slice() {
        [] => "ask for it, or give credentials with --auth-file".to_owned(),
        names => format!("ask for it for {}, or use other credentials", names.join(", ")),
    };
    let lacks = |permission: &str, what: &str| format!("no {permission} on {parent}, needed {what}");
    let mut findings = vec![];
    let about = "permissions";
    match create {
        Ok(_) => {}
        Err(RequestError::NoAuth) => {
            findings.push(Finding::fail(about, lacks("CREATE", "to queue")).remedy(&remedy));
        }
        Err(RequestError::Hidden) => {
            let what = "zklock can't read its own node";
            findings.push(Finding::fail(about, what).remedy("the list of --acl must give it READ"));
        }
        Err(failure) => findings.push(Finding::fail(about, format!("{path}: {failure}"))),
    }
    match read {
        None | Some(Ok(()) | Err(RequestError::NoNode)) => {}
        Some(Err(RequestError::NoAuth)) => {
            findings.push(Finding::fail(about, lacks("READ", "to see the queue")).remedy(&remedy));
        }
        Some(Err(failure)) => findings.push(Finding::fail(about, format!("{path}: {failure}"))),
    }
    // A lock path that zklock creates has the ACL of --acl, whatever the node above allows.
    if let Some(Err(failure)) = delete.as_ref().filter(|_| read.is_some()) {
        let what = match failure {
            RequestError::NoAuth => lacks(
                "DELETE",
                "to free the lock at once if zklock is killed: the next contender waits for the session timeout",
            ),
            failure => format!("{path}: {failure}"),
        };
        findings.push(Finding::warn(about, what).remedy(&remedy));
    }
    if findings.is_empty() {
        let permissions = if read.is_some() { "CREATE, READ and DELETE" } else { "CREATE and DELETE" };
        findings.push(Finding::ok(about, format!("{permissions} on {parent}")));
    }
    findings
}

/// The reason why contenders refuse the queue, if there is one. Its message names the remedy.
pub(super) fn queue(facts: &Facts) -> Option<Finding> {
    facts.queue.as_ref().map(|error| Finding::fail("queue", error.to_string()))
}

fn forget(lock: &str) -> String {
    format!("zklock forget {}", shell_word(&without_controls(lock)))
}

/// Records of locks that may be unused.
pub(super) fn stale_records(facts: &Facts) -> Option<Finding> {
    let stale: Vec<_> = facts.records.iter().filter(|record| is_stale(record)).collect();
    let oldest = stale.first()?;
    let days = oldest.age.as_secs() / (24 * 60 * 60);
    let what = format!(
        "records of --once-per of locks that last succeeded more than 30 days ago: {}, the oldest {days} days ago",
        stale.len()
    );
    let mut commands: Vec<_> = stale.iter().take(NAMED).map(|record| forget(&record.lock)).collect();
    if stale.len() > NAMED {
        commands.push(format!("and so on for {} more", stale.len() - NAMED));
    }
    let remedy = format!("if these locks are no longer used: {}", commands.join("; "));
    Some(Finding::warn("records", what).remedy(remedy))
}
