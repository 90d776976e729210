//! Asks each address of each server directly for its version and role, for `zklock check`.

use std::net::IpAddr;
use std::time::Duration;

use zklock_core::text::printable;

use super::diagnosis::{Diagnosis, Observation, ServerAnswers, VERSION};
use super::{Settings, diagnose};

/// The result of asking one address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerReport {
    /// The server as the connect string names it.
    pub server: String,
    /// The address; `None` if the name has none.
    pub address: Option<IpAddr>,
    /// The server's own information if it serves, or else a message that says why not and names the remedy.
    pub info: Result<ServerInfo, String>,
}

/// A server's information about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerInfo {
    /// Its version; `None` if the server doesn't allow `srvr`.
    pub version: Option<String>,
    /// `leader`, `follower`, `observer` or `standalone`; `None` if the server doesn't allow `srvr`.
    pub role: Option<String>,
}

/// Asks all addresses of all servers at the same time, for at most `time`.
pub fn inspect(settings: &Settings, time: Duration) -> Vec<ServerReport> {
    diagnose::ask_all(settings, time).into_iter().flat_map(reports).collect()
}

fn reports(answers: ServerAnswers) -> Vec<ServerReport> {
    let ServerAnswers { server, observations, without_address } = answers;
    let server = server.to_string();
    if observations.is_empty() {
        return vec![ServerReport { server, address: None, info: Err(without_address.to_string()) }];
    }
    let report = |(address, observation): (std::net::SocketAddr, Observation)| ServerReport {
        server: server.clone(),
        address: Some(address.ip()),
        info: info(&observation),
    };
    observations.into_iter().map(report).collect()
}

fn info(observation: &Observation) -> Result<ServerInfo, String> {
    if observation.diagnosis != Diagnosis::Serving {
        return Err(observation.diagnosis.to_string());
    }
    let text = String::from_utf8_lossy(&observation.answer);
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let value = line.trim_start_matches(':').trim().split([',', ' ']).next()?;
        Some(printable(value))
    };
    // The version is followed by a dash and the commit.
    let version = value(VERSION).map(|version| version.split('-').next().unwrap_or_default().to_owned());
    Ok(ServerInfo { version, role: value("Mode") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_reports_its_version_and_role_unless_srvr_is_disabled() {
        let answer = b"Zookeeper version: 3.8.0-5a02a05e, built on 2022-02-25 08:49 UTC\nLatency min/avg/max: 0/0.0/0\n\
                       Mode: follower\nNode count: 5\n";
        let follower = info(&Observation::of_answer(answer.to_vec())).unwrap();
        assert_eq!(
            (follower.version.as_deref(), follower.role.as_deref()),
            (Some("3.8.0"), Some("follower"))
        );
        let disabled = b"srvr is not executed because it is not in the whitelist.\n";
        assert_eq!(info(&Observation::of_answer(disabled.to_vec())), Ok(ServerInfo::default()));
        let not_serving = info(&Observation::of_answer(
            b"This ZooKeeper instance is not currently serving requests\n".to_vec(),
        ));
        assert!(not_serving.unwrap_err().contains("no quorum"));
    }
}
