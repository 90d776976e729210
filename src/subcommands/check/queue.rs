//! Checks the queue of the lock path for the reasons for which a contender refuses it.

use std::ffi::OsStr;

use zklock_core::path::LockPath;
use zklock_core::queue::contender::{ContentionError, Inspection, InspectionResult};
use zklock_core::queue::name::{Mode, Name};
use zklock_core::queue::order::{self, Decision, QueueError};

use super::facts::{Facts, Probe};
use crate::ensemble::{BlockingError, BlockingSession};

/// The most contenders that are read.
const MOST: usize = 1_000;

/// Sets `facts.queue` if every contender would refuse the queue. A path that doesn't exist or can't be listed has no
/// queue to check.
pub(super) fn check(facts: &mut Facts, session: &mut BlockingSession<'_>) -> Result<(), BlockingError> {
    let chroot = facts.chroot.as_ref().map(|chroot| chroot.path.clone()).unwrap_or_default();
    let path = facts.path.as_ref().map(|path| format!("{chroot}{path}"));
    let Some(lock) = path.and_then(|path| LockPath::parse(OsStr::new(&path)).ok()) else { return Ok(()) };
    let Some(Probe { read: Some(Ok(())), number, .. }) = facts.probe else { return Ok(()) };
    let Ok(children) = session.list(lock.node())? else { return Ok(()) };
    facts.queue = match other_recipe(session, &lock, &children)? {
        Some(error) => Some(error),
        None => match order::decide_as_next(&children, facts.family, Mode::Exclusive) {
            // Another kind of contenders isn't a finding, because check doesn't know which kind will contend.
            Decision::Refuse(refusal) if !matches!(refusal, QueueError::OtherKind { .. }) => {
                Some(refusal.into())
            }
            _ => not_ephemeral(session, &lock, &chroot, &children, number)?,
        },
    };
    Ok(())
}

fn other_recipe(
    session: &mut BlockingSession<'_>,
    lock: &LockPath,
    children: &[String],
) -> Result<Option<ContentionError>, BlockingError> {
    let Some(mut inspection) = Inspection::of(children) else { return Ok(None) };
    let mut result = inspection.begin(lock);
    while let InspectionResult::Ask(requests) = result {
        result = InspectionResult::Clean;
        for reply in session.ask_all(&requests)? {
            result = inspection.take(lock, reply);
            if matches!(result, InspectionResult::Fail(_)) {
                break;
            }
        }
    }
    Ok(match result {
        InspectionResult::Fail(error) => Some(error),
        _ => None,
    })
}

/// The first node that isn't ephemeral and isn't behind the next contender.
///
/// The probe's `number` shows which number is next. The parent's `cversion` would too, but it counts creates and
/// deletes, so it only shows the number together with the number of children. A node with the next number is an obstacle
/// as well: the next contender refuses it as a tie, and the ones after that are behind it.
fn not_ephemeral(
    session: &mut BlockingSession<'_>,
    lock: &LockPath,
    chroot: &str,
    children: &[String],
    number: Option<i32>,
) -> Result<Option<ContentionError>, BlockingError> {
    let next = number.map(|number| number.saturating_add(1));
    let may_be_ahead = |name: Name<'_>| next.is_none_or(|next| name.sequence <= next);
    let contenders = children.iter().filter(|child| Name::parse(child).is_some_and(may_be_ahead)).take(MOST);
    let read = session.get_all(contenders.map(|child| lock.child(child)))?;
    Ok(read.into_iter().find_map(|(path, answer)| match answer {
        Ok(node) if node.is_permanent() => {
            let shown = path.as_str().strip_prefix(chroot).unwrap_or(path.as_str());
            Some(ContentionError::NotEphemeral(shown.to_owned()))
        }
        _ => None,
    }))
}
