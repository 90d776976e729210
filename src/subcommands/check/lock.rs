//! The questions that are asked in a session: its timeout, the connection's speed, the chroot, permissions, and the clock.

use std::time::Duration;

use serde_json::json;
use uuid::Uuid;
use zklock_core::duration;
use zklock_core::lease::latency::{is_quick_enough, silence_ridden_out, smallest_timeout};
use zklock_core::path::NodePath;
use zklock_core::text;
use zklock_core::time::BootTime;

use super::report::Report;
use crate::cli::CheckOptions;
use crate::ensemble::{Answer, BlockingError, BlockingSession, ReadNode, Request, RequestError, ServerTime};
use crate::process::clock;

/// How many quorum writes are timed.
const TRIPS: usize = 5;

/// A greater difference between the clocks, in milliseconds, is a warning.
const MOST_APART: u64 = 5_000;

/// As much data as a contender's node has: a server may limit the size of a request.
const DATA: [u8; 400] = [b' '; 400];

pub(super) struct Questions<'a, 'b> {
    pub(super) check: &'a CheckOptions,
    pub(super) hosts: &'a str,
    pub(super) chroot: Option<&'a str>,
    /// The session timeout that the servers granted.
    pub(super) granted: Duration,
    pub(super) kill_after: Duration,
    pub(super) session: &'a mut BlockingSession<'b>,
    pub(super) report: &'a mut Report,
}

impl Questions<'_, '_> {
    pub(super) fn ask(&mut self, asked: Duration) -> Result<(), BlockingError> {
        self.session_timeout(asked);
        self.report.facts.chroot = json!(self.chroot.map(|path| json!({ "path": path, "exists": null })));
        self.latency()?;
        if self.has_chroot()? {
            let server_time = self.permissions()?;
            self.clock(server_time);
        }
        Ok(())
    }

    /// Whether the servers grant the session timeout, and accept the credentials.
    fn session_timeout(&mut self, asked: Duration) {
        let Self { report, granted, .. } = self;
        report.facts.session = json!({
            "asked": asked.as_secs_f64(),
            "granted": granted.as_secs_f64(),
            "round_trip_ms": null,
            "median_round_trip_ms": null,
        });
        let (asked_for, given) = (duration::text(asked), duration::text(*granted));
        if *granted == asked {
            report.ok("session", format!("timeout {given}, as asked"));
        } else {
            let remedy = format!(
                "use --session-timeout {given}, or change minSessionTimeout and maxSessionTimeout in zoo.cfg"
            );
            let what = format!("timeout {given}, not the {asked_for} that was asked for");
            report.warn("session", what, &remedy);
        }
        if !report.facts.credentials.is_empty() {
            report.ok("credentials", format!("{} accepted", report.facts.credentials.join(", ")));
        }
    }

    /// Whether round trips are fast enough for a lease. A refused write counts, too, because it also takes a quorum.
    fn latency(&mut self) -> Result<(), BlockingError> {
        let until = clock::now() + self.granted / 4;
        let mut trips = vec![self.round_trip()?];
        while trips.len() < TRIPS && clock::now() < until {
            trips.push(self.round_trip()?);
        }
        trips.sort();
        let median = trips.get(trips.len() / 2).copied().unwrap_or_default();
        let trip = trips.first().copied().unwrap_or_default();
        let Self { report, granted, kill_after, .. } = self;
        let is_quick = is_quick_enough(*granted, trip, *kill_after);
        let tolerated = silence_ridden_out(*granted, trip);
        let smallest = smallest_timeout(trip, *kill_after).map(|enough| enough.as_secs());
        report.facts.session["round_trip_ms"] = json!(millis(trip));
        report.facts.session["median_round_trip_ms"] = json!(millis(median));
        report.facts.lease = json!({
            "quick_enough": is_quick,
            "rides_out": tolerated.as_secs_f64(),
            "smallest_session_timeout": smallest,
        });
        let takes = format!("a quorum write takes {}, the median is {}", time(trip), time(median));
        if is_quick {
            let tolerated = text::time(tolerated);
            report.ok("latency", format!("{takes}; a holder tolerates {tolerated} of silence"));
        } else {
            let what = format!("too slow for a session timeout of {}: {takes}", duration::text(*granted));
            let remedy = smallest.map_or_else(
                || "no session timeout is long enough for that; use closer servers".to_owned(),
                |enough| format!("use --session-timeout {enough} or more"),
            );
            report.fail("latency", what, &remedy);
        }
        Ok(())
    }

