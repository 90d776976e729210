//! Credentials, ACLs and TLS.
//!
//! All of them are read and checked before zklock forks, so that both processes can connect with them.

mod acl;
mod credential;
mod resolve;
mod sasl;
mod tls;

use zklock_core::acl::Acl;
use zklock_core::hosts::Hosts;
use zookeeper_client::{Client, Connector, Error, TlsOptions};

pub(super) use self::acl::to_library;
pub use self::credential::{CredentialError, Credentials};
pub(super) use self::resolve::resolve;
pub use self::tls::Tls;
pub(super) use self::tls::{Rereading, server_name};
use super::background::{in_background, run_in_background};

/// The security settings of a session.
#[derive(Debug, Clone, Default)]
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

    /// Connects to these servers with these credentials.
    pub(super) async fn connect(
        &self,
        connector: Connector,
        hosts: &Hosts,
        tls: Option<&Tls>,
    ) -> Result<Client, Error> {
        let mut connector = self.credentials.apply(connector);
        if let Some(tls) = tls {
            // The library assumes that every name is valid in a certificate.
            if hosts.servers.iter().any(|server| server_name(server).is_none()) {
                return Err(Error::BadArguments(
                    &"a server's name can't appear in a certificate; use another name for it",
                ));
            }
            connector = connector.with_tls(TlsOptions::new().with_certs(tls.certs()));
        }
        let (is_secure, hosts) = (tls.is_some(), hosts.to_string());
        // On the heap, because it is large, and a copy of it would be in each place where it is awaited.
        let connecting = Box::pin(async move {
            if is_secure { connector.secure_connect(&hosts).await } else { connector.connect(&hosts).await }
        });
        if self.credentials.ask_others() {
            let failed = || Error::UnexpectedError("can't start another thread, or it failed".to_owned());
            return run_in_background(connecting).await.unwrap_or_else(|_| Err(failed()));
        }
        connecting.await
    }
}
