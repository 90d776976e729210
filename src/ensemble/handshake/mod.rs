//! A TLS handshake for the diagnosis: its errors are translated into messages that name the remedy.

mod asked;

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{
    AlertDescription, ClientConfig, ClientConnection, Error, PeerIncompatible, RootCertStore, Stream,
};

use self::asked::{Asked, CertificateAnswer};
use super::diagnosis::is_enough;
use super::security::{Tls, certificate_end, flaw};

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
    let asked = Arc::<Asked>::default();
    let config = tls.config().map(|config| Asked::noted_by(&asked, &config));
    let connection = config.and_then(|config| ClientConnection::new(Arc::new(config), name).ok());
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
            Some(error) => Handshake::Failed(explain(error, tls, &asked)),
            // The server closed the connection after the client's part of the handshake. Its alert may have been lost.
            None if !stream.conn.is_handshaking() && asked.answer() == Some(CertificateAnswer::None) => {
                Handshake::Failed(CERTIFICATE_DEMANDED.to_owned())
            }
            None if !stream.conn.is_handshaking() && asked.answer().is_some() => Handshake::Failed(
                "it closes the connection when it has seen the certificate of --tls-cert; its log says why"
                    .to_owned(),
            ),
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

const NO_VERSION: &str =
    "it speaks no version of TLS that zklock does: enable TLSv1.2 or TLSv1.3 in its ssl.enabledProtocols";

const CERTIFICATE_DEMANDED: &str = "it demands a client certificate: give one with --tls-cert and --tls-key";

fn tls_error(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

/// Why the handshake failed. An alert says little, so it counts what the server had asked for before.
fn explain(error: &Error, tls: &Tls, asked: &Asked) -> String {
    match error {
        Error::InvalidCertificate(error) => format!("its certificate {}", flaw(error, tls.authorities())),
        Error::AlertReceived(AlertDescription::ProtocolVersion)
        | Error::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13) => NO_VERSION.to_owned(),
        Error::AlertReceived(alert) => match asked.answer() {
            None if is_of_ciphers(*alert) => {
                format!(
                    "no cipher, signature or curve of TLS suits both sides ({}): see its \
                     ssl.ciphersuites (zklock needs ECDHE with AES-GCM or ChaCha20) and the kind of its key",
                    alert_text(*alert)
                )
            }
            None => format!("it ends the TLS handshake ({}); its log says why", alert_text(*alert)),
            Some(CertificateAnswer::None) => CERTIFICATE_DEMANDED.to_owned(),
            Some(CertificateAnswer::Unsuitable) => {
                "it accepts no signature of the key in --tls-key: use a key of another kind, such as RSA"
                    .to_owned()
            }
            Some(CertificateAnswer::Given) => {
                format!(
                    "it refuses the certificate of --tls-cert ({}): its trust store must have the authority that \
                         signed it; its log says why",
                    alert_text(*alert)
                )
            }
        },
        Error::PeerIncompatible(_) => format!("no version or cipher of TLS suits both sides ({error})"),
        error => format!("TLS fails: {error}"),
    }
}

/// Whether a server sends this alert if nothing that the client offers suits it.
fn is_of_ciphers(alert: AlertDescription) -> bool {
    matches!(alert, AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity)
}

fn alert_text(alert: AlertDescription) -> String {
    alert.as_str().map_or_else(|| format!("alert {}", u8::from(alert)), str::to_owned)
}
