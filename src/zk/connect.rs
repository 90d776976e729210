//! Getting a session: servers that refuse are tried again until the deadline.

use std::time::Duration;

use async_io::Timer;
use zookeeper_client::{Client, Error};

use super::security::Rotation;
use super::{Hosts, Settings, addresses};
use crate::clock::BootTime;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Nothing can be stopped in less. A server grants two of its ticks at least, which are seconds as a rule.
const LEAST_TIMEOUT: Duration = Duration::from_millis(100);

/// A session as it was granted.
pub(super) struct Granted {
    pub(super) client: Client,
    /// Just before its connect request was sent.
    pub(super) began: BootTime,
}

/// Tries until there is a session, or until the server says no for good. Never gives up by itself.
pub(super) async fn connect(settings: &Settings, rotation: Option<&Rotation>) -> Result<Granted, Error> {
    let mut pause = FIRST_PAUSE;
    loop {
        match negotiate(settings, rotation).await {
            Ok(granted) => return Ok(granted),
            Err(error @ (Error::AuthFailed | Error::BadArguments(_))) => return Err(error),
            Err(error) => {
                log::debug!("no session with {} yet: {error}", settings.hosts);
                Timer::after(pause).await;
                pause = LONGEST_PAUSE.min(pause * 2);
            }
        }
    }
}

/// A session whose granted timeout is the one that was asked for. If the server grants another, that one is
/// asked for in a second session: the library reckons its patience with a silent server from what it asked.
async fn negotiate(settings: &Settings, rotation: Option<&Rotation>) -> Result<Granted, Error> {
    let hosts = if settings.security.needs_names() {
        settings.hosts.clone()
    } else {
        addresses::spread(&settings.hosts, patience(settings.session_timeout)).await
    };
    let first = open(settings, &hosts, rotation, settings.session_timeout).await?;
    let granted = first.client.session_timeout();
    if granted == settings.session_timeout {
        return Ok(first);
    }
    log::debug!(
        "asked for a session timeout of {:?}, the server grants {granted:?}",
        settings.session_timeout
    );
    close(first.client).await;
    open(settings, &hosts, rotation, granted).await
}

/// How long a server may be silent before another is tried.
fn patience(timeout: Duration) -> Duration {
    // Measured with T = 9 s and 24 clients: giving a silent server up after T/4 leaves gaps of up to
    // 5.8 s when a follower freezes, T/8 of 2.4 s. A steady lease has 5T/12 to ride out.
    timeout / 8
}

async fn open(
    settings: &Settings,
    hosts: &Hosts,
    rotation: Option<&Rotation>,
    timeout: Duration,
) -> Result<Granted, Error> {
    let began = BootTime::now();
    let connector = Client::connector()
        .with_session_timeout(timeout)
        .with_connection_timeout(patience(timeout))
        // One pass over the servers: the library would otherwise go on for a whole session timeout.
        .with_fail_eagerly();
    let client = settings.security.connect(connector, hosts, rotation).await?;
    let granted = client.session_timeout();
    if granted < LEAST_TIMEOUT {
        return Err(Error::UnexpectedError(format!(
            "a session timeout of {granted:?} is too short to be true"
        )));
    }
    Ok(Granted { client, began })
}

/// Closes a session and waits for the answer.
pub(super) async fn close(client: Client) {
    let mut state = client.state_watcher();
    drop(client);
    while !state.changed().await.is_terminated() {}
}
