//! The connect string `host:port,host:port[/chroot]`, checked before any connection.

use std::ffi::OsStr;
use std::fmt;
use std::net::Ipv4Addr;
use std::net::Ipv6Addr;

use thiserror::Error;

use crate::path::{LockPath, PathError};

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
    /// A server without a name.
    #[error("a server's name is empty; write HOST:PORT[,HOST:PORT...][/CHROOT], as in zk1:2181,zk2:2181")]
    EmptyHost,
    /// A port without a host.
    #[error("'{0}' is a port without a host: write HOST:{0}, as in localhost:{0}")]
    PortAlone(String),
    /// A number that the system would take for an IPv4 address, in one of its old forms.
    #[error("'{0}' isn't an address: an IPv4 address has four numbers from 0 to 255, as in 127.0.0.1")]
    NotIpv4(String),
    /// A URL scheme, as in `zk://`.
    #[error(
        "servers have no '{0}://' before them: write HOST:PORT[,HOST:PORT...][/CHROOT], as in zk1:2181,zk2:2181"
    )]
    Scheme(String),
    /// Servers separated by something other than commas.
    #[error("servers are separated by commas: write {0}")]
    Separator(String),
    /// A colon and no port: a variable for it is empty.
    #[error("no port after the colon in '{0}': write HOST:PORT, or HOST for port 2181")]
    EmptyPort(String),
    /// Not a number from 1 to 65535.
    #[error("'{0}' isn't a port: it must be a number from 1 to 65535")]
    Port(String),
    /// Several colons, as in an IPv6 address, but no brackets.
    #[error("'{0}' has several colons: write an IPv6 address in brackets, as in [::1]:2181")]
    Brackets(String),
    /// Brackets around something other than an IPv6 address.
    #[error("'{0}' isn't an IPv6 address in brackets, as in [::1]:2181")]
    NotIpv6(String),
    /// An IPv6 address that is only unique together with a network interface.
    #[error(
        "'{0}' has a zone (%), with which zklock can't connect: use a global address, or a name that has one"
    )]
    Zone(String),
    /// A character that can't be part of a host name.
    #[error("'{0}' isn't a host name")]
    HostName(String),
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
        if let Some((scheme, _)) = text.split_once("://") {
            return Err(HostsError::Scheme(scheme.to_owned()));
        }
        let (servers, chroot) = match text.find('/') {
            Some(slash) => text.split_at(slash),
            None => (text, "/"),
        };
        let chroot = match chroot {
            "/" => None,
            path if path.contains(',') => return Err(HostsError::ChrootForEach(path.to_owned())),
            path => {
                let chroot = LockPath::parse(OsStr::new(path));
                Some(chroot.map_err(|why| HostsError::Chroot(path.to_owned(), why))?)
            }
        };
        let by_commas: Vec<&str> =
            servers.split([',', ';', ' ', '\t', '\n', '\r']).filter(|server| !server.is_empty()).collect();
        let is_meant = || by_commas.iter().all(|server| Server::parse(server).is_ok());
        if servers.split(',').any(|server| server.trim().contains([';', ' ', '\t', '\n', '\r'])) && is_meant()
        {
            let chroot = chroot.as_ref().map_or("", LockPath::as_str);
            return Err(HostsError::Separator(by_commas.join(",") + chroot));
        }
        let servers =
            servers.split(',').map(|server| Server::parse(server.trim())).collect::<Result<_, _>>()?;
        Ok(Self { servers, chroot })
    }
}

