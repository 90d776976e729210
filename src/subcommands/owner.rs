//! The owner of a lock node, as far as the node's data describes it.

use std::net::IpAddr;

use serde::Serialize;
use zklock_core::queue::record::{CURATOR_REVOKES, Record, foreign};
use zklock_core::text::printable;

/// The known facts about a node's owner. All texts are printable. These are fields of `status --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Owner {
    pub(super) host: Option<String>,
    pub(super) pid: Option<u32>,
    pub(super) user: Option<String>,
    pub(super) program: Option<String>,
    pub(super) label: Option<String>,
}

impl Owner {
    /// Parses the data of a lock node. Other programs' data is an IP address (Curator's default) or any text (kazoo's
    /// `identifier`), which becomes the label.
    pub(super) fn of(data: &[u8]) -> Self {
        if let Some(record) = Record::from_bytes(data) {
            return Self::of_record(&record);
        }
        if data == CURATOR_REVOKES {
            return Self::default();
        }
        let text = foreign(data);
        if let Some(address) = text.as_deref().and_then(|text| text.parse::<IpAddr>().ok()) {
            return Self { host: Some(address.to_string()), ..Self::default() };
        }
        Self { label: text, ..Self::default() }
    }

    /// What a zklock says of itself.
    pub(super) fn of_record(record: &Record) -> Self {
        Self {
            host: Some(printable(&record.host)),
            pid: Some(record.pid),
            user: Some(printable(&record.user)),
            program: Some(printable(&record.program)),
            label: record.label.as_deref().map(printable),
        }
    }

    /// Where it runs: see [`place`].
    pub(super) fn place(&self) -> String {
        place(self.host.as_deref(), self.pid)
    }

    /// The label, or else the program, or else `-`.
    pub(super) fn work(&self) -> &str {
        self.label.as_deref().or(self.program.as_deref()).unwrap_or("-")
    }
}

/// A session's id in hexadecimal, as in ZooKeeper's own tools. JavaScript can't represent a number of this size exactly.
pub(super) fn session_id(id: i64) -> String {
    format!("{id:#x}")
}

/// `host:pid`, or `host`, or `-` if neither is known.
pub(super) fn place(host: Option<&str>, pid: Option<u32>) -> String {
    match (host, pid) {
        (Some(host), Some(pid)) => format!("{host}:{pid}"),
        (Some(host), None) => host.to_owned(),
        _ => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_other_programs_is_shown_as_far_as_it_is_known() {
        assert_eq!(Owner::of(b"10.0.0.7").place(), "10.0.0.7");
        assert_eq!(Owner::of(b"worker-1"), Owner { label: Some("worker-1".to_owned()), ..Owner::default() });
        assert_eq!(Owner::of(b"__REVOKE__"), Owner::default());
        assert_eq!(Owner::of(b""), Owner::default());
        assert_eq!(Owner::of(b"\xff\xfe"), Owner::default());
        assert_eq!(Owner::of(b"\x1b[2J").label.as_deref(), Some("?[2J"));
    }
}
