//! Why there is no session: each server is asked in turn, since the client library only says "timeout".

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use super::finding::{Asked, Diagnosis, DiagnosisUpdate, Observation, ServerDiagnosis, says_enough};
use super::handshake::{self, Handshake};
use super::hosts::Server;
use super::security::{Tls, server_name};
use super::{Settings, addresses};
use crate::core::time::BootTime;
use crate::runtime::clock;

/// At the end of the time for connecting this much, but at most a quarter, is for finding out why.
const PATIENCE: Duration = Duration::from_secs(1);

/// A handshake takes more round trips, and a server that hasn't made one yet may need a second for its first.
const PATIENCE_WITH_TLS: Duration = Duration::from_secs(2);

/// Less than this is no time to find out anything.
const LEAST: Duration = Duration::from_millis(50);

/// The moment to stop connecting so that a diagnosis still fits before `deadline`.
pub(super) fn leave_time_before(deadline: BootTime, settings: &Settings) -> BootTime {
    deadline.before(longest(settings).min(clock::now().until(deadline) / 4))
}

fn longest(settings: &Settings) -> Duration {
    if settings.security.tls.is_some() { PATIENCE_WITH_TLS } else { PATIENCE }
}

/// What each server says, in words that name the remedy.
pub(super) fn said_by_all(settings: &Settings) -> Vec<String> {
    all(settings).iter().map(ToString::to_string).collect()
}

/// Asks all addresses of all servers at once. Takes no longer than there is time before `until`, and never longer
/// than it must.
pub(super) fn all(settings: &Settings) -> Vec<ServerDiagnosis> {
    let longest = longest(settings);
    let left = settings.deadline.map_or(longest, |deadline| clock::now().until(deadline));
    let patience = left.clamp(LEAST, longest);
    let mut all = ask_all(settings, patience);
    if settings.security.credentials.use_sasl() {
        let heard = all.iter_mut().flat_map(|asked| &mut asked.found).map(|(_, heard)| heard);
        heard.filter(|heard| heard.finding == Diagnosis::Serving).for_each(|heard| {
            heard.finding = Diagnosis::SaslWithoutEnd;
        });
    }
    all.into_iter().flat_map(Asked::diagnoses).collect()
}

/// The same, with all that was heard.
pub(super) fn ask_all(settings: &Settings, patience: Duration) -> Vec<Asked> {
    let servers = &settings.hosts.servers;
    let deadline = Instant::now() + patience * 4 / 5;
    let (news, inbox) = std::sync::mpsc::channel();
    for (index, server) in servers.iter().cloned().enumerate() {
        let (news, tls) = (news.clone(), settings.security.tls.clone());
        // Not joined: looking up a name can hang for longer than anybody wants to wait.
        let _ = thread::Builder::new().spawn(move || ask(index, &server, tls.as_ref(), deadline, &news));
    }
    drop(news);
    let mut all: Vec<_> = servers.iter().cloned().map(Asked::new).collect();
    // A little longer than each is given, so that all of them can report.
    let end = deadline + patience / 5;
    while let Ok((index, news)) = inbox.recv_timeout(end.saturating_duration_since(Instant::now())) {
        if let Some(asked) = all.get_mut(index) {
            asked.take(news);
        }
    }
    all
}

fn ask(
    index: usize,
    server: &Server,
    tls: Option<&Tls>,
    deadline: Instant,
    news: &Sender<(usize, DiagnosisUpdate)>,
) {
    let tell = |told| drop(news.send((index, told)));
    if tls.is_some() && server_name(server).is_none() {
        return tell(DiagnosisUpdate::Unasked(Diagnosis::NoName));
    }
    let addresses = match addresses::addresses(server) {
        Ok(addresses) if !addresses.is_empty() => addresses,
        _ => return tell(DiagnosisUpdate::Unasked(Diagnosis::UnknownHost)),
    };
    tell(DiagnosisUpdate::Addresses(addresses.clone()));
    let found = |address: &SocketAddr| {
        tell(DiagnosisUpdate::Found(*address, ask_address(server, address, tls, deadline)));
    };
    thread::scope(|scope| {
        let mut addresses = addresses.iter();
        // One is asked right here: on a busy machine a thread takes its time to start.
        let first = addresses.next();
        for address in addresses {
            let _ = thread::Builder::new().spawn_scoped(scope, move || found(address));
        }
        first.map(found);
    });
}

