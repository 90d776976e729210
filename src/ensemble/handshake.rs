//! A TLS handshake for the diagnosis.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Error, RootCertStore, Stream};
use zklock_core::text::printable_up_to;

use super::diagnosis::is_enough;
use super::security::Tls;

/// The result of a handshake and a question.
pub(super) enum Handshake {
    /// The server's answer over the encrypted connection.
    Answered(Vec<u8>),
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
    let mut connection = match ClientConnection::new(tls.config(), name) {
        Ok(connection) => connection,
        Err(error) => return Handshake::Failed(format!("TLS: {error}")),
    };
    let mut stream = Stream::new(&mut connection, stream);
    match stream.write_all(question).and_then(|()| receive(&mut stream)) {
        Ok(answer) => Handshake::Answered(answer),
        Err(error) => match tls_error(&error) {
            Some(Error::InvalidMessage(_)) => Handshake::NoTls,
            // Its text may contain names of a server that isn't authenticated.
            Some(error) => Handshake::Failed(format!("TLS: {}", printable_up_to(300, &error.to_string()))),
            None if is_closed(&error) && stream.conn.is_handshaking() => Handshake::NoTls,
            // The alert that says why may have been lost.
            None if is_closed(&error) => Handshake::Failed(
                "TLS: it closed the connection after the handshake; its log says why".to_owned(),
            ),
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

fn tls_error(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}