    /// How long a quorum write takes that changes nothing.
    fn round_trip(&mut self) -> Result<Duration, BlockingError> {
        let sent = self.session.ask::<BootTime>(Request::Confirm(vec!["/".into()]))?;
        Ok(sent.map_or(Duration::ZERO, |sent| clock::now().since(sent)))
    }

    /// Whether the chroot exists, or was created now. Without a chroot there is nothing to ask.
    fn has_chroot(&mut self) -> Result<bool, BlockingError> {
        let Some(path) = self.chroot else { return Ok(true) };
        let about = format!("chroot {path}");
        let found = self.session.ask::<ReadNode>(Request::Get(path.into()))?;
        let is_missing = found == Err(RequestError::NoNode);
        let hosts = self.hosts;
        let must_create = is_missing && self.check.create_chroot;
        let create = must_create.then(|| Request::CreatePersistent(path.into()));
        let created = create.map(|create| self.session.ask(create)).transpose()?;
        let Self { report, .. } = self;
        match created {
            None if is_missing => {
                let remedy = format!(
                    "create it once with 'zklock check --create-chroot -z {hosts}', or correct the connect string"
                );
                report.fail(&about, "doesn't exist", &remedy);
            }
            None => report.ok(&about, "exists"),
            Some(Ok(())) => report.ok(&about, "created"),
            Some(Err(ref failure)) => report.fail(
                &about,
                format!("doesn't exist and can't be created: {failure}"),
                "ask for the permission, or let the servers' operator create it",
            ),
        }
        let exists = !is_missing || matches!(created, Some(Ok(())));
        report.facts.chroot = json!({ "path": path, "exists": exists });
        Ok(exists)
    }

    /// Whether zklock has the permissions of a contender at the lock path, or at its nearest ancestor that exists. Returns how
    /// far the servers' clock is ahead.
    fn permissions(&mut self) -> Result<Option<i64>, BlockingError> {
        let path = self.check.path.as_ref().map(ToString::to_string);
        let wanted = path.as_deref().unwrap_or_default();
        let mut parent = wanted;
        let (tried, ahead) = loop {
            let before = clock::host_time();
            let tried = self.try_at(parent, parent == wanted)?;
            match (tried, parent.rsplit_once('/')) {
                (Err(RequestError::NoNode), Some((above, _))) => parent = above,
                (tried, _) => {
                    let at = tried.as_ref().ok().copied().flatten();
                    break (tried, at.map(|at| ahead(at, before, clock::host_time())));
                }
            }
        };
        let Some(path) = &path else {
            if tried == Err(RequestError::LocalSession) {
                self.report.fail("session", RequestError::LocalSession.to_string(), "");
            }
            return Ok(ahead);
        };
        let is_there = parent == path;
        let chroot = self.chroot.unwrap_or_default();
        let list = is_there.then(|| Request::List(format!("{chroot}{path}").into()));
        let listed = list.map(|list| self.session.ask::<Vec<_>>(list)).transpose()?;
        let Self { report, .. } = self;
        let node = if parent.is_empty() { "/" } else { parent };
        let remedy = match report.facts.credentials.as_slice() {
            [] => "ask for it, or give credentials with --auth-file".to_owned(),
            names => format!("ask for it for {}, or use other credentials", names.join(", ")),
        };
        let about = "permissions";
        let lacks = |permission: &str, what: &str| format!("no {permission} on {node}, needed {what}");
        let (mut create, mut read, mut delete) = (true, listed.as_ref().map(|_| true), Some(true));
        match tried {
            Ok(_) => {}
            Err(RequestError::NoDelete) => delete = Some(false),
            Err(failure) => {
                (create, delete) = (false, None);
                match failure {
                    RequestError::NoAuth => report.fail(about, lacks("CREATE", "to queue"), &remedy),
                    RequestError::Hidden => report.fail(
                        about,
                        "zklock can't use its own nodes",
                        "the list of --acl must give it READ and CREATE",
                    ),
                    failure => report.fail(about, format!("{path}: {failure}"), ""),
                }
            }
        }
        match listed {
            None | Some(Ok(_) | Err(RequestError::NoNode)) => {}
            Some(Err(failure)) => {
                read = Some(false);
                match failure {
                    RequestError::NoAuth => report.fail(about, lacks("READ", "to see the queue"), &remedy),
                    failure => report.fail(about, format!("{path}: {failure}"), ""),
                }
            }
        }
        // A lock path that zklock creates has the ACL of --acl, whatever the node above allows.
        if delete == Some(false) && is_there {
            let what = "to free the lock at once if zklock is killed: the next contender waits for the session timeout";
            report.warn(about, lacks("DELETE", what), &remedy);
        } else if create && read != Some(false) {
            let permissions = match (read, delete) {
                (Some(_), _) => "CREATE, READ and DELETE",
                (None, Some(true)) => "CREATE and DELETE",
                (None, _) => "CREATE",
            };
            report.ok(about, format!("{permissions} on {node}"));
        }
        report.facts.permissions =
            json!({ "path": path, "node": node, "create": create, "read": read, "delete": delete });
        Ok(ahead)
    }

