//! Why a request failed: the client library's errors, translated.

use zookeeper_client::Error as LibraryError;

use crate::core::protocol::Failure;
use crate::core::words::printable;

/// A code that the client library has no name for.
const EPHEMERAL_ON_LOCAL_SESSION: i32 = -120;

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
            Error::UnexpectedErrorCode(EPHEMERAL_ON_LOCAL_SESSION) => Self::LocalSession,
            // It may repeat what the server said.
            other => Self::Other(printable(&other.to_string())),
        }
    }
}
