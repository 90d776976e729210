//! Finds out why there is no session by asking each server, because the client library only reports a timeout.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use async_io::Timer;
use zklock_core::hosts::Server;
use zklock_core::time::BootTime;

use super::background::in_background;
use super::diagnosis::{Diagnosis, DiagnosisUpdate, Observation, ServerAnswers, ServerDiagnosis, is_enough};
use super::handshake::{self, Handshake};
use super::security::{Tls, server_name};
use super::{Settings, resolver};
use crate::process::clock;
use crate::process::thread::builder;

/// The longest diagnosis. The last one before the connect timeout takes at most half of it. Connecting goes on
/// meanwhile.
const DIAGNOSIS_TIME: Duration = Duration::from_millis(900);

/// With TLS the diagnosis takes longer: a handshake needs more round trips, and a server's first one may take a second.
const DIAGNOSIS_TIME_WITH_TLS: Duration = Duration::from_secs(2);

/// A diagnosis gets at least this long, even after the deadline.
const SHORTEST_TIME: Duration = Duration::from_millis(50);

/// How long the servers are left alone at first. A run tells its user after a second that it is still connecting, and by
/// then the first diagnosis is done.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// The pause between two diagnoses.
const PAUSE: Duration = Duration::from_secs(5);

/// Asks the servers again and again while there is no connection, and reports what each says. Returns that at `deadline`;
/// `None`: never.
pub(super) async fn watch(
    settings: &Settings,
    deadline: Option<BootTime>,
    report: impl Fn(Vec<String>),
) -> Vec<String> {
    let mut next = clock::now() + FIRST_PAUSE;
    let latest =
        |deadline: BootTime| deadline.before(longest(settings).min(clock::now().until(deadline) / 2));
    let last = deadline.map(|deadline| (latest(deadline), deadline));
    loop {
        if let Some((last, deadline)) = last.filter(|&(last, _)| last < next + longest(settings) / 2) {
            sleep_until(last).await;
            let servers = texts(&Settings { deadline: Some(deadline), ..settings.clone() }).await;
            report(servers.clone());
            sleep_until(deadline).await;
            return servers;
        }
        sleep_until(next).await;
        // The last one needs its time.
        let end = last.map(|(last, _)| last);
        report(texts(&Settings { deadline: end, ..settings.clone() }).await);
        next = clock::now() + PAUSE;
    }
}

async fn sleep_until(moment: BootTime) {
    Timer::after(clock::now().until(moment)).await;
}

/// The diagnosis of each server as text that names the remedy, asked on another thread.
pub(super) async fn texts(settings: &Settings) -> Vec<String> {
    all_in_background(settings).await.iter().map(ToString::to_string).collect()
}

/// [`all`], asked on another thread. Without a thread nothing is known.
pub(super) async fn all_in_background(settings: &Settings) -> Vec<ServerDiagnosis> {
    let settings = settings.clone();
    in_background(move || all(&settings)).await.unwrap_or_default()
}

fn longest(settings: &Settings) -> Duration {
    if settings.security.tls.is_some() { DIAGNOSIS_TIME_WITH_TLS } else { DIAGNOSIS_TIME }
}

/// Asks all addresses of all servers at the same time, until the deadline of the settings. The time limit is at least
/// [`SHORTEST_TIME`], and at most [`DIAGNOSIS_TIME`] or [`DIAGNOSIS_TIME_WITH_TLS`].
pub(super) fn all(settings: &Settings) -> Vec<ServerDiagnosis> {
    let longest = longest(settings);
    let left = settings.deadline.map_or(longest, |deadline| clock::now().until(deadline));
    let time = left.clamp(SHORTEST_TIME, longest);
    let mut all = ask_all(settings, time);
    if settings.security.credentials.use_sasl() {
        let observations = all.iter_mut().flat_map(|server| &mut server.observations);
        for (_, observation) in observations.filter(|(_, seen)| seen.diagnosis == Diagnosis::Serving) {
            observation.diagnosis = Diagnosis::SaslUnfinished;
        }
    }
    all.into_iter().flat_map(ServerAnswers::diagnoses).collect()
}

/// Asks all addresses of all servers at the same time, within `time`, and returns all observations.
pub(super) fn ask_all(settings: &Settings, time: Duration) -> Vec<ServerAnswers> {
    let servers = &settings.hosts.servers;
    let deadline = Instant::now() + time * 4 / 5;
    let (updates, inbox) = std::sync::mpsc::channel();
    for (index, server) in servers.iter().cloned().enumerate() {
        let (updates, tls) = (updates.clone(), settings.security.tls.clone());
        // Not joined: looking up a name can hang for longer than `time`.
        let _ = builder().spawn(move || ask(index, &server, tls.as_ref(), deadline, &updates));
    }
    drop(updates);
    let mut all: Vec<_> = servers.iter().cloned().map(ServerAnswers::new).collect();
    // A little later than the deadline of each server, so that all of them can report.
    let end = deadline + time / 5;
    while let Ok((index, update)) = inbox.recv_timeout(end.saturating_duration_since(Instant::now())) {
        if let Some(answers) = all.get_mut(index) {
            answers.update(update);
        }
    }
    all
}

