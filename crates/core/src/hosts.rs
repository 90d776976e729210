//! The connect string `host:port,host:port[/chroot]`, checked before any connection.

use std::ffi::OsStr;
use std::fmt;
use std::net::Ipv4Addr;
use std::net::Ipv6Addr;

use thiserror::Error;

use crate::path::{LockPath, PathError};
use crate::text::without_password;

const DEFAULT_PORT: u16 = 2181;

/// One server of the ensemble.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// A name or an address; IPv6 without brackets.
    pub host: String,
    /// The client port.
    pub port: u16,
}

/// A connect string: the servers of the ensemble, and the chroot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts {
    /// At least one.
    pub servers: Vec<Server>,
    /// All of zklock's paths are below this node.
    pub chroot: Option<LockPath>,
}

/// Why a connect string is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HostsError {
    /// It isn't `HOST:PORT`.
    #[error(
        "'{0}' isn't a server: write HOST:PORT[,HOST:PORT...][/CHROOT], as in zk1:2181,zk2:2181/app, with a port from 1 to \
         65535 and an IPv6 address in brackets, as in [::1]:2181"
    )]
    Server(String),
    /// It has credentials. Its text is without the password.
    #[error(
        "'{0}' isn't a server: write HOST:PORT[,HOST:PORT...][/CHROOT]; credentials go into a file for --auth-file, or into \
         ZKLOCK_AUTH"
    )]
    Credentials(String),
    /// A comma in the chroot: it was written after each server.
    #[error(
        "the chroot stands once, after the last server, as in zk1:2181,zk2:2181/app, and '{0}' has a comma"
    )]
    ChrootForEach(String),
    /// The chroot isn't a path.
    #[error("chroot '{0}': {1}")]
    Chroot(String, PathError),
}

impl Hosts {
    /// The chroot as a prefix for paths: empty if there is none.
    pub fn chroot_text(&self) -> &str {
        self.chroot.as_ref().map_or("", LockPath::as_str)
    }

    /// Parses a connect string. A missing port is 2181, and a chroot of `/` is none.
    ///
    /// Blanks and newlines around it are ignored, because a file or a secret often ends with one.
    pub fn parse(text: &str) -> Result<Self, HostsError> {
        let text = text.trim();
        let has_credentials = text.contains('@');
        Self::parse_trimmed(text).map_err(|error| match error {
            _ if has_credentials => HostsError::Credentials(without_password(text)),
            error => error,
        })
    }

    fn parse_trimmed(text: &str) -> Result<Self, HostsError> {
        let (servers, chroot) = match text.find('/') {
            Some(slash) => text.split_at(slash),
            None => (text, "/"),
        };
        let server = |server: &str| {
            Server::parse(server.trim()).ok_or_else(|| HostsError::Server(server.trim().to_owned()))
        };
        let servers = servers.split(',').map(server).collect::<Result<_, _>>()?;
        let chroot = match chroot {
            "/" => None,
            path if path.contains(',') => return Err(HostsError::ChrootForEach(path.to_owned())),
            path => {
                let chroot = LockPath::parse(OsStr::new(path));
                Some(chroot.map_err(|why| HostsError::Chroot(path.to_owned(), why))?)
            }
        };
        Ok(Self { servers, chroot })
    }
}

impl Server {
    fn parse(text: &str) -> Option<Self> {
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            rest.split_once(']').filter(|(host, _)| host.parse::<Ipv6Addr>().is_ok())?
        } else {
            let server = text.split_at(text.find(':').unwrap_or(text.len()));
            Some(server).filter(|(host, _)| is_name(host))?
        };
        let is_number = |port: &&str| port.bytes().all(|byte| byte.is_ascii_digit());
        let port = match port {
            "" => DEFAULT_PORT,
            port => port.strip_prefix(':').filter(is_number)?.parse().ok().filter(|port| *port > 0)?,
        };
        Some(Self { host: host.to_owned(), port })
    }
}

