//! Credentials, as lines of `SCHEME:CREDENTIALS` in an auth file.

use std::fmt;

use thiserror::Error;
use zklock_core::text::printable;
use zookeeper_client::Connector;

use super::sasl::Sasl;

/// One credential. A session can have several; an ACL entry for any of them applies.
#[derive(Clone, PartialEq, Eq)]
struct Credential {
    scheme: String,
    secret: String,
}

/// All credentials of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// Sent on every new connection before the first request.
    list: Vec<Credential>,
    sasl: Option<Sasl>,
}

/// Why a line is invalid. The message never contains the credentials.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CredentialError {
    /// No colon, or no valid scheme before it.
    #[error("it must be SCHEME:CREDENTIALS, as in digest:USER:PASSWORD")]
    Scheme,
    /// A scheme without credentials.
    #[error("there are no credentials behind '{0}:'")]
    Empty(String),
    /// Credentials of the scheme `digest` that aren't `USER:PASSWORD`.
    #[error("it must be digest:USER:PASSWORD, with a user and a password")]
    Digest,
    /// Credentials of `sasl-digest-md5` that aren't `USER:PASSWORD`, or with a user that SASL can't quote.
    #[error("it must be sasl-digest-md5:USER:PASSWORD, without quotes and backslashes in the user")]
    DigestMd5,
    /// `sasl-gssapi` in a build without the feature `gssapi`.
    #[error(
        "this zklock was built without Kerberos: build it with 'cargo build --release --features gssapi'"
    )]
    NoGssapi,
    /// A second line for SASL.
    #[error("there is another line of SASL before it, and a session has one")]
    SecondSasl,
    /// A scheme of ACLs to which clients send no credentials, and why.
    #[error("'{0}' takes no credentials: {1}")]
    NotSent(String, &'static str),
}

impl Credential {
    /// Parses one line.
    fn parse(line: &str) -> Result<Self, CredentialError> {
        let (scheme, secret) = line.split_once(':').ok_or(CredentialError::Scheme)?;
        let well_formed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if scheme.is_empty() || !scheme.chars().all(well_formed) {
            return Err(CredentialError::Scheme);
        }
        match scheme {
            "world" | "ip" => {
                let why = "everybody has it without being asked";
                return Err(CredentialError::NotSent(scheme.to_owned(), why));
            }
            "auth" => {
                let why = "in an ACL it means the creator of the node";
                return Err(CredentialError::NotSent(scheme.to_owned(), why));
            }
            "x509" => {
                let why = "the server reads them from the certificate of --tls-cert";
                return Err(CredentialError::NotSent(scheme.to_owned(), why));
            }
            // A server accepts a digest without a user, but no ACL entry can match it.
            "digest" if secret.split_once(':').is_none_or(|(user, _)| user.is_empty()) => {
                return Err(CredentialError::Digest);
            }
            _ if secret.is_empty() => return Err(CredentialError::Empty(scheme.to_owned())),
            _ => {}
        }
        Ok(Self { scheme: scheme.to_owned(), secret: secret.to_owned() })
    }
}

impl Credential {
    /// The scheme, with the user of a digest. Other credentials may be secret as a whole.
    fn name(&self) -> String {
        match self.secret.split_once(':') {
            Some((user, _)) if self.scheme == "digest" => format!("digest:{}", printable(user)),
            _ => self.scheme.clone(),
        }
    }
}

