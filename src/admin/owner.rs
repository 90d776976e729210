//! Who a lock node belongs to, as far as its data tells: ours says much, others' little.

use std::net::IpAddr;

use crate::core::lock::record::{CURATOR_REVOKES, Record, foreign};
use crate::core::words::printable;

/// What a node says of its owner. All of it is printable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) host: Option<String>,
    pub(super) pid: Option<u32>,
    pub(super) user: Option<String>,
    pub(super) program: Option<String>,
    pub(super) label: Option<String>,
    /// Whether it is stopped, as by Ctrl-Z.
    pub(super) stopped: bool,
    /// Whether somebody has asked it to give up.
    pub(super) asked_to_stop: bool,
    /// Who has, as far as that is told.
    pub(super) revoked_by: Option<String>,
}

impl Owner {
    /// Understands the data of a lock node, whoever wrote it. Curator writes its address by default, kazoo
    /// whatever the program calls itself.
    pub(super) fn of(data: &[u8]) -> Self {
        if let Some(record) = Record::from_bytes(data) {
            return Self::of_record(&record);
        }
        if data == CURATOR_REVOKES {
            return Self { asked_to_stop: true, ..Self::default() };
        }
        let said = foreign(data);
        if let Some(address) = said.as_deref().and_then(|said| said.parse::<IpAddr>().ok()) {
            return Self { host: Some(address.to_string()), ..Self::default() };
        }
        Self { label: said, ..Self::default() }
    }

    fn of_record(record: &Record) -> Self {
        Self {
            host: Some(printable(&record.host)),
            pid: Some(record.pid),
            user: Some(printable(&record.user)),
            program: Some(printable(&record.program)),
            label: record.label.as_deref().map(printable),
            stopped: record.stopped,
            asked_to_stop: record.revoked_by.is_some(),
            revoked_by: record.revoked_by.as_deref().map(printable),
        }
    }

    /// `host:pid`, or what there is of it.
    pub(super) fn place(&self) -> String {
        match (&self.host, self.pid) {
            (Some(host), Some(pid)) => format!("{host}:{pid}"),
            (Some(host), None) => host.clone(),
            _ => "-".to_owned(),
        }
    }

    /// What runs: the label, or else the program.
    pub(super) fn work(&self) -> &str {
        self.label.as_deref().or(self.program.as_deref()).unwrap_or("-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_tell_what_they_tell() {
        assert_eq!(Owner::of(b"10.0.0.7").place(), "10.0.0.7");
        assert_eq!(Owner::of(b"worker-1"), Owner { label: Some("worker-1".to_owned()), ..Owner::default() });
        assert_eq!(Owner::of(b"__REVOKE__"), Owner { asked_to_stop: true, ..Owner::default() });
        assert_eq!(Owner::of(b""), Owner::default());
        assert_eq!(Owner::of(b"\xff\xfe"), Owner::default());
        assert_eq!(Owner::of(b"\x1b[2J").label.as_deref(), Some("?[2J"));
    }
}