fn is_name(host: &str) -> bool {
    let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_text = !host.is_empty() && !host.starts_with('-') && host.chars().all(is_allowed);
    is_text && (!ends_in_a_number(host) || host.parse::<Ipv4Addr>().is_ok())
}

/// Whether the system would take the host for an IPv4 address: it reads `127.1` and `0x7f000001` as one, too.
fn ends_in_a_number(host: &str) -> bool {
    let last = host.strip_suffix('.').unwrap_or(host).rsplit('.').next().unwrap_or_default();
    let is_number = |digits: &str, radix| !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    is_number(last, 10)
        || last.strip_prefix("0x").or(last.strip_prefix("0X")).is_some_and(|hex| is_number(hex, 16))
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, server) in self.servers.iter().enumerate() {
            write!(f, "{}{server}", if i == 0 { "" } else { "," })?;
        }
        self.chroot.as_ref().map_or(Ok(()), |chroot| chroot.fmt(f))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn connect_strings_are_parsed_and_completed() {
        for (text, whole) in [
            ("zk", "zk:2181"),
            ("2181.example.org,zk-1,10.0.0.1", "2181.example.org:2181,zk-1:2181,10.0.0.1:2181"),
            ("zk1:2181,zk2:2182", "zk1:2181,zk2:2182"),
            ("zk1, zk2 ,zk3/app/locks", "zk1:2181,zk2:2181,zk3:2181/app/locks"),
            ("127.0.0.1:2181/", "127.0.0.1:2181"),
            ("\n zk/app \t\r\n", "zk:2181/app"),
            ("[::1]:2182,[fe80::1]", "[::1]:2182,[fe80::1]:2181"),
        ] {
            assert_eq!(Hosts::parse(text).map(|hosts| hosts.to_string()), Ok(whole.to_owned()), "{text}");
        }
    }

    #[test]
    fn each_mistake_has_its_reason() {
        for text in [
            "",
            ":",
            ":2181",
            "2181",
            "70000",
            "10:2181",
            "127.1",
            "127.0.0.256:2181",
            "127.0.0.01",
            "0x7f000001",
            "0x7f.1.:2181",
            "-n",
            "::1",
            "[zk]:1",
            "[::1",
            "[::1]:",
            "[::1]2181",
            "[fe80::1%eth0]:2181",
            "fe80::1%eth0",
            "a:2181 b:2181",
            "a;b",
            "a\nb",
            "a b",
            "z!k",
            "zk:",
            "zk:0",
            "zk:65536",
            "zk:+1",
        ] {
            assert_eq!(Hosts::parse(text), Err(HostsError::Server(text.to_owned())));
        }
        for (text, reason) in [
            ("zk1,,zk2", HostsError::Server(String::new())),
            ("zk1,2182", HostsError::Server("2182".to_owned())),
            ("2181/app", HostsError::Server("2181".to_owned())),
            ("a:1;b:2/app", HostsError::Server("a:1;b:2".to_owned())),
            ("zk://h", HostsError::Server("zk:".to_owned())),
            ("zk://ci:p/w@h", HostsError::Credentials("zk://ci:***@h".to_owned())),
            ("ci:pw@h:1/app", HostsError::Credentials("ci:***@h:1/app".to_owned())),
            ("zk1/app,zk2/app", HostsError::ChrootForEach("/app,zk2/app".to_owned())),
            ("zk/app/", HostsError::Chroot("/app/".to_owned(), PathError::TrailingSlash)),
        ] {
            assert_eq!(Hosts::parse(text), Err(reason), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "\\PC{0,40}|[a-z0-9.:,/\\[\\]]{0,20}") {
            if let Ok(hosts) = Hosts::parse(&text) {
                prop_assert!(!hosts.servers.is_empty());
                prop_assert_eq!(Hosts::parse(&hosts.to_string()), Ok(hosts));
            }
        }
    }
}
