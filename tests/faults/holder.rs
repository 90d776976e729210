//! Holders whose jobs give signs of life, and checks of both.

use crate::support::{Case, DEADLINE, History, Proxy, Running, Section, Zklock, op, wait_until};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How many confirmations besides the create are answered before the lease is in its steady state: it then no longer
/// counts from the start of the session, but from a confirmation that is five twelfths of the session timeout before
/// the newest, or more.
pub(super) const STEADY: usize = 5;

/// Nanoseconds since 1970, as in a history.
pub(crate) fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()
}

/// A zklock with a steady job called `name`, whose shell runs `after` at its end.
pub(super) fn steady(case: &Case, history: &History, options: &[&str], name: &str, after: &str) -> Zklock {
    case.lock(options, ["bash", "-c", &format!("{}; {after}", history.steady_job(name))])
}

/// The same, with a job that only KILL can end early.
pub(super) fn deaf(case: &Case, history: &History, options: &[&str], name: &str) -> Zklock {
    case.lock(options, ["bash", "-c", &format!("trap '' TERM; {}", history.steady_job(name))])
}

/// Waits until the job called `name` gives signs of life.
#[track_caller]
pub(super) fn wait_for_job(running: &Running, history: &History, name: &str) {
    let begun = || history.sections().unwrap().iter().any(|section| section.name == name);
    wait_until(&format!("{name} to run; {}", running.stderr().text()), DEADLINE, begun);
}

/// The only section of this name.
#[track_caller]
pub(super) fn section(history: &History, name: &str) -> Section {
    let mut found = history.sections().unwrap();
    found.retain(|section| section.name == name);
    assert_eq!(found.len(), 1, "{name} ran more than once, or not at all: {found:?}");
    found.remove(0)
}

/// How many confirmations were answered on all of these links.
pub(super) fn confirmations<'a>(links: impl IntoIterator<Item = &'a Proxy>) -> usize {
    links.into_iter().map(|link| link.answered(op::MULTI)).sum()
}

/// Waits until the leases of the zklocks behind a link are in their steady state, in which they are as short as they
/// get. No other zklocks may use the link.
#[track_caller]
pub(crate) fn wait_until_steady(link: &Proxy, zklocks: usize) {
    wait_until("a steady rhythm", DEADLINE, || confirmations([link]) >= STEADY * zklocks);
}

/// Checks that the job was stopped, and was dead seven twelfths of a session timeout after `since`: in the steady
/// state, its lease is over by then.
#[track_caller]
pub(super) fn assert_dead_in_time(history: &History, name: &str, since: u128, session_timeout: Duration) {
    let section = section(history, name);
    let lived = section.last.saturating_sub(Duration::from_nanos_u128(since));
    assert!(!section.ended, "it was to be stopped: {section:?}");
    assert!(lived < session_timeout * 7 / 12, "{name} lived {lived:?} after the last confirmation");
}
