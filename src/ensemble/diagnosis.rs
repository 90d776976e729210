//! Why a server gives no session: the possible diagnoses, and their messages, which name the remedy.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};

use zklock_core::hosts::Server;
use zklock_core::text::printable;

use crate::process::system_error::describe;

/// The diagnosis of one server, or of some of its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ensemble) struct ServerDiagnosis {
    server: Server,
    /// Empty if the server's name has only one address.
    addresses: Vec<IpAddr>,
    diagnosis: Diagnosis,
}

/// Progress of the questions to one server.
pub(super) enum DiagnosisUpdate {
    /// Its name was resolved to these addresses, which are being asked.
    Addresses(Vec<SocketAddr>),
    /// The result of asking one address.
    Answer(SocketAddr, Observation),
    /// No address is asked, for this reason.
    NotAsked(Diagnosis),
}

/// The result of asking one address.
pub(super) struct Observation {
    pub(super) diagnosis: Diagnosis,
    /// The server's answer to the four-letter word `srvr`; empty if it gave none.
    pub(super) answer: Vec<u8>,
}

impl From<Diagnosis> for Observation {
    fn from(diagnosis: Diagnosis) -> Self {
        Self { diagnosis, answer: vec![] }
    }
}

impl Observation {
    /// The observation for an answer to `srvr`.
    pub(super) fn of_answer(answer: Vec<u8>) -> Self {
        Self { diagnosis: Diagnosis::of_answer(&answer), answer }
    }
}

/// The observations of one server so far.
pub(super) struct ServerAnswers {
    pub(super) server: Server,
    /// One for each address; [`Diagnosis::TimedOut`] until it has answered.
    pub(super) observations: Vec<(SocketAddr, Observation)>,
    /// Counts only while there are no addresses.
    pub(super) without_address: Diagnosis,
}

impl ServerAnswers {
    pub(super) fn new(server: Server) -> Self {
        Self { server, observations: vec![], without_address: Diagnosis::TimedOut }
    }

    pub(super) fn update(&mut self, update: DiagnosisUpdate) {
        match update {
            DiagnosisUpdate::Addresses(addresses) => {
                self.observations =
                    addresses.into_iter().map(|address| (address, Diagnosis::TimedOut.into())).collect();
            }
            DiagnosisUpdate::Answer(address, observation) => {
                if let Some((_, known)) = self.observations.iter_mut().find(|(of, _)| *of == address) {
                    *known = observation;
                }
            }
            DiagnosisUpdate::NotAsked(diagnosis) => self.without_address = diagnosis,
        }
    }

    /// The different diagnoses, each with the addresses that it applies to.
    pub(super) fn diagnoses(self) -> Vec<ServerDiagnosis> {
        let Self { server, observations, without_address } = self;
        let several = observations.len() > 1;
        let mut all: Vec<ServerDiagnosis> = vec![];
        for (address, Observation { diagnosis, .. }) in observations {
            let entry = match all.iter_mut().find(|known| known.diagnosis == diagnosis) {
                Some(known) => known,
                None => {
                    all.push_mut(ServerDiagnosis { server: server.clone(), addresses: vec![], diagnosis })
                }
            };
            if several {
                entry.addresses.push(address.ip());
            }
        }
        if all.is_empty() {
            all.push(ServerDiagnosis { server, addresses: vec![], diagnosis: without_address });
        }
        all
    }
}

impl ServerDiagnosis {
    /// Whether retrying would be useless, because nothing listens there.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self.diagnosis, Diagnosis::Refused | Diagnosis::UnknownHost)
    }
}

impl fmt::Display for ServerDiagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.server)?;
        for (i, address) in self.addresses.iter().enumerate() {
            write!(f, "{}{address}", if i == 0 { " (" } else { ", " })?;
        }
        write!(f, "{}: {}", if self.addresses.is_empty() { "" } else { ")" }, self.diagnosis)
    }
}

/// Why a server, or one of its addresses, gives no session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Diagnosis {
    UnknownHost,
    Refused,
    TimedOut,
    Silent,
    ClosedWithoutAnswer,
    /// It expects TLS, which zklock didn't use.
    SpeaksTls,
    /// It doesn't speak TLS, which zklock used.
    SpeaksNoTls,
    /// Its host name can't appear in a certificate.
    NoName,
    Tls(String),
    NotZooKeeper(String),
    NotServing,
    /// It is read-only, because it has lost its quorum.
    ReadOnly,
    Serving,
    /// It serves, and SASL is in use, which may be the reason.
    SaslUnfinished,
    Other(String),
}

