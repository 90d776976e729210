//! What a server said, in words that name the remedy.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};

use super::hosts::Server;
use crate::core::words::printable;

/// What one server said, or some of its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::runtime::zk) struct ServerDiagnosis {
    server: Server,
    /// Empty if the name has only one.
    addresses: Vec<IpAddr>,
    finding: Diagnosis,
}

/// News of one server while it is asked.
pub(super) enum DiagnosisUpdate {
    /// It has these addresses.
    Addresses(Vec<SocketAddr>),
    /// What one of them said.
    Found(SocketAddr, Observation),
    /// There is nothing to ask.
    Unasked(Diagnosis),
}

/// A finding, and what it was drawn from.
pub(super) struct Observation {
    pub(super) finding: Diagnosis,
    /// The answer to `srvr`.
    pub(super) said: Vec<u8>,
    /// When the server's certificate ends, in seconds since 1970.
    pub(super) certificate_ends: Option<u64>,
}

impl From<Diagnosis> for Observation {
    fn from(finding: Diagnosis) -> Self {
        Self { finding, said: vec![], certificate_ends: None }
    }
}

impl Observation {
    /// An answer to `srvr`.
    pub(super) fn answer(said: Vec<u8>) -> Self {
        Self { finding: Diagnosis::of_answer(&said), said, certificate_ends: None }
    }
}

/// What is known so far of one server.
pub(super) struct Asked {
    pub(super) server: Server,
    pub(super) found: Vec<(SocketAddr, Observation)>,
    /// Unless there are addresses.
    pub(super) unasked: Diagnosis,
}

impl Asked {
    pub(super) fn new(server: Server) -> Self {
        Self { server, found: vec![], unasked: Diagnosis::TimedOut }
    }

    pub(super) fn take(&mut self, news: DiagnosisUpdate) {
        match news {
            DiagnosisUpdate::Addresses(addresses) => {
                self.found =
                    addresses.into_iter().map(|address| (address, Diagnosis::TimedOut.into())).collect();
            }
            DiagnosisUpdate::Found(address, heard) => {
                if let Some((_, found)) = self.found.iter_mut().find(|(of, _)| *of == address) {
                    *found = heard;
                }
            }
            DiagnosisUpdate::Unasked(finding) => self.unasked = finding,
        }
    }

    /// One for each different finding.
    pub(super) fn diagnoses(self) -> Vec<ServerDiagnosis> {
        let Self { server, found, unasked } = self;
        let several = found.len() > 1;
        let mut all: Vec<ServerDiagnosis> = vec![];
        for (address, Observation { finding, .. }) in found {
            let diagnosis = match all.iter_mut().find(|known| known.finding == finding) {
                Some(known) => known,
                None => all.push_mut(ServerDiagnosis { server: server.clone(), addresses: vec![], finding }),
            };
            if several {
                diagnosis.addresses.push(address.ip());
            }
        }
        if all.is_empty() {
            all.push(ServerDiagnosis { server, addresses: vec![], finding: unasked });
        }
        all
    }
}

impl ServerDiagnosis {
    /// Whether more time for connecting would be no use: nothing listens there.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self.finding, Diagnosis::Refused | Diagnosis::UnknownHost)
    }
}

impl fmt::Display for ServerDiagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.server)?;
        for (i, address) in self.addresses.iter().enumerate() {
            write!(f, "{}{address}", if i == 0 { " (" } else { ", " })?;
        }
        write!(f, "{}: {}", if self.addresses.is_empty() { "" } else { ")" }, self.finding)
    }
}

/// What was found out about one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Diagnosis {
    UnknownHost,
    Refused,
    TimedOut,
    Silent,
    ClosedWithoutAnswer,
    /// It speaks TLS, and we didn't.
    SpeaksTls,
    /// We speak TLS, and it doesn't.
    SpeaksNoTls,
    NoName,
    Tls(String),
    NotZooKeeper(String),
    NotServing,
    /// It serves, but takes no writes: its other members are down.
    ReadOnly,
    Serving,
    /// The same, and SASL may be why.
    SaslWithoutEnd,
    Other(String),
}

/// How the answer of a server begins that serves.
pub(super) const VERSION: &str = "Zookeeper version";

/// Whether an answer that may come in pieces says enough. Its first line does, except of a server that serves: whether it
/// takes writes comes later.
pub(super) fn says_enough(said: &[u8]) -> bool {
    let mut lines = said.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n"));
    match lines.next() {
        Some(first) if first.starts_with(VERSION.as_bytes()) => lines.any(|line| line.starts_with(b"Mode:")),
        first => first.is_some(),
    }
}

/// How a record with a TLS alert begins.
const ALERT: [u8; 2] = [21, 3];

