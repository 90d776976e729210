//! The options for credentials, ACLs and TLS, and the security settings that follow from them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;

use super::values;
use crate::core::acl::{Acl, AclError};
use crate::files;
use crate::runtime::memory;
use crate::runtime::zk::{Ca, CredentialError, Identity, Security, Tls, TlsError, TlsFiles};

/// The variable for auth lines. There is no such option, because every user of the machine can read a process's
/// arguments.
pub(super) const AUTH: &str = "ZKLOCK_AUTH";

/// Credentials that aren't in an auth file, but in the variable or in a configuration file.
#[derive(Clone)]
pub struct AuthLines {
    /// Where they are, for error messages.
    pub place: String,
    /// Lines as in `--auth-file`.
    pub text: OsString,
}

impl fmt::Debug for AuthLines {
    /// Leaves out the credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthLines").field("place", &self.place).finish_non_exhaustive()
    }
}

/// The security options.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Security")]
pub struct SecurityOptions {
    /// Read credentials from this file
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        hide_short_help = true,
        long_help = "Read credentials from this file\n\n\
                     Its lines are SCHEME:CREDENTIALS, such as digest:USER:PASSWORD. The variable ZKLOCK_AUTH can hold \
                     them instead."
    )]
    pub auth_file: Option<PathBuf>,

    /// Who may use the nodes that zklock creates: open, creator or SCHEME:ID:PERMS,...
    ///
    /// The default is creator with credentials, and open without.
    #[arg(long, global = true, value_name = "ACL", hide_short_help = true, value_parser = values::checked(AclChoice::parse))]
    pub acl: Option<AclChoice>,

    /// Connect with TLS
    ///
    /// The default port is still 2181.
    #[arg(long, global = true, hide_short_help = true)]
    pub tls: bool,

    /// Trust the CA certificates in this file instead of the system's
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub tls_ca: Option<PathBuf>,

    /// The certificate that identifies zklock; needs --tls-key
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub tls_cert: Option<PathBuf>,

    /// The private key of --tls-cert
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub tls_key: Option<PathBuf>,

    /// The file and the line of each option that a configuration file sets, by key.
    #[arg(skip)]
    pub places: BTreeMap<&'static str, String>,
}

/// The value of `--acl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AclChoice {
    /// All permissions for every client.
    Open,
    /// All permissions for the creator's credentials, and none for other clients.
    Creator,
    /// These permissions.
    List(Acl),
}

impl AclChoice {
    fn parse(text: &str) -> Result<Self, AclError> {
        match text {
            "open" => Ok(Self::Open),
            "creator" => Ok(Self::Creator),
            list => Acl::parse(list).map(Self::List),
        }
    }
}

impl SecurityOptions {
    /// Reads and checks the files. `lines` are auth lines from other places.
    ///
    /// Before the first secret is read, the process hides its memory (see [`memory::hide`]).
    ///
    /// # Errors
    /// If a file can't be read or other users can read its secret, if its content is invalid, or if options contradict
    /// each other.
    pub fn resolve(&self, lines: &[AuthLines]) -> Result<Security> {
        let mut security = Security::default();
        let mut add = |place: &str, text: &str| -> Result<()> {
            let added = security.credentials.add_lines(text);
            added.map_err(|(line, error)| explain(place, text, line, &error))
        };
        if self.auth_file.is_some() || !lines.is_empty() {
            memory::hide();
        }
        for lines in lines {
            let text = lines.text.to_str().ok_or_else(|| anyhow!("{}: it isn't UTF-8", lines.place))?;
            add(&lines.place, text)?;
        }
        if let Some(path) = &self.auth_file {
            let place = path.display().to_string();
            add(&place, &files::read_secret(path).with_context(|| self.place("auth-file"))?)?;
            if security.credentials.is_empty() {
                bail!("{place} holds no credentials: write lines such as digest:USER:PASSWORD");
            }
        }
        security.tls = self.tls()?;
        let is_authenticated =
            !security.credentials.is_empty() || security.tls.as_ref().is_some_and(Tls::has_identity);
        security.acl = self.acl(is_authenticated)?;
        Ok(security)
    }

    fn tls(&self) -> Result<Option<Tls>> {
        let identity = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Some(self.identity(certificate, key)?),
            (Some(_), None) => {
                bail!("{} needs --tls-key FILE, the key that belongs to it", self.place("tls-cert"))
            }
            (None, Some(_)) => {
                bail!("{} needs --tls-cert FILE, the certificate that belongs to it", self.place("tls-key"))
            }
            (None, None) => None,
        };
        let ca = match &self.tls_ca {
            Some(file) => {
                let text = files::read_public(file).with_context(|| self.place("tls-ca"))?;
                Ca::new(file, text)
                    .with_context(|| format!("{}: {}", self.place("tls-ca"), file.display()))?
            }
            None if self.tls || identity.is_some() => Ca::system().with_context(|| self.place("tls"))?,
            None => return Ok(None),
        };
        let files = TlsFiles::new(self.tls_ca.as_deref(), self.tls_cert.as_deref(), self.tls_key.as_deref());
        Ok(Some(Tls::new(ca, identity, files)))
    }

    fn acl(&self, is_authenticated: bool) -> Result<Acl> {
        let acl = match &self.acl {
            None if is_authenticated => Acl::creator(),
            None | Some(AclChoice::Open) => Acl::open(),
            Some(AclChoice::Creator) => Acl::creator(),
            Some(AclChoice::List(list)) => list.clone(),
        };
        if acl.needs_credentials() && !is_authenticated {
            bail!(
                "{} {acl} gives the nodes to their creator, which needs credentials: \
                 add --auth-file FILE, {AUTH} or --tls-cert FILE, or use --acl open",
                self.place("acl")
            );
        }
        Ok(acl)
    }

    fn identity(&self, certificate: &Path, key: &Path) -> Result<Identity> {
        memory::hide();
        let (chain, secret) = (
            files::read_short(certificate).with_context(|| self.place("tls-cert"))?,
            files::read_secret(key).with_context(|| self.place("tls-key"))?,
        );
        Identity::new(chain, secret).map_err(|error| match error {
            TlsError::NoCertificate => {
                anyhow!("{}: {}: {error}", self.place("tls-cert"), certificate.display())
            }
            error => anyhow!("{}: {}: {error}", self.place("tls-key"), key.display()),
        })
    }

    /// Where this option was set, for error messages: the option itself, or the file, line and key.
    fn place(&self, key: &str) -> String {
        self.places.get(key).cloned().unwrap_or_else(|| format!("--{key}"))
    }
}

/// Adds the place to the error, and the line number if there are several lines.
fn explain(place: &str, text: &str, line: usize, error: &CredentialError) -> anyhow::Error {
    if text.lines().nth(1).is_some() {
        anyhow!("{place}: line {line}: {error}")
    } else {
        anyhow!("{place}: {error}")
    }
}
