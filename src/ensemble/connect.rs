//! Carries out the course of a session: looks servers up, asks them for the session, and waits. What comes when is decided
//! in [`zklock_core::connecting`].

use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use async_io::Timer;
use futures::future::{Either, select};
use zklock_core::connecting::{Action, Course, Outcome, longest_silence};
use zklock_core::hosts::Server;
use zklock_core::time::BootTime;
use zookeeper_client::{Client, Error, SessionInfo};

use super::diagnosis::ServerDiagnosis;
use super::failure::request_error;
use super::library_task::LibraryTask;
use super::resolver::Resolver;
use super::security::Rereading;
use super::session::SessionEvents;
use super::{Hosts, RequestError, SessionChange, Settings, diagnose, write};
use crate::process::clock;

/// A shorter session timeout is refused, because no command can be stopped in that time. A server grants at least two
/// of its ticks, usually seconds.
const LEAST_TIMEOUT: Duration = Duration::from_millis(100);

/// Connects a session, repeatedly if necessary.
pub(super) struct Connector<'a> {
    settings: &'a Settings,
    library: &'a LibraryTask,
    events: &'a SessionEvents,
    course: Course<Server>,
    /// `None` before there is a session.
    session: Option<SessionInfo>,
    resolver: Resolver,
    tls: Option<Rereading>,
}

/// How the way to a connection ended.
type Connected = Result<(Client, BootTime), SessionChange>;

impl<'a> Connector<'a> {
    /// Opens a session, and returns it with the time just before it was requested. An error is what to report.
    pub(super) async fn open(
        settings: &'a Settings,
        library: &'a LibraryTask,
        events: &'a SessionEvents,
    ) -> Result<(Self, Client, BootTime), SessionChange> {
        let (course, first) = Course::new(settings.session_timeout, settings.deadline, settings.refusals_end);
        let mut connector = Self {
            settings,
            library,
            events,
            course,
            session: None,
            resolver: Resolver::new(&settings.hosts.servers),
            tls: settings.security.tls.as_ref().map(Rereading::new),
        };
        let watching = diagnose::watch(settings, settings.deadline, |said| events.servers_say(said));
        let opened = match select(pin!(connector.follow(first)), pin!(watching)).await {
            Either::Left((Err(SessionChange::Unreachable(_)), watching)) => {
                let is_late = settings.deadline.is_some_and(|deadline| deadline <= clock::now());
                let servers = if is_late { watching.await } else { diagnose::texts(settings).await };
                Err(SessionChange::Unreachable(servers))
            }
            Either::Left((opened, _)) => opened,
            Either::Right((servers, _)) => Err(SessionChange::Unreachable(servers)),
        };
        let (client, began) = opened?;
        connector.session = Some(client.session().clone());
        Ok((connector, client, began))
    }

    /// A new connection for the session, in place of one that was lost. All watches and requests end with the old one. An
    /// error is what to report.
    pub(super) async fn reconnect(&mut self) -> Result<Client, SessionChange> {
        self.library.end().await;
        let first = self.course.next(Outcome::Lost, clock::now(), &mut random);
        let (settings, events) = (self.settings, self.events);
        let watching = diagnose::watch(settings, None, |said| events.servers_say(said));
        let (client, _) = match select(pin!(self.follow(first)), pin!(watching)).await {
            Either::Left((connected, _)) => connected?,
            Either::Right(_) => return Err(SessionChange::Lost(RequestError::GivenUp)),
        };
        self.session = Some(client.session().clone());
        Ok(client)
    }