fn ask(
    index: usize,
    server: &Server,
    tls: Option<&Tls>,
    deadline: Instant,
    updates: &Sender<(usize, DiagnosisUpdate)>,
) {
    let report = |update| drop(updates.send((index, update)));
    // The files as they are now, as for a connection.
    let tls = tls.map(|tls| tls.read_again().unwrap_or_else(|_| tls.clone()));
    let tls = tls.as_ref();
    if tls.is_some() && server_name(server).is_none() {
        return report(DiagnosisUpdate::NotAsked(Diagnosis::NoName));
    }
    let addresses = match resolver::addresses(server) {
        Ok(addresses) if !addresses.is_empty() => addresses,
        _ => return report(DiagnosisUpdate::NotAsked(Diagnosis::UnknownHost)),
    };
    report(DiagnosisUpdate::Addresses(addresses.clone()));
    let ask = |address: &SocketAddr| {
        report(DiagnosisUpdate::Answer(*address, ask_address(server, address, tls, deadline)));
    };
    thread::scope(|scope| {
        let mut addresses = addresses.iter();
        // The first address is asked by this thread, because another thread starts late on a busy machine.
        let first = addresses.next();
        for address in addresses {
            let _ = builder().spawn_scoped(scope, move || ask(address));
        }
        first.map(ask);
    });
}

fn ask_address(server: &Server, address: &SocketAddr, tls: Option<&Tls>, deadline: Instant) -> Observation {
    let observation = match tls {
        Some(tls) => request_over_tls(server, address, tls, deadline),
        None => request(address, deadline).map(Observation::of_answer),
    };
    let observation = observation.unwrap_or_else(|error| Diagnosis::of_error(&error).into());
    if observation.diagnosis == Diagnosis::ClosedWithoutAnswer
        && tls.is_none()
        && speaks_tls(server, address, deadline)
    {
        return Diagnosis::SpeaksTls.into();
    }
    observation
}

/// Sends the four-letter word `srvr` and returns the answer. `srvr` opens no session, and a server answers even if the
/// word isn't enabled. A server of another kind may wait for the end of a line or a request, so it gets one if it
/// hasn't answered after half of the time.
fn request(address: &SocketAddr, deadline: Instant) -> io::Result<Vec<u8>> {
    let left = || left(deadline);
    let mut stream = TcpStream::connect_timeout(address, left())?;
    stream.write_all(b"srvr")?;
    let mut answer = [0; 1024];
    let length = match receive(&mut stream, &mut answer, left() / 2) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            stream.write_all(b"\r\n\r\n")?;
            receive(&mut stream, &mut answer, left())?
        }
        received => received?,
    };
    Ok(answer.get(..length).unwrap_or_default().to_vec())
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}

fn request_over_tls(
    server: &Server,
    address: &SocketAddr,
    tls: &Tls,
    deadline: Instant,
) -> io::Result<Observation> {
    let Some(name) = server_name(server) else { return Ok(Diagnosis::NoName.into()) };
    let mut stream = TcpStream::connect_timeout(address, left(deadline))?;
    stream.set_read_timeout(Some(left(deadline)))?;
    Ok(match handshake::ask(&mut stream, name, tls, b"srvr") {
        Handshake::Answered(answer) => Observation::of_answer(answer),
        Handshake::Failed(why) => Diagnosis::Tls(why).into(),
        Handshake::Io(error) => Diagnosis::of_error(&error).into(),
        Handshake::NoTls => match request(address, deadline).map(|answer| Diagnosis::of_answer(&answer)) {
            Ok(Diagnosis::Serving | Diagnosis::ReadOnly | Diagnosis::NotServing) => {
                Diagnosis::SpeaksNoTls.into()
            }
            Ok(diagnosis) => diagnosis.into(),
            Err(error) => Diagnosis::of_error(&error).into(),
        },
    })
}

/// Whether the server at this address answers a TLS handshake.
fn speaks_tls(server: &Server, address: &SocketAddr, deadline: Instant) -> bool {
    let Ok(mut stream) = TcpStream::connect_timeout(address, left(deadline)) else {
        return false;
    };
    server_name(server).is_some_and(|name| handshake::is_answered(&mut stream, name, left(deadline)))
}

fn receive(stream: &mut TcpStream, answer: &mut [u8], timeout: Duration) -> io::Result<usize> {
    stream.set_read_timeout(Some(timeout))?;
    let mut length = stream.read(answer)?;
    while length > 0 && !answer.get(..length).is_some_and(is_enough) {
        match stream.read(answer.get_mut(length..).unwrap_or_default()) {
            Ok(0) | Err(_) => break,
            Ok(more) => length += more,
        }
    }
    Ok(length)
}
