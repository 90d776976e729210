//! What a server said, in words that name the remedy.

use std::fmt;
use std::io::{self, ErrorKind};

use crate::lock::record::printable;

/// What was found out about one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finding {
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
    Serving,
    /// The same, and SASL may be why.
    SaslWithoutEnd,
    Other(String),
}

/// How a record with a TLS alert begins.
const ALERT: [u8; 2] = [21, 3];

impl Finding {
    /// What an answer to `srvr` tells.
    pub(super) fn of_answer(said: &[u8]) -> Self {
        let text = String::from_utf8_lossy(said);
        // Servers differ in whether they answer with an alert to what is no handshake.
        if said.is_empty() || said.starts_with(&ALERT) {
            Self::ClosedWithoutAnswer
        } else if text.starts_with("Zookeeper version") || text.contains("not in the whitelist") {
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

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownHost => f.write_str("unknown host"),
            Self::Refused => f.write_str("connection refused; nothing listens there"),
            Self::TimedOut => f.write_str("timed out; no answer from that address"),
            Self::Silent => f.write_str("accepts connections but doesn't answer; it may be frozen or overloaded"),
            Self::ClosedWithoutAnswer => {
                f.write_str("closed the connection without an answer; not a ZooKeeper, or too many connections from this host")
            }
            Self::SpeaksTls => {
                f.write_str("speaks TLS: use --tls, and --tls-ca FILE if its authority is one of your own")
            }
            Self::SpeaksNoTls => f.write_str("speaks no TLS: name its TLS port, or leave the --tls options out"),
            Self::NoName => f.write_str("no certificate can bear that name: name the server otherwise"),
            Self::Tls(said) => f.write_str(said),
            Self::NotZooKeeper(said) => write!(f, "not a ZooKeeper; it said '{said}'"),
            Self::NotServing => f.write_str("a ZooKeeper that isn't serving; it has no quorum"),
            Self::Serving => f.write_str("a ZooKeeper that answers but opened no session in time"),
            Self::SaslWithoutEnd => f.write_str(
                "a ZooKeeper that answers, but SASL came to no end; with Kerberos: is there a ticket (klist), \
                 and does the server's principal bear this host name?",
            ),
            Self::Other(error) => f.write_str(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_apart() {
        assert_eq!(Finding::of_answer(b""), Finding::ClosedWithoutAnswer);
        assert_eq!(Finding::of_answer(b"Zookeeper version: 3.8.0"), Finding::Serving);
        assert_eq!(
            Finding::of_answer(b"srvr is not executed because it is not in the whitelist.\n"),
            Finding::Serving
        );
        assert_eq!(
            Finding::of_answer(b"This ZooKeeper instance is not currently serving requests\n"),
            Finding::NotServing
        );
        assert_eq!(
            Finding::of_answer(b"HTTP/1.1 400 Bad Request\r\n\r\n\x1b[2J"),
            Finding::NotZooKeeper("HTTP/1.1 400 Bad Request".to_owned())
        );
    }
}
