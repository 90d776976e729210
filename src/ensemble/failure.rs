//! Translates the client library's errors into the core's [`RequestError`].

use zookeeper_client::Error as LibraryError;

use crate::core::protocol::RequestError;
use crate::core::text::printable;

/// ZooKeeper's error code `EPHEMERALONLOCALSESSION`, which the client library doesn't name.
const EPHEMERAL_ON_LOCAL_SESSION: i32 = -120;

impl From<LibraryError> for RequestError {
    fn from(error: LibraryError) -> Self {
        use LibraryError as Error;

        match error {
            // The library reports a connection that it gave up for lack of a response as Custom. A session that has
            // moved is served over another connection.
            Error::ConnectionLoss | Error::Custom(_) | Error::SessionMoved => Self::ConnectionLost,
            // The library reports this for a request that it hadn't handled yet when its task ended with the
            // connection.
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
            Error::SessionExpired => Self::Expired,
            Error::AuthFailed => Self::AuthFailed,
            Error::UnexpectedErrorCode(EPHEMERAL_ON_LOCAL_SESSION) => Self::LocalSession,
            // The text may come from the server and contain control characters.
            other => Self::Other(printable(&other.to_string())),
        }
    }
}
