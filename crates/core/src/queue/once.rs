//! Once per period: whether the command succeeded recently, by the servers' clock alone. Pure.
//!
//! The record of the last success is a node beside the lock, so that it survives the deletion of an empty lock node.
//! Its time is compared with the time of a write to zklock's own node, made while zklock holds the lock, because the
//! clocks of hosts may differ.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::contender::ContentionError;
use super::record::Record;
use crate::path::{LockPath, NodePath};
use crate::protocol::{LockNode, Node, ReadNode, Reply, Request, RequestError, ServerTime};

const PREFIX: &str = ".";
const SUFFIX: &str = ".zklock-last";

/// The path of the record of the last success under `lock`: `/locks/.job.zklock-last` for `/locks/job`.
pub fn record_path(lock: &str) -> NodePath {
    let (parent, name) = lock.rsplit_once('/').unwrap_or(("", lock));
    format!("{parent}/{PREFIX}{name}{SUFFIX}").into()
}

/// The name of the lock that a record with this name belongs to.
pub fn recorded_lock(name: &str) -> Option<&str> {
    name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX).filter(|lock| !lock.is_empty())
}

/// The record of a success: the contender that ran the command. The time of the success is the node's time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastSuccess {
    /// The contender that ran the command.
    #[serde(flatten)]
    pub by: Record,
    /// The fencing token that the command ran under.
    pub fencing_token: i64,
}

impl LastSuccess {
    /// The record as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Parses a record; `None` if zklock didn't write it.
    pub fn from_bytes(data: &[u8]) -> Option<Self> {
        serde_json::from_slice(data).ok()
    }
}

/// Whether the command is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnceDecision {
    /// The command never succeeded, or not within the period.
    Due,
    /// It succeeded within the period.
    Recent {
        /// How long ago.
        ago: Duration,
        /// The contender that ran it, if the record says so.
        by: Option<Box<LastSuccess>>,
    },
}

/// Decides at the server's time `now`. A record more than one period in the future comes from a wrong clock and is
/// ignored; otherwise it would keep the command from running until that time.
pub fn judge(period: Duration, last: Option<&Node>, now: ServerTime) -> OnceDecision {
    match last {
        Some(last) if last.modified.until(now) < period && now.until(last.modified) <= period => {
            OnceDecision::Recent {
                ago: last.modified.until(now),
                by: LastSuccess::from_bytes(&last.data).map(Box::new),
            }
        }
        _ => OnceDecision::Due,
    }
}

/// What is known about the last success.
#[derive(Debug, Clone)]
enum Last {
    Never,
    At(Node),
}

/// The requests that lead to the decision, made while zklock holds the lock.
#[derive(Debug, Clone)]
pub struct Once {
    period: Duration,
    record: NodePath,
    own: Option<NodePath>,
    last: Option<Last>,
    now: Option<ServerTime>,
}

impl Once {
    /// Sends nothing before [`begin`](Self::begin).
    pub fn new(lock: &LockPath, period: Duration) -> Self {
        Self { period, record: record_path(lock.as_str()), own: None, last: None, now: None }
    }

    /// How recent a success must be.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Whether the requests have been sent.
    pub fn has_begun(&self) -> bool {
        self.own.is_some()
    }

    /// Starts once the lock is held: reads the record, and rewrites zklock's own node with the same data to learn the
    /// server's time.
    pub fn begin(&mut self, own: &LockNode, data: &[u8]) -> Vec<Request> {
        (self.own, self.last, self.now) = (Some(own.path.clone()), None, None);
        vec![Request::Get(self.record.clone()), Request::Write(own.path.clone(), data.to_vec(), 0)]
    }

    /// Forgets the requests of a session that has been replaced.
    pub fn begin_again(&mut self) {
        (self.own, self.last, self.now) = (None, None, None);
    }

