//! Opens a session, and reconnects to it when the connection was lost. Servers that refuse are retried.

use std::time::Duration;

use async_io::Timer;
use futures::future::{Either, select};
use zklock_core::connecting::{Attempts, longest_silence};
use zklock_core::hosts::Server;
use zklock_core::time::BootTime;
use zookeeper_client::{Client, Error, SessionInfo};

use super::diagnosis::ServerDiagnosis;
use super::resolver::Resolver;
use super::security::{Rereading, Tls};
use super::{Hosts, Settings, diagnose, write};
use crate::process::clock;

/// A shorter session timeout is refused, because no command can be stopped in that time. A server grants at least two
/// of its ticks, usually seconds.
const LEAST_TIMEOUT: Duration = Duration::from_millis(100);

/// The longest wait for name lookups, and for TLS files. After that, the client library looks the name up itself, within
/// the attempt's limit, and the last good files are used.
const LONGEST_LOOK_UP: Duration = Duration::from_secs(1);

/// A connection, and its session.
pub(super) struct Connection {
    pub(super) client: Client,
    /// Just before the connect request was sent.
    pub(super) began: BootTime,
}

/// Connects, repeatedly if necessary.
pub(super) struct Dialer<'a> {
    pub(super) settings: &'a Settings,
    attempts: Attempts<Server>,
    tls: Option<Rereading>,
    resolver: Resolver,
}

impl<'a> Dialer<'a> {
    pub(super) fn new(settings: &'a Settings) -> Self {
        let tls = settings.security.tls.as_ref().map(Rereading::new);
        let attempts = Attempts::new(settings.session_timeout);
        Self { settings, attempts, tls, resolver: Resolver::new(&settings.hosts.servers) }
    }

    /// Tries until there is a session, or until the server refuses for good. Never gives up by itself.
    ///
    /// The session's timeout is always one that was requested: if the server grants another one, a second session
    /// requests that, because the client library tolerates a silence that depends on the requested timeout.
    pub(super) async fn connect(&mut self) -> Result<Connection, Error> {
        let mut timeout = self.settings.session_timeout;
        loop {
            let Some(granted) = self.pass(timeout, None).await? else {
                if self.settings.refusals_end && self.all_refuse().await {
                    return Err(Error::NoHosts);
                }
                Timer::after(self.attempts.pause(&mut random)).await;
                continue;
            };
            let given = granted.client.session_timeout();
            if given == timeout {
                return Ok(granted);
            }
            log::debug!("asked for a session timeout of {timeout:?}, the server grants {given:?}");
            close(granted.client).await;
            (timeout, self.attempts) = (given, Attempts::new(given));
        }
    }

    /// Whether every server refuses the connection. The library reports only that there is no connection.
    async fn all_refuse(&self) -> bool {
        let servers = diagnose::all_in_background(self.settings).await;
        !servers.is_empty() && servers.iter().all(ServerDiagnosis::is_refusal)
    }

    /// Reconnects to a session whose connection was lost. Tries until a server says that the session has ended.
    ///
    /// Later requests are answered by a server that knows everything committed before them.
    pub(super) async fn reconnect(
        &mut self,
        session: &SessionInfo,
        timeout: Duration,
    ) -> Result<Client, Error> {
        let mut pause = self.attempts.lost(clock::now());
        loop {
            Timer::after(pause).await;
            if let Some(Connection { client, .. }) = self.pass(timeout, Some(session)).await? {
                // A server that lags, or a deposed leader that doesn't know it is deposed, could show a state older
                // than one already seen. A session is served in order, and this write isn't done before the server
                // knows everything before it.
                drop(write::confirm(&client, &["/".into()]));
                return Ok(client);
            }
            pause = self.attempts.pause(&mut random);
        }
    }

    /// Tries each server once, until one gives a session. `None` if none does.
    async fn pass(
        &mut self,
        timeout: Duration,
        session: Option<&SessionInfo>,
    ) -> Result<Option<Connection>, Error> {
        let longest = LONGEST_LOOK_UP.min(timeout / 24);
        let tls = match &mut self.tls {
            Some(tls) => Some(tls.current(&self.settings.hosts, longest).await),
            None => None,
        };
        let servers = if self.settings.security.needs_names() {
            self.settings.hosts.servers.clone()
        } else {
            self.resolver.resolve(longest).await
        };
        for server in self.attempts.pass(servers, &mut random) {
            let began = clock::now();
            let limit = self.attempts.limit(began);
            let opened = self.open(&server, timeout, limit, session, tls.as_ref()).await;
            let now = clock::now();
            match opened {
                Ok(client) => {
                    self.attempts.connected(server, now.since(began), now);
                    return Ok(Some(Connection { client, began }));
                }
                Err(error @ (Error::AuthFailed | Error::BadArguments(_))) => return Err(error),
                Err(Error::SessionExpired) if session.is_some() => return Err(Error::SessionExpired),
                Err(error) => {
                    log::debug!("no session with {server} yet: {error}");
                    self.attempts.failed(&server, limit, now.since(began));
                }
            }
        }
        Ok(None)
    }

    async fn open(
        &self,
        server: &Server,
        timeout: Duration,
        limit: Option<Duration>,
        session: Option<&SessionInfo>,
        tls: Option<&Tls>,
    ) -> Result<Client, Error> {
        let connector = Client::connector()
            .with_session_timeout(timeout)
            .with_connection_timeout(longest_silence(timeout))
            // A single attempt: otherwise the library would keep trying for a whole session timeout.
            .with_fail_eagerly();
        let connector = match session {
            Some(session) => connector.with_session(session.clone()),
            None => connector,
        };
        let hosts = Hosts { servers: vec![server.clone()], chroot: self.settings.hosts.chroot.clone() };
        // On the heap, and freed when the client is connected: the library's future is large, and it would be part of
        // each future around it, on the stack of a thread that lives as long as the session.
        let connecting = Box::pin(self.settings.security.connect(connector, &hosts, tls));
        let client = match limit {
            None => connecting.await?,
            Some(all) => match select(connecting, Timer::after(all)).await {
                Either::Left((client, _)) => client?,
                Either::Right(_) => return Err(Error::Timeout),
            },
        };
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
