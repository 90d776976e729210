//! Opens a session, and reconnects to it when the connection was lost. Servers that refuse are retried.

use std::time::Duration;

use async_io::Timer;
use futures::future::{Either, select};
use zookeeper_client::{Client, Error, SessionInfo};

use super::diagnosis::ServerDiagnosis;
use super::resolver::Resolver;
use super::retry::{AttemptLimit, RetryPlan};
use super::security::Rotation;
use super::{ConnectFailure, Hosts, Settings, diagnose, write};
use crate::core::hosts::Server;
use crate::core::time::BootTime;
use crate::runtime::clock;

/// A shorter session timeout is refused, because no command can be stopped in that time. A server grants at least two
/// of its ticks, usually seconds.
const LEAST_TIMEOUT: Duration = Duration::from_millis(100);

/// The longest wait for name lookups. After that, the client library looks the name up itself, within the attempt's
/// limit.
const LONGEST_LOOK_UP: Duration = Duration::from_secs(1);

/// A connection, and its session.
pub(super) struct Connection {
    pub(super) client: Client,
    /// Just before the connect request was sent.
    pub(super) began: BootTime,
    /// How long connecting took.
    pub(super) speed: ConnectSpeed,
    /// Whether this was a [patient](AttemptLimit::Patient) attempt.
    patient: bool,
}

/// How long connecting took.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectSpeed {
    took: Duration,
    /// Whether only a [patient](AttemptLimit::Patient) attempt is long enough.
    slow: bool,
}

impl ConnectSpeed {
    /// The expected speed after this attempt and a later one.
    pub(super) fn at_best(self, later: Self) -> Self {
        Self { took: self.took.min(later.took), slow: later.slow }
    }
}

/// Connects, repeatedly if necessary.
pub(super) struct Dialer<'a> {
    settings: &'a Settings,
    rotation: Option<&'a Rotation>,
    resolver: Resolver,
}

impl<'a> Dialer<'a> {
    pub(super) fn new(settings: &'a Settings, rotation: Option<&'a Rotation>) -> Self {
        Self { settings, rotation, resolver: Resolver::new(&settings.hosts.servers) }
    }

    /// Tries until there is a session, or until the server refuses for good. Never gives up by itself.
    ///
    /// The session's timeout is always one that was requested: if the server grants another one, a second session
    /// requests that. The library derives how long it tolerates a silent server from the requested timeout, and also
    /// from the time that the attempt was given.
    pub(super) async fn connect(&mut self) -> Result<Connection, Error> {
        let mut timeout = self.settings.session_timeout;
        let mut retry = RetryPlan::new(timeout);
        loop {
            let Some(granted) = self.pass(&mut retry, timeout, None).await? else {
                if self.settings.refusals_end
                    && retry.result() == ConnectFailure::Refused
                    && self.all_refuse()
                {
                    return Err(Error::NoHosts);
                }
                Timer::after(retry.pause()).await;
                continue;
            };
            let given = granted.client.session_timeout();
            // The library tolerates a silence as long as the time given to the attempt: too long if the connection
            // turns out to be fast.
            let is_patient_in_vain = granted.patient && !granted.speed.slow;
            if given == timeout && !is_patient_in_vain {
                return Ok(granted);
            }
            log::debug!("asked for a session timeout of {timeout:?}, the server grants {given:?}");
            close(granted.client).await;
            (timeout, retry) = (given, RetryPlan::new(given));
        }
    }

    /// Whether every server refuses the connection. The library reports only that there is no connection.
    fn all_refuse(&self) -> bool {
        diagnose::all(self.settings).iter().all(ServerDiagnosis::is_refusal)
    }

    /// Reconnects to a session whose connection is closed. Tries until a server says that the session has ended.
    ///
    /// Later requests are answered by a server that knows everything committed before them. `away` is called after each
    /// failed pass.
    pub(super) async fn reconnect(
        &mut self,
        session: &SessionInfo,
        timeout: Duration,
        speed: ConnectSpeed,
        away: impl Fn(ConnectFailure),
    ) -> Result<Connection, Error> {
        let mut retry = RetryPlan::for_reconnection(timeout, speed.took, speed.slow);
        loop {
            if let Some(granted) = self.pass(&mut retry, timeout, Some(session)).await? {
                // A server that lags, or a deposed leader that doesn't know it is deposed, could show a state older
                // than one already seen. A session is served in order, and this write isn't done before the server
                // knows everything before it.
                drop(write::confirm(&granted.client, &["/".into()]));
                return Ok(granted);
            }
            away(retry.result());
            Timer::after(retry.pause()).await;
        }
    }

    /// Tries each server once, until one gives a session. `None` if none does.
    async fn pass(
        &mut self,
        retry: &mut RetryPlan,
        timeout: Duration,
        session: Option<&SessionInfo>,
    ) -> Result<Option<Connection>, Error> {
        let servers = if self.settings.security.needs_names() {
            self.settings.hosts.servers.clone()
        } else {
            self.resolver.resolve(LONGEST_LOOK_UP.min(timeout / 24)).await
        };
        for server in retry.pass(servers, clock::now()) {
            let (began, limit) = (clock::now(), retry.limit(&server));
            match self.open(&server, timeout, limit, session).await {
                Ok(client) => {
                    let (took, patient) =
                        (clock::now().since(began), matches!(limit, AttemptLimit::Patient(_)));
                    let speed = ConnectSpeed { took, slow: patient && took > timeout / 8 };
                    return Ok(Some(Connection { client, began, speed, patient }));
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
    ) -> Result<Client, Error> {
        let (connection_timeout, all) = match limit {
            AttemptLimit::Quick(all) => (timeout / 8, Some(all)),
            AttemptLimit::Usual(limit) | AttemptLimit::Patient(limit) => (limit, None),
        };
        let connector = Client::connector()
            .with_session_timeout(timeout)
            .with_connection_timeout(connection_timeout)
            // A single attempt: otherwise the library would keep trying for a whole session timeout.
            .with_fail_eagerly();
        let connector = match session {
            Some(session) => connector.with_session(session.clone()),
            None => connector,
        };
        let hosts = Hosts { servers: vec![server.clone()], chroot: self.settings.hosts.chroot.clone() };
        // On the heap, and freed when the client is connected: the library's future is large, and it would be part of
        // each future around it, on the stack of a thread that lives as long as the session.
        let connecting = Box::pin(self.settings.security.connect(connector, &hosts, self.rotation));
        let client = match all {
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
