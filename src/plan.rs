//! What the user asks for, as plain data: the command line makes it, the rooms that act carry it out, and neither know the
//! other.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use zklock_core::acl::Acl;
use zklock_core::hosts::Hosts;
use zklock_core::path::LockPath;

/// The variable for auth lines. There is no such option, because every user of the machine can read a process's
/// arguments.
pub const AUTH: &str = "ZKLOCK_AUTH";

/// The command under its locks, and what only the rooms that act need to know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSpec {
    /// The locks and the command.
    pub invocation: Invocation,
    /// What other contenders see instead of the program's name.
    pub label: Option<String>,
}

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
}

impl Invocation {
    /// The first lock on the command line.
    pub fn first_lock(&self) -> &LockPath {
        // There is at least one: `parse` refuses a call without a lock.
        &self.locks[0]
    }

    /// Whether the command is setsid(1) without `-w`. As the leader of its process group it can't begin a session itself, so
    /// it starts a child that can, and ends.
    pub fn is_not_awaited(&self) -> bool {
        let is_option = |word: &&OsString| word.as_encoded_bytes().starts_with(b"-") && *word != "--";
        let waits = |option: &OsString| match option.as_encoded_bytes() {
            // Any beginning of a long option stands for it.
            [b'-', b'-', name @ ..] => b"wait".starts_with(name),
            [_, letters @ ..] => letters.contains(&b'w'),
            [] => false,
        };
        let mut options = self.arguments.iter().take_while(is_option);
        Path::new(&self.program).file_name() == Some(OsStr::new("setsid")) && !options.any(waits)
    }
}

/// How to reach the servers.
#[derive(Debug, Clone)]
pub struct ConnectionSpec {
    /// The ensemble.
    pub hosts: Hosts,
    /// The session timeout to request.
    pub session_timeout: Duration,
    /// Whether to give up as soon as every server refuses the connection.
    pub refusals_end: bool,
    /// The credentials, the ACL and TLS.
    pub security: SecurityChoice,
}

/// Where the credentials and the certificates are, and who may use the nodes that zklock creates.
#[derive(Debug, Clone)]
pub struct SecurityChoice {
    /// The file with credentials.
    pub auth_file: Option<PathBuf>,
    /// Credentials from other places.
    pub auth: Vec<AuthLines>,
    /// The permissions; `None`: the creator's with credentials, and everybody's without.
    pub acl: Option<AclChoice>,
    /// Whether to connect with TLS even if no file is named.
    pub tls: bool,
    /// The file with the CA certificates to trust.
    pub tls_ca: Option<PathBuf>,
    /// The file with zklock's certificate.
    pub tls_cert: Option<PathBuf>,
    /// The file with its key.
    pub tls_key: Option<PathBuf>,
    /// The file and the line of each option that a configuration file sets, by key.
    pub places: BTreeMap<&'static str, String>,
}

impl SecurityChoice {
    /// Where this option was set, for error messages: the option itself, or the file, line and key.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setsid_is_awaited_with_w_only() {
        let is_not_awaited = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let (program, arguments) = words.split_first().unwrap();
            let lock = LockPath::parse(OsStr::new("/locks/a")).unwrap();
            let (program, arguments) = (program.clone(), arguments.to_vec());
            Invocation { locks: vec![lock], shown: program.clone(), program, arguments }.is_not_awaited()
        };
        for line in
            ["setsid job", "/usr/bin/setsid -f job -w", "setsid -- job", "setsid", "setsid -cf job --wait"]
        {
            assert!(is_not_awaited(line), "{line}");
        }
        for line in [
            "setsid -w job",
            "setsid --wait job",
            "/bin/setsid -fw job",
            "setsid --wa job",
            "job setsid",
            "setsidd job",
        ] {
            assert!(!is_not_awaited(line), "{line}");
        }
    }
}
