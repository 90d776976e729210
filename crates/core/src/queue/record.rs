//! What a lock node says about its owner: one line of JSON, read by people and by `status`.
//!
//! It never contains the command's arguments, which may be secret.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::protocol::ServerTime;
use crate::text::printable;

/// The longest plausible wait, about 30 years, in milliseconds. A larger number is made up, and could overflow.
const LONGEST_WAIT: u64 = 1_000_000_000_000;

/// The data of a lock node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Version of this layout.
    pub version: u32,
    /// Host that zklock runs on.
    pub host: String,
    /// Process id of zklock there.
    pub pid: u32,
    /// Name of the user that runs it, or the number if it has no name.
    pub user: String,
    /// The program that is run under the lock: its name without directories or arguments.
    pub program: String,
    /// The label to show instead of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// `exclusive`, `shared` or `slots`.
    pub mode: String,
    /// How many contenders may hold at once.
    pub slots: u32,
    /// Set by a contender that acquires one of several slots after a wait: the contender behind it lists the queue
    /// again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_slot: bool,
    /// Set by the owner while it is stopped, as by Ctrl-Z. A holder keeps the lock meanwhile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// How long after the creation of the node its owner acquired the lock, in milliseconds; set once the command has
    /// run for a while. Relative to the node's own time, so that it stays true when the data is rewritten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_after_ms: Option<u64>,
    /// The process, identified even where host names are ambiguous, as in containers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Box<Process>>,
    /// Set by a client that asks the owner to give up: that client's `host:pid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_by: Option<String>,
}

/// A process, identified so that no earlier or later process with the same number is mistaken for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The boot of the kernel that it runs on: `/proc/sys/kernel/random/boot_id`.
    pub boot: String,
    /// Its PID namespace: the target of `/proc/self/ns/pid`.
    pub namespace: String,
    /// When it began, in the kernel's ticks: field 22 of `/proc/PID/stat`.
    pub started: u64,
}

/// What Curator's clients write into a node whose owner should give up (`Revoker`).
pub const CURATOR_REVOKES: &[u8] = b"__REVOKE__";

/// Whether a node's data asks its owner to give up, and which client asks, if the data says so.
pub fn revocation(data: &[u8]) -> Option<Option<String>> {
    if data == CURATOR_REVOKES {
        return Some(None);
    }
    Record::from_bytes(data)?.revoked_by.map(|by| Some(printable(&by)))
}

/// Whether a node's data says that its owner waited for one of several slots and acquired it.
pub fn has_slot(data: &[u8]) -> bool {
    Record::from_bytes(data).is_some_and(|record| record.has_slot)
}

impl Record {
    /// Whether the same zklock wrote both, in one session or another. Containers may share a host name and a pid.
    fn is_of_the_same_process(&self, other: &Self) -> bool {
        (self.pid, &self.host, &self.process) == (other.pid, &other.host, &other.process)
    }

    /// Since when the owner holds the lock, if the record says so; `created`: when the node was created.
    pub fn held_since(&self, created: ServerTime) -> Option<ServerTime> {
        let after = self.held_after_ms.filter(|&after| after <= LONGEST_WAIT)?;
        Some(ServerTime(created.0.checked_add(i64::try_from(after).ok()?)?))
    }

    /// The bytes that a lock node carries.
    pub fn to_bytes(&self) -> Vec<u8> {
        // A struct of strings and numbers always has a JSON form; an empty node would still be a valid lock.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Parses the data of a node; `None` if no zklock wrote it.
    pub fn from_bytes(data: &[u8]) -> Option<Self> {
        serde_json::from_slice(data).ok()
    }
}

/// `host:pid (label)`, safe to print: control characters of another contender never reach the terminal.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.label.as_deref().unwrap_or(&self.program);
        write!(f, "{}:{} ({})", printable(&self.host), self.pid, printable(shown))
    }
}

/// Since when a contender with this data, whose node was created then, holds the lock, if it says so.
pub fn held_since(data: &[u8], created: ServerTime) -> Option<ServerTime> {
    Record::from_bytes(data)?.held_since(created)
}

/// A contender's description for people, or its node's name if its data says nothing. `own`: the record of this zklock,
/// to recognize its earlier session.
pub fn describe(node: &str, data: &[u8], own: Option<&Record>) -> String {
    match Record::from_bytes(data) {
        Some(record) if own.is_some_and(|own| record.is_of_the_same_process(own)) => {
            "an earlier session of this zklock".to_owned()
        }
        Some(record) => record.to_string(),
        None if data == CURATOR_REVOKES => format!("node {}, asked to stop", printable(node)),
        None => match foreign(data) {
            Some(said) => format!("{said} (node {})", printable(node)),
            None => format!("node {}", printable(node)),
        },
    }
}