fn ask_address(server: &Server, address: &SocketAddr, tls: Option<&Tls>, deadline: Instant) -> Observation {
    let heard = match tls {
        Some(tls) => converse_with_tls(server, address, tls, deadline),
        None => converse(address, deadline).map(Observation::answer),
    };
    let heard = heard.unwrap_or_else(|error| Diagnosis::of_error(&error).into());
    if heard.finding == Diagnosis::ClosedWithoutAnswer
        && tls.is_none()
        && speaks_tls(server, address, deadline)
    {
        return Diagnosis::SpeaksTls.into();
    }
    heard
}

/// `srvr` is harmless, opens no session, and is answered even where four-letter words are switched off. Other
/// kinds of servers may wait for the end of a line, or of a request: they get it if nothing comes by half-time.
fn converse(address: &SocketAddr, deadline: Instant) -> io::Result<Vec<u8>> {
    let left = || left(deadline);
    let mut stream = TcpStream::connect_timeout(address, left())?;
    stream.write_all(b"srvr")?;
    let mut said = [0; 1024];
    let length = match listen(&mut stream, &mut said, left() / 2) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            stream.write_all(b"\r\n\r\n")?;
            listen(&mut stream, &mut said, left())?
        }
        heard => heard?,
    };
    Ok(said.get(..length).unwrap_or_default().to_vec())
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}

fn converse_with_tls(
    server: &Server,
    address: &SocketAddr,
    tls: &Tls,
    deadline: Instant,
) -> io::Result<Observation> {
    let Some(name) = server_name(server) else { return Ok(Diagnosis::NoName.into()) };
    let mut stream = TcpStream::connect_timeout(address, left(deadline))?;
    stream.set_read_timeout(Some(left(deadline)))?;
    Ok(match handshake::ask(&mut stream, name, tls, b"srvr") {
        Handshake::Said(said, certificate_ends) => {
            Observation { certificate_ends, ..Observation::answer(said) }
        }
        Handshake::Failed(why) => Diagnosis::Tls(why).into(),
        Handshake::Io(error) => Diagnosis::of_error(&error).into(),
        Handshake::NoTls => match converse(address, deadline).map(|said| Diagnosis::of_answer(&said)) {
            Ok(Diagnosis::Serving | Diagnosis::ReadOnly | Diagnosis::NotServing) => {
                Diagnosis::SpeaksNoTls.into()
            }
            Ok(finding) => finding.into(),
            Err(error) => Diagnosis::of_error(&error).into(),
        },
    })
}

/// A server that says nothing to a plain question may have waited for a handshake.
fn speaks_tls(server: &Server, address: &SocketAddr, deadline: Instant) -> bool {
    let Ok(mut stream) = TcpStream::connect_timeout(address, left(deadline)) else {
        return false;
    };
    server_name(server).is_some_and(|name| handshake::is_spoken(&mut stream, name, left(deadline)))
}

fn listen(stream: &mut TcpStream, said: &mut [u8], patience: Duration) -> io::Result<usize> {
    stream.set_read_timeout(Some(patience))?;
    let mut length = stream.read(said)?;
    while length > 0 && !said.get(..length).is_some_and(says_enough) {
        match stream.read(said.get_mut(length..).unwrap_or_default()) {
            Ok(0) | Err(_) => break,
            Ok(more) => length += more,
        }
    }
    Ok(length)
}
