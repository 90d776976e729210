//! Opens a session, and reconnects to it when the connection was lost. Servers that refuse are retried.

use std::time::Duration;

use async_io::Timer;
use futures::future::{Either, select};
use zklock_core::connecting::ConnectSpeed;
use zklock_core::connecting::retry::{AttemptLimit, RetryPlan};
use zklock_core::hosts::Server;
use zklock_core::time::BootTime;
use zookeeper_client::{Client, Error, SessionInfo};

use super::diagnosis::ServerDiagnosis;
use super::resolver::Resolver;
use super::security::{Rereading, Tls};
use super::{ConnectFailure, Hosts, Settings, diagnose, write};
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
    /// How long connecting took.
    pub(super) speed: ConnectSpeed,
}

/// Connects, repeatedly if necessary.
pub(super) struct Dialer<'a> {
    pub(super) settings: &'a Settings,
    tls: Option<Rereading>,
    resolver: Resolver,
}

impl<'a> Dialer<'a> {
    pub(super) fn new(settings: &'a Settings) -> Self {
        let tls = settings.security.tls.as_ref().map(Rereading::new);
        Self { settings, tls, resolver: Resolver::new(&settings.hosts.servers) }
    }

    /// Tries until there is a session, or until the server refuses for good. Never gives up by itself.
    ///
    /// The session's timeout is always one that was requested: if the server grants another one, a second session
    /// requests that ([why](RetryPlan::accepts)).
    pub(super) async fn connect(&mut self) -> Result<Connection, Error> {
        let mut timeout = self.settings.session_timeout;
        let mut retry = RetryPlan::new(timeout);
        loop {
            let Some(granted) = self.pass(&mut retry, timeout, None).await? else {
                if self.settings.refusals_end
                    && retry.result() == ConnectFailure::Refused
                    && self.all_refuse().await
                {
                    return Err(Error::NoHosts);
                }
                Timer::after(retry.pause(&mut random)).await;
                continue;
            };
            let given = granted.client.session_timeout();
            if retry.accepts(given, granted.speed) {
                return Ok(granted);
            }
            log::debug!("asked for a session timeout of {timeout:?}, the server grants {given:?}");
            close(granted.client).await;
            (timeout, retry) = (given, RetryPlan::new(given));
        }
    }

    /// Whether every server refuses the connection. The library reports only that there is no connection.
    async fn all_refuse(&self) -> bool {
        let servers = diagnose::all_in_background(self.settings).await;
        !servers.is_empty() && servers.iter().all(ServerDiagnosis::is_refusal)
    }

    /// Reconnects to a session whose connection is closed. Tries until a server says that the session has ended.
    ///
    /// Later requests are answered by a server that knows everything committed before them.
    pub(super) async fn reconnect(
        &mut self,
        session: &SessionInfo,
        timeout: Duration,
        speed: ConnectSpeed,
    ) -> Result<Connection, Error> {
        let mut retry = RetryPlan::for_reconnection(timeout, speed);
        loop {
            if let Some(granted) = self.pass(&mut retry, timeout, Some(session)).await? {
                // A server that lags, or a deposed leader that doesn't know it is deposed, could show a state older
                // than one already seen. A session is served in order, and this write isn't done before the server
                // knows everything before it.
                drop(write::confirm(&granted.client, &["/".into()]));
                return Ok(granted);
            }
            Timer::after(retry.pause(&mut random)).await;
        }
    }

    /// Tries each server once, until one gives a session. `None` if none does.
    async fn pass(
        &mut self,
        retry: &mut RetryPlan<Server>,
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
        for server in retry.pass(servers, clock::now(), &mut random) {
            let (began, limit) = (clock::now(), retry.limit(&server));
            match self.open(&server, timeout, limit, session, tls.as_ref()).await {
                Ok(client) => {
                    let speed = ConnectSpeed::of(clock::now().since(began), limit, timeout);
                    return Ok(Some(Connection { client, began, speed }));
                }
                Err(error @ (Error::AuthFailed | Error::BadArguments(_))) => return Err(error),
                Err(Error::SessionExpired) if session.is_some() => return Err(Error::SessionExpired),
                Err(error) => {
                    let now = clock::now();
                    log::debug!("no session with {server} yet: {error}");
                    retry.failed(&server, limit, now.since(began), now);
                }
            }
        }
        Ok(None)
    }

    async fn open(
        &self,
        server: &Server,
        timeout: Duration,
        limit: AttemptLimit,
        session: Option<&SessionInfo>,
        tls: Option<&Tls>,
    ) -> Result<Client, Error> {
        let connector = Client::connector()
            .with_session_timeout(timeout)
            .with_connection_timeout(limit.silence(timeout))
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
        let client = match limit.whole() {
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
