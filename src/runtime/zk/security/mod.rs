//! Who we are to the ensemble, what others may do to our nodes, and who can listen.
//!
//! All of it is checked before any connection, and before zklock becomes two processes: both can connect with it.

mod acl;
mod credential;
mod rotation;
mod sasl;
mod tls;

use super::Hosts;
use serde::{Deserialize, Serialize};
use zookeeper_client::{Client, Connector, Error, TlsOptions};

pub use self::acl::{Acl, AclError};
pub use self::credential::{Credential, CredentialError, Credentials};
pub(super) use self::rotation::Rotation;
pub use self::rotation::Sources;
pub use self::tls::{Ca, Identity, Tls, TlsError};
pub(super) use self::tls::{end_of, server_name};

/// How to connect, and what to make of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Security {
    /// Who we are.
    pub credentials: Credentials,
    /// Who may do what with the nodes that we make.
    pub acl: Acl,
    /// Whether to connect with TLS, and whom to believe then.
    pub tls: Option<Tls>,
}

impl Security {
    /// Whether something in it must not be seen by others.
    pub fn has_secrets(&self) -> bool {
        self.credentials.has_secrets() || self.tls.as_ref().is_some_and(Tls::has_identity)
    }

    /// Whether a server must be reached by its name: its certificate or its Kerberos principal bears the name, and
    /// the client library compares it with what it connects to.
    pub(super) fn needs_names(&self) -> bool {
        self.tls.is_some() || self.credentials.need_names()
    }

    /// What TLS connections are made with, if they are to be encrypted.
    pub(super) fn rotation(&self, hosts: &Hosts) -> Result<Option<Rotation>, Error> {
        self.tls.as_ref().map(|tls| Rotation::begin(tls, hosts.to_string())).transpose()
    }

    /// Connects with all of this.
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
        // The library takes it for granted.
        if hosts.servers.iter().any(|server| server_name(server).is_none()) {
            return Err(Error::BadArguments(&"a server has a name that no certificate can bear"));
        }
        connector
            .with_tls(TlsOptions::new().with_certs(rotation.certs()))
            .secure_connect(&hosts.to_string())
            .await
    }
}
