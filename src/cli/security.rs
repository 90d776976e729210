//! The options for credentials, ACLs and TLS.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use zklock_core::acl::{Acl, AclError};

use super::values;
use crate::plan::AclChoice;

/// The security options.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Security")]
pub struct SecurityOptions {
    /// Read credentials from this file
    #[arg(
        long,
        value_name = "FILE",
        hide_short_help = true,
        long_help = "Read credentials from this file\n\n\
                     Its lines are SCHEME:CREDENTIALS, such as digest:USER:PASSWORD. The variable ZKLOCK_AUTH can hold \
                     them instead."
    )]
    pub auth_file: Option<PathBuf>,

    /// Who may use the nodes that zklock creates: open, creator or SCHEME:ID:PERMS,...
    ///
    /// The default is creator with credentials, and open without. The hash in digest:USER:HASH:PERMS is of the servers'
    /// algorithm: SHA-1, or what their setting zookeeper.DigestAuthenticationProvider.digestAlg says.
    #[arg(long, value_name = "ACL", hide_short_help = true, value_parser = values::checked(acl))]
    pub acl: Option<AclChoice>,

    /// Connect with TLS
    ///
    /// The default port is still 2181.
    #[arg(long, hide_short_help = true)]
    pub tls: bool,

    /// Trust the CA certificates in this file instead of the system's
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub tls_ca: Option<PathBuf>,

    /// The certificate that identifies zklock; needs --tls-key
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub tls_cert: Option<PathBuf>,

    /// The private key of --tls-cert
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub tls_key: Option<PathBuf>,

    /// The file and the line of each option that a configuration file sets, by key.
    #[arg(skip)]
    pub places: BTreeMap<&'static str, String>,
}

/// The value of `--acl`.
fn acl(text: &str) -> Result<AclChoice, AclError> {
    match text {
        "open" => Ok(AclChoice::Open),
        "creator" => Ok(AclChoice::Creator),
        list => Acl::parse(list).map(AclChoice::List),
    }
}