/// The start of the answer to `srvr` by a server that serves.
pub(super) const VERSION: &str = "Zookeeper version";

/// Whether this part of an answer is enough for a diagnosis. The first line is enough unless the server serves: then
/// the
/// `Mode:` line is needed too, which tells whether it is read-only.
pub(super) fn is_enough(answer: &[u8]) -> bool {
    let mut lines = answer.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n"));
    match lines.next() {
        Some(first) if first.starts_with(VERSION.as_bytes()) => lines.any(|line| line.starts_with(b"Mode:")),
        first => first.is_some(),
    }
}

/// The start of a record with a TLS alert: content type 21, major version 3.
const ALERT: [u8; 2] = [21, 3];

impl Diagnosis {
    /// The diagnosis for an answer to `srvr`.
    pub(super) fn of_answer(answer: &[u8]) -> Self {
        let text = String::from_utf8_lossy(answer);
        // A server that expects TLS closes the connection; some send an alert before.
        if answer.is_empty() || answer.starts_with(&ALERT) {
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

    /// The diagnosis for a connection that failed.
    pub(super) fn of_error(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::ConnectionRefused => Self::Refused,
            ErrorKind::TimedOut => Self::TimedOut,
            ErrorKind::WouldBlock => Self::Silent,
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Self::ClosedWithoutAnswer,
            _ => Self::Other(describe(error)),
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
                 overloaded, or the connection too slow"),
            Self::ClosedWithoutAnswer => {
                f.write_str("closed the connection without an answer; not a ZooKeeper, or too many connections \
                             from this host (maxClientCnxns), in all (maxCnxns) or at once \
                             (zookeeper.connection_throttle_tokens)")
            }
            Self::SpeaksTls => {
                f.write_str("speaks TLS: use --tls, and --tls-ca FILE if its authority is one of your own")
            }
            Self::SpeaksNoTls => f.write_str("speaks no TLS: name its TLS port, or leave the --tls options out"),
            Self::NoName => f.write_str("that name can't appear in a certificate; use another host name"),
            Self::Tls(why) => f.write_str(why),
            Self::NotZooKeeper(answer) => write!(f, "not a ZooKeeper; it said '{answer}'"),
            Self::NotServing => f.write_str(
                "a ZooKeeper that isn't serving; it has no quorum: start the other servers of its ensemble",
            ),
            Self::ReadOnly => f.write_str(
                "a ZooKeeper that is read-only, because it has lost its quorum: start the other servers of its \
                 ensemble",
            ),
            Self::Serving => f.write_str(
                "a ZooKeeper that answers but opened no session in time; on a slow connection use a longer \
                 --session-timeout",
            ),
            Self::SaslUnfinished => f.write_str(
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
    fn addresses_with_the_same_diagnosis_share_a_line() {
        let addresses = ["192.0.2.1:7", "192.0.2.2:7", "192.0.2.3:7"].map(|text| text.parse().ok());
        let addresses: Vec<SocketAddr> = addresses.into_iter().flatten().collect();
        let asked = |addresses: &[SocketAddr]| {
            let mut answers = ServerAnswers::new(Server { host: "zk".to_owned(), port: 7 });
            answers.update(DiagnosisUpdate::Addresses(addresses.to_vec()));
            answers.update(DiagnosisUpdate::Answer(addresses[0], Diagnosis::NotServing.into()));
            answers.diagnoses().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let not_serving =
            "a ZooKeeper that isn't serving; it has no quorum: start the other servers of its ensemble";
        assert_eq!(asked(&addresses[..1]), [format!("zk:7: {not_serving}")]);
        let timed_out = "zk:7 (192.0.2.2, 192.0.2.3): timed out; no answer from that address";
        assert_eq!(asked(&addresses), [format!("zk:7 (192.0.2.1): {not_serving}"), timed_out.to_owned()]);
    }

    #[test]
    fn each_answer_has_its_diagnosis() {
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