    /// Takes in a reply and returns the requests that follow.
    pub fn take(&mut self, reply: Reply) -> Result<Vec<Request>, ContentionError> {
        // A reply without a request of this session belongs to an older session.
        let Some(own) = self.own.clone() else { return Ok(vec![]) };
        match reply {
            // Another client wrote to zklock's node. Its data is kept, because it may be a request to give up the lock.
            Reply::Read(path, Ok(ReadNode::Seen(node))) if path == own => {
                return Ok(vec![Request::Write(own, node.data, node.version)]);
            }
            Reply::Written(Err(RequestError::Changed | RequestError::ConnectionLost)) => {
                return Ok(vec![Request::Get(own)]);
            }
            Reply::Read(path, Err(RequestError::ConnectionLost)) => return Ok(vec![Request::Get(path)]),
            // The watch on zklock's own node reports what happened to it.
            Reply::Read(path, Ok(ReadNode::Hidden) | Err(_)) if path == own => {}
            Reply::Written(Err(RequestError::NoNode)) => {}
            // The record exists, and the ACL hides its time.
            Reply::Read(path, Ok(ReadNode::Hidden)) => {
                return self.take(Reply::Read(path, Err(RequestError::NoAuth)));
            }
            Reply::Read(_, Ok(ReadNode::Seen(node))) => self.last = Some(Last::At(node)),
            Reply::Read(_, Err(RequestError::NoNode)) => self.last = Some(Last::Never),
            Reply::Written(Ok(now)) => self.now = Some(now),
            Reply::Read(path, Err(failure)) => {
                return Err(ContentionError::of(
                    failure,
                    "read when the command last succeeded",
                    "READ",
                    &path,
                ));
            }
            Reply::Written(Err(failure)) => {
                return Err(ContentionError::of(failure, "ask the server for its time", "WRITE", &own));
            }
            _ => {}
        }
        Ok(vec![])
    }

