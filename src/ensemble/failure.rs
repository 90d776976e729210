//! Translates the client library's errors into the core's [`RequestError`].

use zklock_core::protocol::RequestError;
use zklock_core::text::printable;
use zookeeper_client::Error as LibraryError;

/// ZooKeeper's error code `EPHEMERALONLOCALSESSION`, which the client library doesn't name.
const EPHEMERAL_ON_LOCAL_SESSION: i32 = -120;

/// What this error of a request means.
pub(super) fn request_error(error: LibraryError) -> RequestError {
    use LibraryError as Error;

    match error {
        // The library reports a connection that it gave up for lack of a response as Custom. A session that has
        // moved is served over another connection.
        Error::ConnectionLoss | Error::Custom(_) | Error::SessionMoved => RequestError::ConnectionLost,
        // The library reports this for a request that it hadn't handled yet when its task ended with the
        // connection.
        Error::UnexpectedError(text) if text.ends_with("expect response, but got none") => {
            RequestError::ConnectionLost
        }
        Error::NoNode => RequestError::NoNode,
        Error::NoAuth => RequestError::NoAuth,
        Error::BadVersion => RequestError::Changed,
        Error::Unimplemented => RequestError::Unsupported,
        Error::InvalidAcl => RequestError::InvalidAcl,
        Error::NoChildrenForEphemerals => RequestError::EphemeralParent,
        Error::QuotaExceeded => RequestError::Quota,
        Error::NotReadOnly => RequestError::ReadOnly,
        Error::SessionExpired => RequestError::Expired,
        Error::AuthFailed => RequestError::AuthFailed,
        Error::UnexpectedErrorCode(EPHEMERAL_ON_LOCAL_SESSION) => RequestError::LocalSession,
        // The text may come from the server and contain control characters.
        other => RequestError::Other(printable(&other.to_string())),
    }
}