impl Diagnosis {
    /// What an answer to `srvr` tells.
    pub(super) fn of_answer(said: &[u8]) -> Self {
        let text = String::from_utf8_lossy(said);
        // Servers differ in whether they answer with an alert to what is no handshake.
        if said.is_empty() || said.starts_with(&ALERT) {
            Self::ClosedWithoutAnswer
        } else if text.starts_with(VERSION) && text.contains("\nMode: read-only") {
            Self::ReadOnly
        } else if text.starts_with(VERSION) || text.contains("not in the whitelist") {
            Self::Serving
        } else if text.contains("not currently serving requests") {
            Self::NotServing
        } else {
            Self::NotZooKeeper(printable(text.lines().next().unwrap_or_default()))
        }
    }

    /// What the end of a connection tells.
    pub(super) fn of_error(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::ConnectionRefused => Self::Refused,
            ErrorKind::TimedOut => Self::TimedOut,
            ErrorKind::WouldBlock => Self::Silent,
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Self::ClosedWithoutAnswer,
            _ => Self::Other(error.to_string()),
        }
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownHost => f.write_str("unknown host"),
            Self::Refused => f.write_str("connection refused; nothing listens there"),
            Self::TimedOut => f.write_str("timed out; no answer from that address"),
            Self::Silent => f.write_str("accepts connections but doesn't answer; it may be frozen or \
                 overloaded, or the line to it too slow"),
            Self::ClosedWithoutAnswer => {
                f.write_str("closed the connection without an answer; not a ZooKeeper, or too many connections \
                             from this host")
            }
            Self::SpeaksTls => {
                f.write_str("speaks TLS: use --tls, and --tls-ca FILE if its authority is one of your own")
            }
            Self::SpeaksNoTls => f.write_str("speaks no TLS: name its TLS port, or leave the --tls options out"),
            Self::NoName => f.write_str("that name can't appear in a certificate; use another host name"),
            Self::Tls(said) => f.write_str(said),
            Self::NotZooKeeper(said) => write!(f, "not a ZooKeeper; it said '{said}'"),
            Self::NotServing => f.write_str(
                "a ZooKeeper that isn't serving; it has no quorum: start the other servers of its ensemble",
            ),
            Self::ReadOnly => f.write_str(
                "a ZooKeeper that is read-only, because it has lost its quorum: start the other servers of its \
                 ensemble",
            ),
            Self::Serving => f.write_str("a ZooKeeper that answers but opened no session in time"),
            Self::SaslWithoutEnd => f.write_str(
                "a ZooKeeper that answers, but SASL didn't finish; with Kerberos, check the ticket (klist) and \
                 that the server's principal has this host name",
            ),
            Self::Other(error) => f.write_str(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_name_that_say_the_same_share_a_line() {
        let addresses = ["192.0.2.1:7", "192.0.2.2:7", "192.0.2.3:7"].map(|text| text.parse().ok());
        let addresses: Vec<SocketAddr> = addresses.into_iter().flatten().collect();
        let asked = |addresses: &[SocketAddr]| {
            let mut asked = Asked::new(Server { host: "zk".to_owned(), port: 7 });
            asked.take(DiagnosisUpdate::Addresses(addresses.to_vec()));
            asked.take(DiagnosisUpdate::Found(addresses[0], Diagnosis::NotServing.into()));
            asked.diagnoses().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let not_serving =
            "a ZooKeeper that isn't serving; it has no quorum: start the other servers of its ensemble";
        assert_eq!(asked(&addresses[..1]), [format!("zk:7: {not_serving}")]);
        let timed_out = "zk:7 (192.0.2.2, 192.0.2.3): timed out; no answer from that address";
        assert_eq!(asked(&addresses), [format!("zk:7 (192.0.2.1): {not_serving}"), timed_out.to_owned()]);
    }

    #[test]
    fn answers_are_told_apart() {
        assert_eq!(Diagnosis::of_answer(b""), Diagnosis::ClosedWithoutAnswer);
        assert_eq!(Diagnosis::of_answer(b"Zookeeper version: 3.8.0"), Diagnosis::Serving);
        assert_eq!(
            Diagnosis::of_answer(
                b"Zookeeper version: 3.8.0\nLatency min/avg/max: 0/0.0/0\nMode: read-only\n"
            ),
            Diagnosis::ReadOnly
        );
        assert_eq!(
            Diagnosis::of_answer(b"srvr is not executed because it is not in the whitelist.\n"),
            Diagnosis::Serving
        );
        assert_eq!(
            Diagnosis::of_answer(b"This ZooKeeper instance is not currently serving requests\n"),
            Diagnosis::NotServing
        );
        assert_eq!(
            Diagnosis::of_answer(b"HTTP/1.1 400 Bad Request\r\n\r\n\x1b[2J"),
            Diagnosis::NotZooKeeper("HTTP/1.1 400 Bad Request".to_owned())
        );
    }
}