    /// Whether the command is to run, once that is known.
    pub fn decision(&self) -> Option<OnceDecision> {
        let last = match self.last.as_ref()? {
            Last::Never => None,
            Last::At(node) => Some(node),
        };
        Some(judge(self.period, last, self.now?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record_of(modified: i64) -> Node {
        let modified = ServerTime(modified);
        Node { data: vec![], owner: 0, czxid: 1, version: 3, created: ServerTime(0), modified }
    }

    #[test]
    fn a_record_is_a_sibling_that_names_its_lock() {
        assert_eq!(record_path("/locks/job").as_str(), "/locks/.job.zklock-last");
        assert_eq!(record_path("/job").as_str(), "/.job.zklock-last");
        assert_eq!(recorded_lock(".job.zklock-last"), Some("job"));
        for other in ["job.zklock-last", ".job", "..zklock-last", "", ".zklock-last"] {
            assert!(recorded_lock(other).is_none_or(|lock| lock == "."), "{other}");
        }
    }

    #[test]
    fn a_record_that_cannot_be_read_is_refused() {
        let lock = LockPath::parse(std::ffi::OsStr::new("/locks/job")).unwrap();
        let own = LockNode { path: "/locks/job/n".into(), czxid: 1 };
        let mut once = Once::new(&lock, Duration::from_hours(1));
        let hidden = || Reply::Read(record_path("/locks/job"), Ok(ReadNode::Hidden));
        assert_eq!(once.take(hidden()), Ok(vec![]), "no request was sent");
        once.begin(&own, b"me");
        let refused = once.take(hidden()).unwrap_err();
        assert!(refused.to_string().contains("needs READ on /locks/.job.zklock-last"), "{refused}");
    }

    #[test]
    fn the_period_ends_to_the_millisecond() {
        let hour = Duration::from_hours(1);
        let after = |millis: i64| judge(hour, Some(&record_of(1_000)), ServerTime(1_000 + millis));
        assert_eq!(
            after(3_599_999),
            OnceDecision::Recent { ago: Duration::from_millis(3_599_999), by: None }
        );
        assert_eq!(after(3_600_000), OnceDecision::Due);
        assert_eq!(judge(hour, None, ServerTime(0)), OnceDecision::Due);
    }

    #[test]
    fn a_wrong_clock_does_not_skip_the_command_forever() {
        let minute = Duration::from_mins(1);
        // Another server has become the leader, and its clock is a second behind.
        let slightly = judge(minute, Some(&record_of(6_000)), ServerTime(5_000));
        assert_eq!(slightly, OnceDecision::Recent { ago: Duration::ZERO, by: None });
        assert_eq!(judge(minute, Some(&record_of(i64::MAX)), ServerTime(5_000)), OnceDecision::Due);
    }

    #[test]
    fn the_requests_survive_lost_replies_and_marks() {
        let lock = LockPath::parse("/a/b".as_ref()).unwrap();
        let own = LockNode { path: "/a/b/n".into(), czxid: 1 };
        let mut once = Once::new(&lock, Duration::from_secs(10));
        assert!(!once.has_begun());
        once.begin(&own, b"me");
        assert_eq!(
            once.take(Reply::Written(Err(RequestError::ConnectionLost))),
            Ok(vec![Request::Get(own.path.clone())])
        );
        let marked = Node { data: b"marked".to_vec(), ..record_of(0) };
        assert_eq!(
            once.take(Reply::Read(own.path.clone(), Ok(marked.into()))),
            Ok(vec![Request::Write(own.path.clone(), b"marked".to_vec(), 3)]),
            "the mark is kept"
        );
        once.take(Reply::Written(Ok(ServerTime(9_000)))).unwrap();
        assert_eq!(once.decision(), None);
        once.take(Reply::Read("/a/.b.zklock-last".into(), Ok(record_of(2_000).into()))).unwrap();
        assert_eq!(once.decision(), Some(OnceDecision::Recent { ago: Duration::from_secs(7), by: None }));
    }

    #[test]
    fn only_answers_about_the_record_say_when_the_command_succeeded() {
        let lock = LockPath::parse("/a/b".as_ref()).unwrap();
        let own = LockNode { path: "/a/b/n".into(), czxid: 1 };
        let record = || NodePath::from("/a/.b.zklock-last");
        let mut once = Once::new(&lock, Duration::from_secs(10));
        once.begin(&own, b"me");
        let lost = once.take(Reply::Read(record(), Err(RequestError::ConnectionLost)));
        assert_eq!(lost, Ok(vec![Request::Get(record())]));
        assert_eq!(
            once.take(Reply::Written(Err(RequestError::NoNode))),
            Ok(vec![]),
            "its watch tells of that"
        );
        assert_eq!(once.take(Reply::Read(own.path.clone(), Err(RequestError::NoNode))), Ok(vec![]));
        once.take(Reply::Written(Ok(ServerTime(9_000)))).unwrap();
        assert_eq!(once.decision(), None, "the record isn't read yet");
        let refused = once.take(Reply::Written(Err(RequestError::NoAuth))).unwrap_err();
        assert!(refused.to_string().contains("needs WRITE"), "{refused}");
        once.take(Reply::Read(record(), Err(RequestError::NoNode))).unwrap();
        assert_eq!(once.decision(), Some(OnceDecision::Due));
        once.begin_again();
        assert!(!once.has_begun() && once.decision().is_none());
        once.take(Reply::Written(Ok(ServerTime(9_000)))).unwrap();
        once.take(Reply::Read(record(), Err(RequestError::NoNode))).unwrap();
        assert_eq!(once.decision(), None, "those were answers to the session before");
    }

    proptest! {
        #[test]
        fn a_success_counts_for_one_period_and_no_longer(last in 0..10_000i64, now in 0..10_000i64, period in 1..5_000u64) {
            let recent = judge(Duration::from_millis(period), Some(&record_of(last)), ServerTime(now)) != OnceDecision::Due;
            prop_assert_eq!(recent, (now - last).unsigned_abs() < period || (last - now) == i64::try_from(period).unwrap());
        }
    }
}
