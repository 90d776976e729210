//! SASL authentication, which takes place on a new connection before the first request.

use std::fmt;

use zklock_core::text::printable;
use zookeeper_client::{Connector, SaslOptions};

use super::CredentialError;

/// A SASL mechanism and its credentials. A session has at most one.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Sasl {
    /// A user and a password.
    DigestMd5 { user: String, password: String },
    /// An existing Kerberos ticket. `service` and `host` name the servers' principal.
    #[cfg(feature = "gssapi")]
    Gssapi { service: Option<String>, host: Option<String> },
}

/// The schemes of auth lines that mean SASL.
const DIGEST_MD5: &str = "sasl-digest-md5";
const GSSAPI: &str = "sasl-gssapi";

impl Sasl {
    /// Parses the part after `scheme:`. `None` if the scheme isn't one of SASL's.
    pub(super) fn parse(scheme: &str, rest: &str) -> Option<Result<Self, CredentialError>> {
        match scheme {
            DIGEST_MD5 => Some(digest_md5(rest)),
            GSSAPI => Some(gssapi(rest)),
            _ => None,
        }
    }

    /// Whether the server's host name is part of its Kerberos principal: yes, unless the line names another host.
    pub(super) fn needs_names(&self) -> bool {
        match self {
            Self::DigestMd5 { .. } => false,
            #[cfg(feature = "gssapi")]
            Self::Gssapi { host, .. } => host.is_none(),
        }
    }

    /// Whether Kerberos servers may have to be asked for a ticket at each connection.
    pub(super) fn asks_others(&self) -> bool {
        match self {
            Self::DigestMd5 { .. } => false,
            #[cfg(feature = "gssapi")]
            Self::Gssapi { .. } => true,
        }
    }

    /// The scheme, with the user if there is one.
    pub(super) fn name(&self) -> String {
        match self {
            Self::DigestMd5 { user, .. } => format!("{DIGEST_MD5}:{}", printable(user)),
            #[cfg(feature = "gssapi")]
            Self::Gssapi { .. } => GSSAPI.to_owned(),
        }
    }

    pub(super) fn apply(&self, connector: Connector) -> Connector {
        match self {
            Self::DigestMd5 { user, password } => {
                connector.with_sasl(SaslOptions::digest_md5(user.clone(), password.clone()))
            }
            #[cfg(feature = "gssapi")]
            Self::Gssapi { service, host } => {
                let options = SaslOptions::gssapi();
                let options = match service {
                    Some(service) => options.with_username(service.clone()),
                    None => options,
                };
                connector.with_sasl(match host {
                    Some(host) => options.with_hostname(host.clone()),
                    None => options,
                })
            }
        }
    }
}

fn digest_md5(rest: &str) -> Result<Sasl, CredentialError> {
    let (user, password) = rest.split_once(':').ok_or(CredentialError::DigestMd5)?;
    // The library quotes the user without escaping.
    if user.is_empty() || password.is_empty() || user.contains(['"', '\\']) {
        return Err(CredentialError::DigestMd5);
    }
    Ok(Sasl::DigestMd5 { user: user.to_owned(), password: password.to_owned() })
}

#[cfg(feature = "gssapi")]
#[allow(clippy::unnecessary_wraps, reason = "without the feature it fails")]
fn gssapi(rest: &str) -> Result<Sasl, CredentialError> {
    let (service, host) = rest.split_once('/').unwrap_or((rest, ""));
    let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Ok(Sasl::Gssapi { service: named(service), host: named(host) })
}

#[cfg(not(feature = "gssapi"))]
fn gssapi(_: &str) -> Result<Sasl, CredentialError> {
    Err(CredentialError::NoGssapi)
}

impl fmt::Debug for Sasl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DigestMd5 { .. } => write!(f, "{DIGEST_MD5}:(not shown)"),
            #[cfg(feature = "gssapi")]
            Self::Gssapi { service, host } => write!(f, "{GSSAPI}:{service:?}/{host:?}"),
        }
    }
}
