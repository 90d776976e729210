//! `check`: whether servers, timeouts and permissions are ready for locks. Each question has a function that asks, judges
//! and notes.

mod lock;
mod report;
mod servers;

use std::sync::mpsc::{RecvTimeoutError, channel};

use anyhow::{Context, Result, ensure};
use zklock_core::exit::Exit;
use zklock_core::server_wait::NOTICEABLE;
use zklock_core::text;

use self::lock::Questions;
use self::report::Report;
use super::session::{line, tells};
use crate::cli::{CheckOptions, Options};
use crate::ensemble::{BlockingError, BlockingSession, Limit, Settings, inspect};
use crate::process::clock::refuse_faketime;
use crate::process::{clock, thread};

pub(super) fn run(check: &CheckOptions, options: &Options) -> Result<Exit> {
    refuse_faketime()?;
    let (began, limit) = (clock::now(), options.connection.connect_timeout);
    let mut settings = Settings::new(&options.connection, began + limit)?;
    settings.refusals_end = true;
    let hosts = settings.hosts.to_string();
    let chroot = settings.hosts.chroot.take().map(|chroot| chroot.to_string());
    ensure!(
        !check.create_chroot || chroot.is_some(),
        "--create-chroot: the connect string {hosts} has no chroot; add it, as in {hosts}/app"
    );
    let has_tls = settings.security.tls.is_some();
    let mut report = Report::default();
    report.facts.credentials = settings.security.credentials.names();
    // Each address is asked directly, at the same time as the session.
    let (sender, answers) = channel();
    let asked = settings.clone();
    let thread = thread::builder().spawn(move || sender.send(inspect(&asked, limit)));
    thread.context("can't start a thread to ask the servers")?;
    let asked_timeout = settings.session_timeout;
    let until = Limit::Until(Some(began + limit * 2));
    let mut session = BlockingSession::new(settings, until, tells(options));
    let connected = session.connect();
    let has_session = connected.is_ok();
    match connected {
        Ok(granted) => {
            let mut questions = Questions {
                check,
                hosts: &hosts,
                chroot: chroot.as_deref(),
                granted,
                kill_after: options.lock.kill_after,
                session: &mut session,
                report: &mut report,
            };
            if let Err(why) = questions.ask(asked_timeout) {
                report.fail("session", why.to_string(), "");
            }
            session.close();
        }
        Err(BlockingError::CredentialsRefused(why)) => report.fail("credentials", why, ""),
        Err(BlockingError::Unreachable(_)) => report.fail(
            "session",
            "no server opened one",
            "correct -z or ZKLOCK_ZOOKEEPER, check the servers, or use a longer --connect-timeout",
        ),
        Err(why) => report.fail("session", why.to_string(), ""),
    }
    let mut line = line(options);
    let servers = loop {
        match answers.recv_timeout(NOTICEABLE) {
            Err(RecvTimeoutError::Timeout) => {
                let left = text::whole(clock::now().until(began + limit));
                line(Some(format!("waiting for an answer of each server, {left} left")));
            }
            servers => break servers.unwrap_or_default(),
        }
    };
    line(None);
    let of_session = std::mem::take(&mut report.findings);
    servers::servers(&mut report, &servers, has_session, has_tls);
    servers::versions(&mut report, &servers);
    report.findings.extend(of_session);
    report.print(check.json, options.quiet)
}
