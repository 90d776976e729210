//! Who we are to the ensemble, what others may do to our nodes, and who can listen.
//!
//! All of it is checked before any connection, and all that the guard needs to connect in our place is in here.

mod acl;
mod credential;

use serde::{Deserialize, Serialize};
use zookeeper_client::{Client, Connector, Error};

pub use self::acl::{Acl, BadAcl};
pub use self::credential::{BadCredential, Credential, Credentials};

/// How to connect, and what to make of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Security {
    /// Who we are.
    pub credentials: Credentials,
    /// Who may do what with the nodes that we make.
    pub acl: Acl,
}

impl Security {
    /// Whether something in it must not be seen by others.
    pub fn has_secrets(&self) -> bool {
        self.credentials.has_secrets()
    }

    /// Connects with all of this.
    pub(super) async fn connect(&self, connector: Connector, hosts: &str) -> Result<Client, Error> {
        self.credentials.apply(connector).connect(hosts).await
    }
}
