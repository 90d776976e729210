//! A session whose connection was lost gets another one.

use std::pin::pin;
use std::time::Duration;

use async_io::Timer;
use futures::future::{Either, select};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt, select_biased};
use zklock_core::connecting::longest_reconnection;
use zookeeper_client::{Client, Error, SessionInfo, SessionState};

use super::connect::Dialer;
use super::library_task::LibraryTask;
use super::requests::LocalFuture;
use super::session::SessionEvents;
use super::{Asker, NodePath, Reply, RequestError, SessionChange, diagnose, write};

/// Reconnects a session.
pub(super) struct Reconnection<'a> {
    pub(super) session: SessionInfo,
    pub(super) timeout: Duration,
    pub(super) dialer: Dialer<'a>,
    pub(super) library: &'a LibraryTask,
    pub(super) events: &'a SessionEvents,
}

impl Reconnection<'_> {
    /// A new connection for the session, in place of one that was lost. All watches and requests end with the old one.
    ///
    /// Gives the session up after the [longest reconnection](longest_reconnection).
    pub(super) async fn reconnect(&mut self) -> Result<Client, RequestError> {
        self.library.end().await;
        let events = self.events;
        let settings = self.dialer.settings;
        let reconnecting = self.dialer.reconnect(&self.session, self.timeout);
        let watching = diagnose::watch(settings, None, |said| events.servers_say(said));
        let limit = Timer::after(longest_reconnection(self.timeout));
        let client = match select(select(pin!(reconnecting), pin!(watching)), limit).await {
            Either::Left((Either::Left((Ok(client), _)), _)) => client,
            Either::Left((Either::Left((Err(Error::SessionExpired), _)), _)) => {
                return Err(RequestError::Expired);
            }
            Either::Left((Either::Left((Err(Error::AuthFailed), _)), _)) => {
                return Err(RequestError::AuthFailed);
            }
            _ => return Err(RequestError::GivenUp),
        };
        self.session = client.session().clone();
        Ok(client)
    }

    /// Sends the deletes together with the close. The close alone would be enough, but the next contender's server
    /// learns of the deletes first.
    pub(super) async fn release(mut self, client: Client, nodes: &[NodePath]) {
        let mut deletes: FuturesUnordered<_> =
            nodes.iter().map(|node| write::delete(&client, node.as_str())).collect();
        // If no server answers any more, zklock gives the session up itself: nothing was confirmed.
        self.events.session(match self.close(client, &mut deletes).await {
            Ok(()) => SessionChange::Closed,
            Err(failure) => SessionChange::Lost(failure),
        });
    }

    /// Closes the session, over as many connections as necessary.
    async fn close(
        &mut self,
        mut client: Client,
        deletes: &mut FuturesUnordered<LocalFuture<'static, Result<(), RequestError>>>,
    ) -> Result<(), RequestError> {
        loop {
            let mut state = client.state_watcher();
            drop(client);
            let end = loop {
                let changed = async { state.changed().await };
                select_biased! {
                    result = deletes.select_next_some() => {
                        self.events.reply(Asker::Lease, Reply::Deleted(result));
                    }
                    state = Box::pin(changed).fuse() => break state,
                }
            };
            match end {
                SessionState::Closed => return Ok(()),
                SessionState::Expired => return Err(RequestError::Expired),
                SessionState::AuthFailed => return Err(RequestError::AuthFailed),
                _ => {
                    client = self.reconnect().await?;
                    self.library.ends_with_the_connection_of(&client);
                }
            }
        }
    }
}