    /// Follows the course from this action on, until there is a connection or none is tried for any more.
    async fn follow(&mut self, mut action: Action<Server>) -> Connected {
        let mut client = None;
        let mut longest = self.course.longest_reconnection().map_or_else(Timer::never, Timer::after);
        loop {
            let due = self.course.due();
            let event = match action {
                Action::Serve { began, catch_up } => {
                    let client = client.ok_or(SessionChange::Closed)?;
                    if catch_up {
                        drop(write::confirm(&client, &["/".into()]));
                    }
                    return Ok((client, began));
                }
                Action::Unreachable => return Err(SessionChange::Unreachable(vec![])),
                Action::Lost(failure) => return Err(SessionChange::Lost(failure)),
                action => {
                    let timer = due.map_or_else(Timer::never, |due| Timer::after(clock::now().until(due)));
                    let carrying_out = pin!(self.carry_out(action, &mut client));
                    match select(carrying_out, select(timer, &mut longest)).await {
                        Either::Left((event, _)) => event,
                        Either::Right((Either::Left(_), _)) => Outcome::Due,
                        Either::Right((Either::Right(_), _)) => Outcome::TooLate,
                    }
                }
            };
            action = self.course.next(event, clock::now(), &mut random);
        }
    }

    /// Carries out an action, and returns what came of it. A client that it opens goes to `client`.
    async fn carry_out(&mut self, action: Action<Server>, client: &mut Option<Client>) -> Outcome<Server> {
        match action {
            Action::LookUp(longest) => {
                if let Some(tls) = &mut self.tls {
                    tls.update(&self.settings.hosts, longest).await;
                }
                Outcome::Servers(if self.settings.security.needs_names() {
                    self.settings.hosts.servers.clone()
                } else {
                    self.resolver.resolve(longest).await
                })
            }
            Action::Dial(server, timeout) => match self.dial(&server, timeout).await {
                Ok(opened) => {
                    let granted = opened.session_timeout();
                    if granted != timeout {
                        log::debug!(
                            "asked for a session timeout of {timeout:?}, the server grants {granted:?}"
                        );
                    }
                    *client = Some(opened);
                    Outcome::Opened(granted)
                }
                Err(error) => {
                    log::debug!("no session with {server} yet: {error}");
                    Outcome::Failed(match error {
                        Error::BadArguments(_) => RequestError::GivenUp,
                        error => request_error(error),
                    })
                }
            },
            // The library reports only that there is no connection.
            Action::Diagnose => {
                let servers = diagnose::all_in_background(self.settings).await;
                Outcome::Diagnosed(!servers.is_empty() && servers.iter().all(ServerDiagnosis::is_refusal))
            }
            Action::Close => {
                if let Some(client) = client.take() {
                    close(client).await;
                }
                Outcome::Closed
            }
            Action::Pause | Action::Serve { .. } | Action::Unreachable | Action::Lost(_) => pending().await,
        }
    }

    async fn dial(&self, server: &Server, timeout: Duration) -> Result<Client, Error> {
        let connector = Client::connector()
            .with_session_timeout(timeout)
            .with_connection_timeout(longest_silence(timeout))
            // A single attempt: otherwise the library would keep trying for a whole session timeout.
            .with_fail_eagerly();
        let connector = match &self.session {
            Some(session) => connector.with_session(session.clone()),
            None => connector,
        };
        let hosts = Hosts { servers: vec![server.clone()], chroot: self.settings.hosts.chroot.clone() };
        let tls = self.tls.as_ref().map(|tls| &tls.tls);
        // On the heap, and freed when the client is connected: the library's future is large, and it would be part of
        // each future around it, on the stack of a thread that lives as long as the session.
        let client = Box::pin(self.settings.security.connect(connector, &hosts, tls)).await?;
        let granted = client.session_timeout();
        if granted < LEAST_TIMEOUT {
            return Err(Error::UnexpectedError(format!(
                "the server granted a session timeout of {granted:?}, which is too short to use"
            )));
        }
        Ok(client)
    }
}

/// Closes a session and waits for the answer.
async fn close(client: Client) {
    let mut state = client.state_watcher();
    drop(client);
    while !state.changed().await.is_terminated() {}
}

/// A random number below the bound.
fn random(bound: usize) -> usize {
    fastrand::usize(..bound)
}
