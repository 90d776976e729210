//! Why a request failed, whatever the client library calls it.

use thiserror::Error;
use zookeeper_client::Error as LibraryError;

use crate::lock::record::printable;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
pub enum Failure {
    /// The connection went before the answer came: it may have been carried out or not.
    #[error("the connection was lost before the answer came")]
    ConnectionLost,
    /// There is no such node, or no parent for it.
    #[error("there is no such node")]
    NoNode,
    /// The ACL doesn't allow it.
    #[error("permission denied")]
    NoAuth,
    /// The ACL of this node, where the first of several missing ones would be made, doesn't allow it.
    #[error("permission denied: {0} lets us create nothing")]
    NoCreate(String),
    /// Our own node was made, and its ACL keeps it from ourselves.
    #[error("permission denied: our own node can't be read")]
    Hidden,
    /// The server can't make sense of the ACL that we want for our nodes.
    #[error(
        "the server doesn't accept the ACL of --acl: it doesn't know an id or scheme in it, or 'creator' means \
         nobody because no credentials of ours count there"
    )]
    InvalidAcl,
    /// The parent is ephemeral.
    #[error("an ephemeral node can't have children")]
    EphemeralParent,
    /// The node was changed since it was read.
    #[error("the node has changed meanwhile")]
    Changed,
    /// The server is too old to know the request.
    #[error("the server is too old for this: it takes ZooKeeper 3.6 or newer")]
    Unsupported,
    /// A quota of the server is used up.
    #[error("a quota set on the server is used up")]
    Quota,
    /// The server takes no writes.
    #[error("the server is read-only: it has lost its quorum")]
    ReadOnly,
    /// The session expired.
    #[error("the session expired")]
    Expired,
    /// The session was given up: no server has answered for longer than it lasts. It is over, or will be soon after the
    /// servers are back; nobody has said so.
    #[error("no server answered for longer than the session lasts, and it was given up")]
    GivenUp,
    /// The server refuses our credentials.
    #[error("the server refused the credentials")]
    AuthFailed,
    /// Anything else, in the client library's words.
    #[error("{0}")]
    Other(String),
}

impl From<LibraryError> for Failure {
    fn from(error: LibraryError) -> Self {
        use LibraryError as Error;

        match error {
            // Custom is what the library says of a connection that it gave up itself, "no response".
            Error::ConnectionLoss | Error::Custom(_) => Self::ConnectionLost,
            // And this of a request that it hadn't looked at when its task was ended, with the connection.
            Error::UnexpectedError(text) if text.ends_with("expect response, but got none") => {
                Self::ConnectionLost
            }
            Error::NoNode => Self::NoNode,
            Error::NoAuth => Self::NoAuth,
            Error::BadVersion => Self::Changed,
            Error::Unimplemented => Self::Unsupported,
            Error::InvalidAcl => Self::InvalidAcl,
            Error::NoChildrenForEphemerals => Self::EphemeralParent,
            Error::QuotaExceeded => Self::Quota,
            Error::NotReadOnly => Self::ReadOnly,
            Error::SessionExpired | Error::SessionMoved => Self::Expired,
            Error::AuthFailed => Self::AuthFailed,
            // It may repeat what the server said.
            other => Self::Other(printable(&other.to_string())),
        }
    }
}
