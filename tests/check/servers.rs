//! Servers that can be reached, and servers that can't.

use super::{assert_fields, assert_line, check, json};
use crate::support::{Authority, Case, Ensemble, Keys, Proxy, Server, shared, skip};
use serde_json::Value;
use std::time::Duration;

#[test]
fn one_dead_server_of_three_is_a_warning() {
    let ensemble = Ensemble::start();
    let case = Case::at(&ensemble.connect_string(), "check-dead");
    ensemble.followers()[0].kill();
    ensemble.leader();
    let output = check(&case, &["--json"]).run();
    let document = json(output.assert_code(1));
    assert_eq!(document["verdict"], "warnings");
    let of = |field: &str| -> Vec<_> {
        document["servers"].as_array().unwrap().iter().map(|server| server[field].clone()).collect()
    };
    assert_eq!(of("reached").iter().filter(|reached| **reached == true).count(), 2, "{document}");
    let roles = of("role");
    for role in ["leader", "follower"] {
        assert_eq!(roles.iter().filter(|said| **said == role).count(), 1, "{document}");
    }
    assert!(document["warnings"][0]["what"].as_str().unwrap().contains("connection refused"), "{document}");
    // The other warnings are about the servers' version.
    let about = |warning: &Value| warning["about"].as_str().unwrap().to_owned();
    let mut others = document["warnings"].as_array().unwrap().iter().skip(1).map(about);
    assert!(others.all(|about| about.starts_with("version ")), "{document}");
}

/// Which versions these are is up to a unit test; this one is about servers that are asked.
#[test]
fn an_ensemble_whose_version_can_forget_lock_nodes_is_one_warning() {
    let ensemble = Ensemble::start();
    let case = Case::at(&ensemble.connect_string(), "check-version");
    let plain = check(&case, &[]).run();
    let document = json(&check(&case, &["--json"]).run());
    assert_fields(&document);
    let version = document["servers"][0]["version"].as_str().unwrap();
    if version != "3.8.0" {
        skip(&format!("the servers are {version}"));
        return;
    }
    let line = "(ZOOKEEPER-4785): upgrade to 3.9.4 or later, or to 3.8.5 or a later 3.8";
    assert_line(plain.assert_code(1), "warn", "version", line);
    assert_eq!(document["warnings"].as_array().unwrap().len(), 1, "{document}");
    assert_eq!(document["verdict"], "warnings");
    let quiet = check(&case, &["-q"]).run();
    assert!(quiet.assert_code(1).stdout.starts_with("warn  version 3.8.0"), "{quiet}");
}

#[test]
fn servers_that_say_nothing_share_the_time_for_connecting() {
    let (one, other) = (Proxy::to(shared()), Proxy::to(shared()));
    one.blackhole();
    other.blackhole();
    let case = Case::new("check-silent");
    let hosts = format!("{},{},{}", one.connect_string(), other.connect_string(), case.hosts());
    let case = case.through(&hosts);
    let output = check(&case, &["--connect-timeout", "8", "--session-timeout", "8"]).run();
    assert_line(output.assert_code(1), "warn", "server", "accepts connections but doesn't answer");
    assert!(output.elapsed < Duration::from_secs(15), "{:?} {output}", output.elapsed);
}

#[test]
fn without_any_server_it_is_unfit_and_says_what_each_said() {
    let case = Case::new("check-none").through("127.0.0.1:1,nosuch.invalid:2");
    let output = check(&case, &[]).run();
    assert_line(output.assert_code(125), "fail", "server", "127.0.0.1:1");
    assert_line(&output, "fail", "server", "unknown host");
    assert_line(&output, "fail", "session", "no server opened one");
    let document = json(check(&case, &["--json", "/t/a"]).run().assert_code(125));
    assert_fields(&document);
    assert_eq!(document["verdict"], "unfit");
    assert!(document["session"].is_null() && document["permissions"].is_null(), "{document}");
}

#[test]
fn a_server_with_tls_is_asked_over_tls() {
    let authority = Authority::new("authority");
    let keys = Keys::new(&authority.sign("server", &["127.0.0.1"]), &authority, "none");
    let server = Server::builder().tls(&keys).start();
    let case = Case::on(&server, "check-tls").through(&server.secure_connect_string());
    let output = check(&case, &["--json"]).arg("--tls-ca").arg(keys.authority()).run();
    let document = json(output.assert_code(0));
    assert_eq!(document["servers"][0]["tls"], true, "{document}");
    let plain = check(&case, &["--connect-timeout", "4"]).run();
    assert_line(plain.assert_code(125), "fail", "server", "speaks TLS: use --tls");
}
