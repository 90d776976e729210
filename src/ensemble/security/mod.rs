//! Credentials, ACLs and TLS.
//!
//! All of them are read and checked before zklock forks, so that both processes can connect with them.

mod acl;
mod certificate;
mod credential;
mod resolve;
mod rotation;
mod sasl;
mod tls;

use zklock_core::acl::Acl;
use zklock_core::hosts::Hosts;
use zookeeper_client::{Client, Connector, Error, TlsOptions};

pub(super) use self::acl::to_library;
pub(super) use self::certificate::flaw;
pub use self::credential::{CredentialError, Credentials};
pub(super) use self::resolve::resolve;
pub(super) use self::rotation::Rotation;
pub use self::rotation::TlsFiles;
pub use self::tls::{Ca, Identity, Tls, TlsError};
pub(super) use self::tls::{certificate_end, server_name};

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
    pub(super) fn rotation(&self, hosts: &Hosts) -> Result<Option<Rotation>, Error> {
        self.tls.as_ref().map(|tls| Rotation::begin(tls, hosts.to_string())).transpose()
    }

    /// Connects to these servers with these settings.
    pub(super) async fn connect(
        &self,
        connector: Connector,
        hosts: &Hosts,
        rotation: Option<&Rotation>,
    ) -> Result<Client, Error> {
        let connector = self.credentials.apply(connector);
        let Some(rotation) = rotation else {
            return connector.connect(&hosts.to_string()).await;
        };
        // The library assumes that every name is valid in a certificate.
        if hosts.servers.iter().any(|server| server_name(server).is_none()) {
            return Err(Error::BadArguments(
                &"a server's name can't appear in a certificate; use another name for it",
            ));
        }
        connector
            .with_tls(TlsOptions::new().with_certs(rotation.certs()))
            .secure_connect(&hosts.to_string())
            .await
    }
}
