//! Credentials, ACLs and TLS.
//!
//! All of them are read and checked before zklock forks, so that both processes can connect with them.

mod acl;
mod credential;
mod resolve;
mod rotation;
mod sasl;
mod tls;

use zklock_core::acl::Acl;
use zklock_core::hosts::Hosts;
use zookeeper_client::{Client, Connector, Error, TlsOptions};

pub(super) use self::acl::to_library;
pub use self::credential::{CredentialError, Credentials};
pub(super) use self::resolve::resolve;
pub(super) use self::rotation::Rotation;
pub use self::rotation::TlsFiles;
pub use self::tls::{Ca, Identity, Tls, TlsError};
pub(super) use self::tls::{certificate_end, server_name};
use super::background::{in_background, run_in_background};

/// The security settings of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Security {
    /// The credentials that zklock authenticates with.
    pub credentials: Credentials,
    /// The permissions on the nodes that zklock creates.
    pub acl: Acl,
    /// The TLS settings; `None` connects without TLS.
    pub tls: Option<Tls>,
}

impl Security {
    /// Whether these settings contain a secret.
    pub fn has_secrets(&self) -> bool {
        self.credentials.has_secrets() || self.tls.as_ref().is_some_and(Tls::has_identity)
    }

    /// Whether a server must be reached by its name and not by an address: the client library compares the name with
    /// the server's certificate or Kerberos principal.
    pub(super) fn needs_names(&self) -> bool {
        self.tls.is_some() || self.credentials.need_names()
    }

    /// Starts to provide the certificates for TLS connections; `None` without TLS.
    pub(super) async fn rotation(&self, hosts: &Hosts) -> Result<Option<Rotation>, Error> {
        let Some(tls) = self.tls.clone() else { return Ok(None) };
        let hosts = hosts.to_string();
        let begun = in_background(move || Rotation::begin(&tls, hosts)).await;
        begun.unwrap_or_else(|_| Err(no_thread())).map(Some)
    }

    /// Connects to these servers with these settings.
    pub(super) async fn connect(
        &self,
        connector: Connector,
        hosts: &Hosts,
        rotation: Option<&Rotation>,
    ) -> Result<Client, Error> {
        let mut connector = self.credentials.apply(connector);
        if let Some(rotation) = rotation {
            // The library assumes that every name is valid in a certificate.
            if hosts.servers.iter().any(|server| server_name(server).is_none()) {
                return Err(Error::BadArguments(
                    &"a server's name can't appear in a certificate; use another name for it",
                ));
            }
            connector = connector.with_tls(TlsOptions::new().with_certs(rotation.certs()));
        }
        let (is_secure, hosts) = (rotation.is_some(), hosts.to_string());
        // On the heap, because it is large, and a copy of it would be in each place where it is awaited.
        let connecting = Box::pin(async move {
            if is_secure { connector.secure_connect(&hosts).await } else { connector.connect(&hosts).await }
        });
        if self.credentials.ask_others() {
            return run_in_background(connecting).await.unwrap_or_else(|_| Err(no_thread()));
        }
        connecting.await
    }
}

fn no_thread() -> Error {
    Error::UnexpectedError("can't start another thread, or it failed".to_owned())
}
