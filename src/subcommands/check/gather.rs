//! Gathers the facts: asks each server directly, and tries requests in a session.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result};
use zklock_core::duration;
use zklock_core::server_wait::NOTICEABLE;
use zklock_core::text;
use zklock_core::time::BootTime;

use super::super::host_time;
use super::super::session::{line, tells};
use super::facts::{Chroot, ChrootState, Facts, SessionError};
use super::interrupt::Interrupt;
use super::{old_records, probe, queue};
use crate::cli::{CheckOptions, Options};
use crate::ensemble::{
    BlockingError, BlockingSession, Limit, RequestError, ServerReport, Settings, Tls, inspect,
};
use crate::process::clock;
use crate::process::thread;

/// How often to check for a signal while waiting for the direct answers.
const INTERVAL: Duration = Duration::from_millis(50);

/// Gathers all facts within twice the connect timeout.
pub(super) fn gather(check: &CheckOptions, options: &Options, interrupt: &Interrupt) -> Result<Facts> {
    let (connect_timeout, began) = (options.ensemble.connect_timeout, clock::now());
    let mut settings = Settings::new(&options.connection(), began + connect_timeout)?;
    settings.session_timeout = check.session_timeout.unwrap_or(settings.session_timeout);
    settings.refusals_end = true;
    let hosts = settings.hosts.to_string();
    let chroot = settings.hosts.chroot.take();
    if check.create_chroot && chroot.is_none() {
        anyhow::bail!("--create-chroot: the connect string {hosts} has no chroot; add it, as in {hosts}/app");
    }
    let servers = ask_each(settings.clone(), connect_timeout)?;
    let tls = settings.security.tls.as_ref();
    let mut facts = Facts {
        hosts,
        tls: tls.is_some(),
        servers: vec![],
        asked: settings.session_timeout,
        session: Err(SessionError::TooLate(connect_timeout)),
        broken: None,
        trips: vec![],
        kill_after: options.lock.kill_after,
        chroot: chroot.map(|path| Chroot { path: path.to_string(), state: ChrootState::Unknown }),
        credentials: settings.security.credentials.names(),
        own_certificate_ends: tls.and_then(Tls::identity_ends),
        path: check.path.as_ref().map(ToString::to_string),
        probe: None,
        family: options.lock.family(),
        queue: None,
        records: vec![],
        now: host_time(),
    };
    ask_in_a_session(&mut facts, settings, options, check.create_chroot, interrupt);
    facts.servers = wait_for(&servers, began + connect_timeout, line(options), interrupt);
    Ok(facts)
}

/// Starts to ask each address of each server in a thread.
fn ask_each(settings: Settings, connect_timeout: Duration) -> Result<Receiver<Vec<ServerReport>>> {
    let (sender, servers) = channel();
    // Not joined: after Ctrl-C its result isn't needed.
    let thread = thread::builder().spawn(move || sender.send(inspect(&settings, connect_timeout)));
    thread.context("can't start a thread to ask the servers")?;
    Ok(servers)
}

/// Waits for the direct answers, which are complete at this time at the latest, and shows a `line` meanwhile.
fn wait_for(
    servers: &Receiver<Vec<ServerReport>>,
    until: BootTime,
    mut line: impl FnMut(Option<String>),
    interrupt: &Interrupt,
) -> Vec<ServerReport> {
    let began = clock::now();
    let mut tell_at = began + NOTICEABLE;
    let reports = loop {
        if interrupt.signal().is_some() {
            break vec![];
        }
        match servers.recv_timeout(INTERVAL) {
            Ok(servers) => break servers,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break vec![],
        }
        let now = clock::now();
        if tell_at <= now {
            let (waited, left) = (text::whole(now.since(began)), text::whole(now.until(until)));
            line(Some(format!("waiting for an answer of each server for {waited}, {left} left")));
            tell_at = now + NOTICEABLE;
        }
    };
    line(None);
    reports
}

fn ask_in_a_session(
    facts: &mut Facts,
    settings: Settings,
    options: &Options,
    create_chroot: bool,
    interrupt: &Interrupt,
) {
    let connect_timeout = options.ensemble.connect_timeout;
    let limit = Limit::Until(Some(clock::now() + connect_timeout * 2));
    let mut session =
        BlockingSession::new(settings, limit).telling(tells(options)).unless(|| interrupt.signal().is_some());
    match session.connect() {
        Ok(()) => {
            facts.session = Ok(session.timeout().unwrap_or(facts.asked));
            if let Err(why) = ask(facts, &mut session, connect_timeout, create_chroot) {
                facts.broken = Some(failure(&why, connect_timeout));
            }
        }
        Err(why) => facts.session = Err(session_error(&why, connect_timeout)),
    }
    // A probe node that is left is deleted with the session.
    session.close_in_any_case();
}

fn ask(
    facts: &mut Facts,
    session: &mut BlockingSession<'_>,
    connect_timeout: Duration,
    create_chroot: bool,
) -> Result<(), BlockingError> {
    if let Some(chroot) = &mut facts.chroot {
        chroot.state = check_chroot(session, &chroot.path, create_chroot)?;
    }
    if facts.chroot.as_ref().is_none_or(Chroot::exists) {
        probe::probe(facts, session, connect_timeout)?;
        queue::check(facts, session)?;
        old_records::find(facts, session)?;
    } else {
        facts.trips = probe::round_trips(session, "/", connect_timeout)?;
    }
    Ok(())
}

fn check_chroot(
    session: &mut BlockingSession<'_>,
    path: &str,
    create: bool,
) -> Result<ChrootState, BlockingError> {
    Ok(match session.get(path.into())? {
        Err(RequestError::NoNode) if create => match session.create_persistent(path.into())? {
            Ok(()) => ChrootState::Created,
            Err(failure) => ChrootState::Refused(failure),
        },
        Err(RequestError::NoNode) => ChrootState::Missing,
        _ => ChrootState::Exists,
    })
}

fn session_error(why: &BlockingError, connect_timeout: Duration) -> SessionError {
    match why {
        BlockingError::CredentialsRefused(..) => SessionError::CredentialsRefused,
        BlockingError::Unreachable(..) | BlockingError::TimedOut(_) => SessionError::TooLate(connect_timeout),
        BlockingError::SessionEnded(_) => SessionError::Other(why.to_string()),
    }
}

fn failure(why: &BlockingError, connect_timeout: Duration) -> String {
    match why {
        BlockingError::SessionEnded(failure) => failure.to_string(),
        _ => format!("no answer within {}", duration::text(connect_timeout * 2)),
    }
}
