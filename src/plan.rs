//! What the user asks for, as plain data: the command line makes it, the rooms that act carry it out, and neither know the
//! other.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use zklock_core::acl::{Acl, AclError};
use zklock_core::hosts::Hosts;
use zklock_core::path::LockPath;

use crate::values;

/// The variable for auth lines. There is no such option, because every user of the machine can read a process's
/// arguments.
pub const AUTH_VARIABLE: &str = "ZKLOCK_AUTH";

/// The locks and the command of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// At least one, in the user's order.
    pub locks: Vec<LockPath>,
    /// The program to run.
    pub program: OsString,
    /// Its arguments, untouched.
    pub arguments: Vec<OsString>,
    /// The program's name for messages and for other contenders: the first word of a shell string.
    pub shown: OsString,
    /// What other contenders see instead of the program's name.
    pub label: Option<String>,
}

impl Invocation {
    /// The first lock on the command line.
    pub fn first_lock(&self) -> &LockPath {
        // There is at least one: `parse` refuses a call without a lock.
        &self.locks[0]
    }
}

/// How to reach the servers, with which credentials and which ACL: what a command and every subcommand are told.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Connection")]
#[allow(clippy::doc_markdown, reason = "the help shows the names as they are")]
pub struct Connection {
    /// ZooKeeper servers: HOST:PORT,...[/CHROOT]
    ///
    /// The variable ZKLOCK_ZOOKEEPER can name them instead.
    #[arg(short, long, global = true, value_name = "HOSTS", default_value = "localhost:2181", value_parser = Hosts::parse)]
    pub zookeeper: Hosts,

    /// Give up if no server can be reached in this time
    #[arg(long, global = true, value_name = "SECS", hide_short_help = true, default_value = "10s", value_parser = values::positive_time)]
    pub connect_timeout: Duration,

    /// Ask the servers for this session timeout
    ///
    /// After a crash the next contender runs about this much later.
    #[arg(long, global = true, value_name = "SECS", hide_short_help = true, default_value = "30s", value_parser = values::session_timeout)]
    pub session_timeout: Duration,

    /// Read the settings from this file
    ///
    /// It is TOML, and replaces /etc/zklock.toml and ~/.config/zklock/config.toml. The variable ZKLOCK_CONFIG can name it
    /// instead.
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub config: Option<PathBuf>,

    /// Read credentials from this file
    ///
    /// Its lines are SCHEME:CREDENTIALS, such as digest:USER:PASSWORD. The variable ZKLOCK_AUTH can hold them instead.
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true, help_heading = "Security")]
    pub auth_file: Option<PathBuf>,

    /// Who may use the nodes that zklock creates: open, creator or SCHEME:ID:PERMS,...
    ///
    /// The default is creator with credentials, and open without. The hash in digest:USER:HASH:PERMS is of the servers'
    /// algorithm: SHA-1, or what their setting zookeeper.DigestAuthenticationProvider.digestAlg says.
    #[arg(long, global = true, value_name = "ACL", hide_short_help = true, help_heading = "Security", value_parser = acl)]
    pub acl: Option<AclChoice>,

    /// Connect with TLS
    ///
    /// The default port is still 2181.
    #[arg(long, global = true, hide_short_help = true, help_heading = "Security")]
    pub tls: bool,

    /// Trust the CA certificates in this file instead of the system's
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true, help_heading = "Security")]
    pub tls_ca: Option<PathBuf>,

    /// The certificate that identifies zklock; needs --tls-key
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true, help_heading = "Security")]
    pub tls_cert: Option<PathBuf>,

    /// The private key of --tls-cert
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true, help_heading = "Security")]
    pub tls_key: Option<PathBuf>,

    /// Whether the connect timeout was set, on the line or elsewhere.
    #[arg(skip)]
    pub sets_connect_timeout: bool,

    /// Credentials from the environment or a configuration file. There is no option for them.
    #[arg(skip)]
    pub auth: Vec<AuthLines>,

    /// Where each option was set that isn't on the command line, by its name.
    #[arg(skip)]
    pub places: BTreeMap<&'static str, String>,
}

impl Connection {
    /// Where this option was set, for error messages: the option itself, or the file and the key.
    pub fn place(&self, key: &str) -> String {
        self.places.get(key).cloned().unwrap_or_else(|| format!("--{key}"))
    }
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

fn acl(text: &str) -> Result<AclChoice, AclError> {
    match text {
        "open" => Ok(AclChoice::Open),
        "creator" => Ok(AclChoice::Creator),
        list => Acl::parse(list).map(AclChoice::List),
    }
}

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
