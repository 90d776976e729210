//! A TLS handshake for the diagnosis: its errors are translated into messages that name the remedy.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, Error, RootCertStore, Stream,
};

use super::diagnosis::is_enough;
use super::security::{Tls, certificate_end};
use crate::core::text::printable;

/// The result of a handshake and a question.
pub(super) enum Handshake {
    /// The server's answer over the encrypted connection, and when its certificate ends, in seconds since 1970.
    Answered(Vec<u8>, Option<u64>),
    /// The message that says why there is no encrypted connection.
    Failed(String),
    /// The server sent no TLS record: it doesn't speak TLS.
    NoTls,
    /// The connection failed.
    Io(io::Error),
}

/// Sends `question` over a connection that is encrypted with these settings, and returns the answer.
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
    match stream.write_all(question).and_then(|()| receive(&mut stream)) {
        Ok(answer) => {
            let certificate = stream.conn.peer_certificates().and_then(|chain| chain.first());
            Handshake::Answered(answer, certificate.and_then(certificate_end))
        }
        Err(error) => match tls_error(&error) {
            Some(Error::InvalidMessage(_)) => Handshake::NoTls,
            Some(error) => Handshake::Failed(explain(error, tls)),
            // The server closed the connection after the client's part of the handshake. Its alert may have been lost.
            None if !stream.conn.is_handshaking() && tls.has_identity() => Handshake::Failed(
                "it closes the connection when it has seen the client's certificate".to_owned(),
            ),
            None if !stream.conn.is_handshaking() => Handshake::Failed(CERTIFICATE_DEMANDED.to_owned()),
            None if is_closed(&error) => Handshake::NoTls,
            None => Handshake::Io(error),
        },
    }
}

/// Receives an answer, which may come in several parts.
fn receive(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut part = [0; 1024];
    let length = stream.read(&mut part)?;
    let mut answer = part.get(..length).unwrap_or_default().to_vec();
    while !answer.is_empty() && answer.len() < part.len() && !is_enough(&answer) {
        match stream.read(&mut part) {
            Ok(0) | Err(_) => break,
            Ok(length) => answer.extend_from_slice(part.get(..length).unwrap_or_default()),
        }
    }
    Ok(answer)
}

/// Whether the server at the other end of `stream` speaks TLS.
pub(super) fn is_answered(stream: &mut TcpStream, name: ServerName<'static>, timeout: Duration) -> bool {
    // No CA certificate is trusted: a certificate to refuse is enough to show that the server speaks TLS.
    let config = ClientConfig::builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth();
    let _ = stream.set_read_timeout(Some(timeout));
    let Ok(mut connection) = ClientConnection::new(Arc::new(config), name) else {
        return false;
    };
    match connection.complete_io(stream) {
        Ok(_) => true,
        Err(error) => tls_error(&error).is_some_and(|error| !matches!(error, Error::InvalidMessage(_))),
    }
}

const CERTIFICATE_DEMANDED: &str = "it demands a client certificate: give one with --tls-cert and --tls-key";

fn tls_error(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

fn explain(error: &Error, tls: &Tls) -> String {
    match error {
        Error::InvalidCertificate(error) => certificate_problem(error, tls),
        Error::AlertReceived(alert) if tls.has_identity() => {
            format!(
                "it refuses the certificate of --tls-cert, or the TLS versions and ciphers offered ({})",
                alert_text(*alert)
            )
        }
        Error::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::HandshakeFailure,
        ) => CERTIFICATE_DEMANDED.to_owned(),
        Error::AlertReceived(alert) => format!("it ends the TLS handshake ({})", alert_text(*alert)),
        Error::PeerIncompatible(_) => format!("no version or cipher of TLS suits both sides ({error})"),
        error => format!("TLS fails: {error}"),
    }
}

fn alert_text(alert: AlertDescription) -> String {
    alert.as_str().map_or_else(|| format!("alert {}", u8::from(alert)), str::to_owned)
}

fn certificate_problem(error: &CertificateError, tls: &Tls) -> String {
    match error {
        CertificateError::UnknownIssuer => {
            format!("its certificate isn't signed by an authority {}", tls.authorities())
        }
        CertificateError::NotValidForName => "its certificate is for another name".to_owned(),
        CertificateError::NotValidForNameContext { presented, .. } => {
            format!(
                "its certificate is for another name: use a name that it has ({})",
                presented.iter().map(|name| bare_name(name)).collect::<Vec<_>>().join(", ")
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

/// The name in `DnsName("zk1")`, in printable characters, because it comes from a server that isn't authenticated.
fn bare_name(name: &str) -> String {
    let name = name.split_once('(').map_or(name, |(_, name)| name.trim_end_matches(')'));
    printable(name.trim_matches('"'))
}
