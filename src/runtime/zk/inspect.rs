//! What each address of each server says when it is asked directly, for whoever wants to know whether a set-up is fit.

use std::net::IpAddr;
use std::time::Duration;

use super::finding::{Asked, Diagnosis, Observation, VERSION};
use super::{Settings, diagnose};
use crate::core::words::printable;

/// What was found at one address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspected {
    /// The server as the connect string names it.
    pub server: String,
    /// The address, if the name has any.
    pub address: Option<IpAddr>,
    /// What a ZooKeeper that serves says of itself, or why there is none, in words that name the remedy.
    pub said: Result<Said, String>,
}

/// What a server says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// Its version, unless it doesn't tell.
    pub version: Option<String>,
    /// `leader`, `follower`, `observer` or `standalone`, unless it doesn't tell.
    pub role: Option<String>,
    /// When its certificate ends, in seconds since 1970.
    pub certificate_ends: Option<u64>,
}

/// Asks all addresses of all servers at once, for no longer than `patience`.
pub fn inspect(settings: &Settings, patience: Duration) -> Vec<Inspected> {
    diagnose::ask_all(settings, patience).into_iter().flat_map(inspected).collect()
}

fn inspected(asked: Asked) -> Vec<Inspected> {
    let Asked { server, found, unasked } = asked;
    let server = server.to_string();
    if found.is_empty() {
        return vec![Inspected { server, address: None, said: Err(unasked.to_string()) }];
    }
    let one = |(address, heard): (std::net::SocketAddr, Observation)| Inspected {
        server: server.clone(),
        address: Some(address.ip()),
        said: said(&heard),
    };
    found.into_iter().map(one).collect()
}

fn said(heard: &Observation) -> Result<Said, String> {
    if heard.finding != Diagnosis::Serving {
        return Err(heard.finding.to_string());
    }
    let text = String::from_utf8_lossy(&heard.said);
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let value = line.trim_start_matches(':').trim().split([',', ' ']).next()?;
        Some(printable(value))
    };
    // What follows a dash is the commit.
    let version = value(VERSION).map(|version| version.split('-').next().unwrap_or_default().to_owned());
    Ok(Said { version, role: value("Mode"), certificate_ends: heard.certificate_ends })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_tells_its_version_and_role_unless_the_question_is_switched_off() {
        let answer = b"Zookeeper version: 3.8.0-5a02a05e, built on 2022-02-25 08:49 UTC\nLatency min/avg/max: 0/0.0/0\n\
                       Mode: follower\nNode count: 5\n";
        let told = said(&Observation::answer(answer.to_vec())).unwrap();
        assert_eq!((told.version.as_deref(), told.role.as_deref()), (Some("3.8.0"), Some("follower")));
        let closed = b"srvr is not executed because it is not in the whitelist.\n";
        assert_eq!(said(&Observation::answer(closed.to_vec())), Ok(Said::default()));
        let away = said(&Observation::answer(
            b"This ZooKeeper instance is not currently serving requests\n".to_vec(),
        ));
        assert!(away.unwrap_err().contains("no quorum"));
    }
}
