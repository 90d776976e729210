//! A TLS handshake whose only purpose is to find out why it fails, in words that name the remedy.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, Error, RootCertStore, Stream,
};

use super::finding::says_enough;
use super::security::{Tls, end_of};
use crate::core::words::printable;

/// What came of it.
pub(super) enum Handshake {
    /// The server's answer to what was asked over the encrypted connection, and when its certificate ends.
    Said(Vec<u8>, Option<u64>),
    /// Why there is no encrypted connection.
    Failed(String),
    /// It ended before the server said anything of TLS.
    NoTls,
    /// The connection failed.
    Io(io::Error),
}

/// Asks `question` with TLS as `tls` wants it.
pub(super) fn ask(
    stream: &mut TcpStream,
    name: ServerName<'static>,
    tls: &Tls,
    question: &[u8],
) -> Handshake {
    let connection = tls.config().and_then(|config| ClientConnection::new(config, name).ok());
    let Some(mut connection) = connection else {
        return Handshake::Failed("the certificates can't be used".to_owned());
    };
    let mut stream = Stream::new(&mut connection, stream);
    match stream.write_all(question).and_then(|()| listen(&mut stream)) {
        Ok(said) => {
            let certificate = stream.conn.peer_certificates().and_then(|chain| chain.first());
            Handshake::Said(said, certificate.and_then(end_of))
        }
        Err(error) => match of_tls(&error) {
            Some(Error::InvalidMessage(_)) => Handshake::NoTls,
            Some(error) => Handshake::Failed(explain(error, tls)),
            // It closed the connection in the middle: the alert that says why may have been lost on the way.
            None if !stream.conn.is_handshaking() && tls.has_identity() => Handshake::Failed(
                "it closes the connection when it has seen the client's certificate".to_owned(),
            ),
            None if !stream.conn.is_handshaking() => Handshake::Failed(DEMANDS.to_owned()),
            None if is_end(&error) => Handshake::NoTls,
            None => Handshake::Io(error),
        },
    }
}

/// Hears an answer, which may come in pieces.
fn listen(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut piece = [0; 1024];
    let length = stream.read(&mut piece)?;
    let mut said = piece.get(..length).unwrap_or_default().to_vec();
    while !said.is_empty() && said.len() < piece.len() && !says_enough(&said) {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(length) => said.extend_from_slice(piece.get(..length).unwrap_or_default()),
        }
    }
    Ok(said)
}

/// Whether somebody behind `stream` speaks TLS.
pub(super) fn is_spoken(stream: &mut TcpStream, name: ServerName<'static>, patience: Duration) -> bool {
    // Believes nobody: a certificate that is refused is proof enough.
    let config = ClientConfig::builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth();
    let _ = stream.set_read_timeout(Some(patience));
    let Ok(mut connection) = ClientConnection::new(Arc::new(config), name) else {
        return false;
    };
    match connection.complete_io(stream) {
        Ok(_) => true,
        Err(error) => of_tls(&error).is_some_and(|error| !matches!(error, Error::InvalidMessage(_))),
    }
}

const DEMANDS: &str = "it demands a client certificate: give one with --tls-cert and --tls-key";

fn of_tls(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

fn is_end(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

fn explain(error: &Error, tls: &Tls) -> String {
    match error {
        Error::InvalidCertificate(error) => of_certificate(error, tls),
        Error::AlertReceived(alert) if tls.has_identity() => {
            format!(
                "it refuses the certificate of --tls-cert, or the TLS versions and ciphers offered ({})",
                of_alert(*alert)
            )
        }
        Error::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::HandshakeFailure,
        ) => DEMANDS.to_owned(),
        Error::AlertReceived(alert) => format!("it ends the TLS handshake ({})", of_alert(*alert)),
        Error::PeerIncompatible(_) => format!("no version or cipher of TLS suits both sides ({error})"),
        error => format!("TLS fails: {error}"),
    }
}

fn of_alert(alert: AlertDescription) -> String {
    alert.as_str().map_or_else(|| format!("alert {}", u8::from(alert)), str::to_owned)
}

fn of_certificate(error: &CertificateError, tls: &Tls) -> String {
    match error {
        CertificateError::UnknownIssuer => {
            format!("its certificate isn't signed by an authority {}", tls.authorities())
        }
        CertificateError::NotValidForName => "its certificate is for another name".to_owned(),
        CertificateError::NotValidForNameContext { presented, .. } => {
            format!(
                "its certificate is for another name: connect to it by one of those that it bears ({})",
                presented.iter().map(|name| bare(name)).collect::<Vec<_>>().join(", ")
            )
        }
        CertificateError::Expired => "its certificate has expired: it needs a new one".to_owned(),
        CertificateError::ExpiredContext { time, not_after } => {
            let days = time.as_secs().saturating_sub(not_after.as_secs()) / 86_400;
            format!("its certificate expired {days} days ago: it needs a new one, or a clock is wrong")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate isn't valid yet: is a clock wrong?".to_owned()
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "its certificate isn't meant for a server".to_owned()
        }
        CertificateError::Revoked => "its certificate was revoked".to_owned(),
        error => format!("its certificate can't be used: {error}"),
    }
}

/// `DnsName("zk1")` as people know it. It comes from a server that nobody believes yet.
fn bare(name: &str) -> String {
    let name = name.split_once('(').map_or(name, |(_, name)| name.trim_end_matches(')'));
    printable(name.trim_matches('"'))
}