impl Credentials {
    /// Adds the lines of a file or a variable. Empty lines and lines that start with `#` are ignored.
    ///
    /// # Errors
    /// The number of the first invalid line, from 1, and why it is invalid.
    pub fn add_lines(&mut self, text: &str) -> Result<(), (usize, CredentialError)> {
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            self.add(line).map_err(|bad| (number + 1, bad))?;
        }
        Ok(())
    }

    fn add(&mut self, line: &str) -> Result<(), CredentialError> {
        match line.split_once(':').and_then(|(scheme, rest)| Sasl::parse(scheme, rest)) {
            Some(_) if self.sasl.is_some() => return Err(CredentialError::SecondSasl),
            Some(sasl) => self.sasl = Some(sasl?),
            None => self.list.push(Credential::parse(line)?),
        }
        Ok(())
    }

    /// Whether there are no credentials.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty() && self.sasl.is_none()
    }

    /// The schemes and users, without any secret.
    pub fn names(&self) -> Vec<String> {
        let sasl = self.sasl.iter().map(Sasl::name);
        self.list.iter().map(Credential::name).chain(sasl).collect()
    }

    /// Whether a connection begins with SASL.
    pub(in crate::ensemble) fn use_sasl(&self) -> bool {
        self.sasl.is_some()
    }

    /// Whether a server must be reached by its name, for its Kerberos principal.
    pub(super) fn need_names(&self) -> bool {
        self.sasl.as_ref().is_some_and(Sasl::needs_names)
    }

    /// Whether they may have to be fetched from other servers at each connection, as a Kerberos ticket.
    pub(in crate::ensemble) fn ask_others(&self) -> bool {
        self.sasl.as_ref().is_some_and(Sasl::asks_others)
    }

    /// Whether there is a secret among them: every credential counts as one.
    pub(super) fn has_secrets(&self) -> bool {
        !self.is_empty()
    }

    pub(super) fn apply(&self, connector: Connector) -> Connector {
        let connector = match &self.sasl {
            Some(sasl) => sasl.apply(connector),
            None => connector,
        };
        self.list.iter().fold(connector, |connector, Credential { scheme, secret }| {
            connector.with_auth(scheme, secret.as_bytes())
        })
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:(not shown)", self.scheme)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_empty_lines_are_ignored() {
        let mut credentials = Credentials::default();
        let text = "# who we are\n\n  digest:ci:s3:cr#t \nother:token\r\n";
        assert_eq!(credentials.add_lines(text), Ok(()));
        let expected = [("digest", "ci:s3:cr#t"), ("other", "token")];
        let found: Vec<_> = credentials.list.iter().map(|one| (&*one.scheme, &*one.secret)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_invalid_line_is_reported_by_its_number() {
        for (line, reason) in [
            ("s3cret", CredentialError::Scheme),
            (":s3cret", CredentialError::Scheme),
            ("my s3cret:x", CredentialError::Scheme),
            ("digest:s3cret", CredentialError::Digest),
            ("digest::s3cret", CredentialError::Digest),
            ("digest:", CredentialError::Digest),
            ("token:", CredentialError::Empty("token".to_owned())),
            ("sasl-digest-md5:s3cret", CredentialError::DigestMd5),
            ("sasl-digest-md5:my\"s3cret:x", CredentialError::DigestMd5),
        ] {
            let text = format!("# first\n{line}\n");
            let error = Credentials::default().add_lines(&text);
            assert_eq!(error, Err((2, reason.clone())), "{line}");
            assert!(!reason.to_string().contains("s3cret"), "{reason}");
        }
        for scheme in ["world", "ip", "auth", "x509"] {
            let error = Credential::parse(&format!("{scheme}:anyone"));
            assert!(matches!(error, Err(CredentialError::NotSent(..))), "{scheme}");
        }
    }

    #[cfg(not(feature = "gssapi"))]
    #[test]
    fn kerberos_is_refused_in_a_build_without_it() {
        let error = Credentials::default().add_lines("sasl-gssapi:");
        assert_eq!(error, Err((1, CredentialError::NoGssapi)));
    }

    #[test]
    fn secrets_are_never_shown() {
        let mut credentials = Credentials::default();
        assert_eq!(credentials.add_lines("digest:user:s3cret\nsasl-digest-md5:user:s3cret"), Ok(()));
        assert_eq!(credentials.add_lines("other:s3cret"), Ok(()));
        assert_eq!(credentials.names(), ["digest:user", "other", "sasl-digest-md5:user"]);
        assert_eq!(credentials.add_lines("sasl-digest-md5:a:b"), Err((1, CredentialError::SecondSasl)));
        assert!(!format!("{credentials:?} {credentials:#?}").contains("s3cret"));
    }
}