/// The data of a node of another program, printable. Curator writes an IP address, kazoo the name that the program
/// chose, often `host:pid`.
pub fn foreign(data: &[u8]) -> Option<String> {
    let said = str::from_utf8(data).ok()?.trim();
    (!said.is_empty()).then(|| printable(said))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::name::Mode;
    use super::*;

    fn record(label: Option<&str>) -> Record {
        Record {
            version: 1,
            host: "host-a".to_owned(),
            pid: 42,
            user: "ada".to_owned(),
            program: "rsync".to_owned(),
            label: label.map(str::to_owned),
            mode: Mode::Exclusive.word().to_owned(),
            slots: 1,
            has_slot: false,
            stopped: false,
            held_after_ms: None,
            process: None,
            revoked_by: None,
        }
    }

    #[test]
    fn a_record_is_one_line_of_json_and_comes_back() {
        for record in [record(None), record(Some("nightly\nbackup"))] {
            let bytes = record.to_bytes();
            assert!(!bytes.contains(&b'\n'));
            assert_eq!(Record::from_bytes(&bytes), Some(record));
        }
    }

    #[test]
    fn people_read_the_label_or_else_the_program() {
        assert_eq!(record(None).to_string(), "host-a:42 (rsync)");
        assert_eq!(record(Some("nightly")).to_string(), "host-a:42 (nightly)");
    }

    #[test]
    fn another_contender_s_bytes_never_steer_the_terminal() {
        assert_eq!(record(Some("a\x1b[2Jb\u{202e}c")).to_string(), "host-a:42 (a?[2Jb?c)");
        assert_eq!(record(Some("a\u{61c}b\u{2028}c\u{e0041}")).to_string(), "host-a:42 (a?b?c?)");
        assert_eq!(printable(&"x".repeat(200)).chars().count(), 81);
    }

    #[test]
    fn later_fields_are_ignored_and_other_programs_data_is_no_record() {
        let later =
            br#"{"version":2,"host":"h","pid":1,"user":"u","program":"p","mode":"m","slots":1,"new":[]}"#;
        assert!(Record::from_bytes(later).is_some());
        assert_eq!(Record::from_bytes(b"10.0.0.1"), None);
        assert_eq!(Record::from_bytes(b""), None);
    }

    #[test]
    fn other_programs_are_known_by_what_their_nodes_say() {
        let node = "lock-0000000001";
        assert_eq!(describe(node, b"10.0.0.7", None), "10.0.0.7 (node lock-0000000001)");
        assert_eq!(describe(node, b" worker-3:4711\n", None), "worker-3:4711 (node lock-0000000001)");
        assert_eq!(describe(node, b"a\x1b[2Jb", None), "a?[2Jb (node lock-0000000001)");
        assert_eq!(describe(node, &[b'x'; 200], None).chars().filter(|&c| c == 'x').count(), 80);
        assert_eq!(describe(node, b"__REVOKE__", None), "node lock-0000000001, asked to stop");
        for nothing in [&b""[..], b" \n", b"\xff\xfe"] {
            assert_eq!(describe(node, nothing, None), "node lock-0000000001");
        }
    }

    #[test]
    fn an_earlier_session_of_the_same_process_is_known() {
        let own = record(Some("nightly"));
        let seen_by_own = |other: &Record| describe("lock-0000000001", &other.to_bytes(), Some(&own));
        assert_eq!(seen_by_own(&record(None)), "an earlier session of this zklock");
        let (host, pid) = ("host-b".to_owned(), 43);
        assert_eq!(seen_by_own(&Record { host, ..record(None) }), "host-b:42 (rsync)");
        assert_eq!(seen_by_own(&Record { pid, ..record(None) }), "host-a:43 (rsync)");
        // A container with the same host name, in which each zklock is PID 1.
        let process =
            |started| Some(Box::new(Process { boot: "b".into(), namespace: "pid:[1]".into(), started }));
        let own = Record { process: process(1), ..record(None) };
        assert_eq!(
            describe("n", &Record { process: process(2), ..own.clone() }.to_bytes(), Some(&own)),
            "host-a:42 (rsync)"
        );
    }

    #[test]
    fn a_mark_asks_the_owner_to_give_up() {
        let marked = Record { revoked_by: Some("host-b:7".to_owned()), ..record(None) };
        assert_eq!(revocation(&marked.to_bytes()), Some(Some("host-b:7".to_owned())));
        assert_eq!(revocation(b"__REVOKE__"), Some(None));
        assert_eq!(revocation(&record(None).to_bytes()), None);
        assert_eq!(revocation(b"10.0.0.1"), None);
    }

    #[test]
    fn a_holder_tells_since_when_it_holds_from_the_time_of_its_node() {
        let created = ServerTime(1_000);
        let held_since = |data: &[u8]| Record::from_bytes(data).and_then(|record| record.held_since(created));
        let told = |after| held_since(&Record { held_after_ms: after, ..record(None) }.to_bytes());
        assert_eq!(told(Some(2_500)), Some(ServerTime(3_500)));
        assert_eq!(told(Some(0)), Some(created));
        for nothing in [None, Some(LONGEST_WAIT + 1), Some(u64::MAX)] {
            assert_eq!(told(nothing), None);
        }
        assert_eq!(held_since(b"10.0.0.1"), None);
    }

    proptest! {
        #[test]
        fn any_data_is_understood_or_ignored(data: Vec<u8>) {
            if let Some(record) = Record::from_bytes(&data) {
                prop_assert!(!record.to_string().chars().any(char::is_control));
            }
        }
    }
}