impl Server {
    fn parse(text: &str) -> Result<Self, HostsError> {
        let zone = text.split_once('%').map(|(address, _)| address.trim_start_matches('['));
        if zone.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok()) {
            return Err(HostsError::Zone(text.to_owned()));
        }
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, port) =
                    rest.split_once(']').ok_or_else(|| HostsError::NotIpv6(text.to_owned()))?;
                if host.parse::<Ipv6Addr>().is_err() {
                    return Err(HostsError::NotIpv6(text.to_owned()));
                }
                match port.strip_prefix(':') {
                    Some(port) => (host, port),
                    None if port.is_empty() => (host, ""),
                    None => return Err(HostsError::NotIpv6(text.to_owned())),
                }
            }
            None if text.matches(':').count() > 1 => return Err(HostsError::Brackets(text.to_owned())),
            None => text.split_once(':').unwrap_or((text, "")),
        };
        let alone = if host.is_empty() { port } else { text };
        if is_port(alone) {
            return Err(HostsError::PortAlone(alone.to_owned()));
        }
        if host.is_empty() {
            return Err(HostsError::EmptyHost);
        }
        if text.ends_with(':') {
            return Err(HostsError::EmptyPort(text.to_owned()));
        }
        let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
        if host.starts_with('-') || !host.chars().all(is_allowed) {
            return Err(HostsError::HostName(host.to_owned()));
        }
        if ends_in_a_number(host) && host.parse::<Ipv4Addr>().is_err() {
            return Err(HostsError::NotIpv4(host.to_owned()));
        }
        let port = match port {
            "" => DEFAULT_PORT,
            port if is_port(port) => port.parse().map_err(|_| HostsError::Port(port.to_owned()))?,
            port => return Err(HostsError::Port(port.to_owned())),
        };
        Ok(Self { host: host.to_owned(), port })
    }
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|number| number > 0)
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
    fn each_mistake_has_its_own_reason() {
        for (text, reason) in [
            ("", HostsError::EmptyHost),
            ("zk1,,zk2", HostsError::EmptyHost),
            (":", HostsError::EmptyHost),
            (":70000", HostsError::EmptyHost),
            (":2181", HostsError::PortAlone("2181".to_owned())),
            ("zk:", HostsError::EmptyPort("zk:".to_owned())),
            ("zk1:2181,zk2:/app", HostsError::EmptyPort("zk2:".to_owned())),
            ("[::1]:", HostsError::EmptyPort("[::1]:".to_owned())),
            ("2181", HostsError::PortAlone("2181".to_owned())),
            ("2181/app", HostsError::PortAlone("2181".to_owned())),
            ("zk1,2182", HostsError::PortAlone("2182".to_owned())),
            ("70000", HostsError::NotIpv4("70000".to_owned())),
            ("10:2181", HostsError::NotIpv4("10".to_owned())),
            ("127.1", HostsError::NotIpv4("127.1".to_owned())),
            ("127.0.0.256:2181", HostsError::NotIpv4("127.0.0.256".to_owned())),
            ("127.0.0.01", HostsError::NotIpv4("127.0.0.01".to_owned())),
            ("0x7f000001", HostsError::NotIpv4("0x7f000001".to_owned())),
            ("0x7f.1.:2181", HostsError::NotIpv4("0x7f.1.".to_owned())),
            ("-n", HostsError::HostName("-n".to_owned())),
            ("zk:0", HostsError::Port("0".to_owned())),
            ("zk:65536", HostsError::Port("65536".to_owned())),
            ("zk:+1", HostsError::Port("+1".to_owned())),
            ("::1", HostsError::Brackets("::1".to_owned())),
            ("[zk]:1", HostsError::NotIpv6("[zk]:1".to_owned())),
            ("[::1]2181", HostsError::NotIpv6("[::1]2181".to_owned())),
            ("[::1", HostsError::NotIpv6("[::1".to_owned())),
            ("[fe80::1%eth0]:2181", HostsError::Zone("[fe80::1%eth0]:2181".to_owned())),
            ("fe80::1%eth0", HostsError::Zone("fe80::1%eth0".to_owned())),
            ("a:2181 b:2181", HostsError::Separator("a:2181,b:2181".to_owned())),
            ("a;b", HostsError::Separator("a,b".to_owned())),
            ("a:1;b:2/app", HostsError::Separator("a:1,b:2/app".to_owned())),
            ("a\nb", HostsError::Separator("a,b".to_owned())),
            ("a b!", HostsError::HostName("a b!".to_owned())),
            ("zk://h", HostsError::Scheme("zk".to_owned())),
            ("http://h:2181/a", HostsError::Scheme("http".to_owned())),
            ("z!k", HostsError::HostName("z!k".to_owned())),
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