    /// Creates a node as a contender does, and in the same transaction deletes it, so that nobody sees it. If the parent isn't
    /// the lock path, a node in place of that is created, too.
    fn try_at(&mut self, parent: &str, is_lock: bool) -> Result<Answer<Option<ServerTime>>, BlockingError> {
        let node = format!("{}{parent}/zk-check-{}", self.chroot.unwrap_or_default(), Uuid::new_v4());
        let below = (!is_lock).then(|| NodePath::from(format!("{node}/node")));
        let nodes: Vec<NodePath> = [NodePath::from(node)].into_iter().chain(below).collect();
        self.session.ask(Request::Try(nodes, DATA.to_vec()))
    }

    /// Whether the servers' clock agrees with this host's.
    fn clock(&mut self, ahead: Option<i64>) {
        let Some(ahead) = ahead else { return };
        self.report.facts.clock_ahead_ms = Some(ahead);
        if ahead.unsigned_abs() <= MOST_APART {
            return self.report.ok("clock", "this host's agrees with the servers'");
        }
        let apart = text::time(Duration::from_millis(ahead.unsigned_abs()));
        let which = if ahead > 0 { "behind" } else { "ahead of" };
        let what =
            format!("this host's is {apart} {which} the servers', whose times status and --once-per go by");
        self.report.warn("clock", what, "synchronise the clocks; locks don't depend on them");
    }
}

/// How far the servers' clock is ahead at least, in milliseconds: the server's time `at` was taken at an unknown moment
/// between `before` and `after` on this host's clock.
fn ahead(at: ServerTime, before: ServerTime, after: ServerTime) -> i64 {
    at.0 - at.0.clamp(before.0.min(after.0), after.0.max(before.0))
}

/// Milliseconds, rounded to the microsecond.
fn millis(time: Duration) -> f64 {
    f64::from(u32::try_from(time.as_micros()).unwrap_or(u32::MAX)) / 1_000.0
}

/// The time, with tenths of a millisecond below 10 ms.
fn time(time: Duration) -> String {
    if time < Duration::from_millis(10) {
        format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
    } else {
        text::time(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_off_only_by_more_than_the_round_trip_explains() {
        let ahead_of = |at| ahead(ServerTime(at), ServerTime(1_000), ServerTime(3_000));
        assert_eq!([900, 1_000, 2_000, 3_000, 3_001].map(ahead_of), [-100, 0, 0, 0, 1]);
    }
}
