//! Finds records of `--once-per`: each lock that has ever used it has one, until it is deleted by `zklock forget`.

use zklock_core::queue::once::recorded_lock;

use super::facts::{Facts, OldRecord};
use crate::ensemble::{BlockingError, BlockingSession, ServerTime};

/// The most records that are read.
const MOST: usize = 1_000;

/// Adds the records beside the lock and below it to the facts, oldest first, except for those that can't be read.
pub(super) fn find(facts: &mut Facts, session: &mut BlockingSession<'_>) -> Result<(), BlockingError> {
    let chroot = facts.chroot.as_ref().map(|chroot| chroot.path.clone()).unwrap_or_default();
    let path = facts.path.clone().unwrap_or_default();
    let parent = path.rsplit_once('/').map(|(parent, _)| parent.to_owned());
    let mut locks = vec![];
    for directory in parent.into_iter().chain([path]) {
        let node = format!("{chroot}{directory}");
        let node = if node.is_empty() { "/".to_owned() } else { node };
        if let Ok(children) = session.list(node.into())? {
            let found = children.into_iter().filter(|child| recorded_lock(child).is_some());
            locks.extend(found.map(|child| format!("{directory}/{child}")));
        }
    }
    locks.truncate(MOST);
    let records = locks.iter().map(|record| format!("{chroot}{record}").into());
    let read = session.get_all(records)?;
    let now = ServerTime(facts.now.0 + facts.clock_ahead().unwrap_or(0));
    for (record, (_, answer)) in locks.iter().zip(read) {
        if let Ok(node) = answer
            && let Some(node) = node.seen()
            && let Some((directory, name)) = record.rsplit_once('/')
            && let Some(lock) = recorded_lock(name)
        {
            let (lock, last_success) = (format!("{directory}/{lock}"), node.modified);
            facts.records.push(OldRecord { lock, last_success, age: last_success.until(now) });
        }
    }
    facts.records.sort_by_key(|record| record.last_success);
    Ok(())
}
