//! SASL with DIGEST-MD5.

use super::{HOLD, file};
use crate::support::{Case, DEADLINE, Server, end, wait_until, worker_of};
use nix::sys::signal::{Signal, kill};
use std::sync::LazyLock;
use std::time::Duration;
use tempfile::TempDir;

/// A server with two SASL users.
struct Sasl {
    server: Server,
    _dir: TempDir,
}

static SASL: LazyLock<Sasl> = LazyLock::new(|| {
    let dir = tempfile::tempdir().expect("a directory");
    let jaas = dir.path().join("jaas.conf");
    let users = "user_ci=\"s3cret\" user_other=\"0ther\"";
    let login = "org.apache.zookeeper.server.auth.DigestLoginModule";
    std::fs::write(&jaas, format!("Server {{ {login} required {users}; }};\n")).expect("a JAAS file");
    let server = Server::builder()
        .java_option(&format!("-Djava.security.auth.login.config={}", jaas.display()))
        .java_option("-Dzookeeper.authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider")
        .start();
    Sasl { server, _dir: dir }
});

fn case(name: &str) -> Case {
    let case = Case::on(&SASL.server, name);
    case.observer().mkdirs(case.path());
    case
}

const CI: &str = "sasl-digest-md5:ci:s3cret";

#[test]
fn the_sasl_identity_owns_the_nodes() {
    let case = case("sasl");
    let auth = file(&case, "auth", CI, 0o600);
    let auth = auth.to_str().unwrap();
    let list = ["--auth-file", auth, "--acl", "sasl:ci:cdrwa,world:anyone:r"];
    let holder = case.lock(&list, HOLD).spawn();
    let node = holder.wait_for_stdout(case.path(), DEADLINE);
    assert_eq!(case.observer().acl(&node), ["sasl:ci:cdrwa", "world:anyone:r"]);
    end(holder);
    let holder = case.lock(&["--auth-file", auth], HOLD).spawn();
    let node = holder.wait_for_stdout(case.path(), DEADLINE);
    let waiter = case.lock(&["-v", "--auth-file", auth], ["echo", "ran"]).spawn();
    waiter.wait_for_line("position 2", DEADLINE);
    // The monitor authenticates like the worker.
    kill(worker_of(holder.pid()), Signal::SIGKILL).expect("a worker");
    // Found by its name among the children: since ZooKeeper 3.9 the observer may not read the node's stat.
    let is_gone = || !case.contenders().iter().any(|name| node.ends_with(name.as_str()));
    wait_until("the monitor to delete the node", Duration::from_secs(20), is_gone);
    assert_eq!(waiter.wait(DEADLINE).assert_code(0).stdout, "ran\n");
    holder.wait(DEADLINE).assert_code(123);
}

#[test]
fn a_node_of_one_user_is_hidden_from_another() {
    let case = case("sasl-users");
    let holder = case.lock(&[], HOLD).env("ZKLOCK_AUTH", CI).spawn();
    holder.wait_for_stdout(case.path(), DEADLINE);
    let waiter =
        case.lock(&["-v"], ["echo", "ran"]).env("ZKLOCK_AUTH", "sasl-digest-md5:other:0ther").spawn();
    waiter.wait_for_line("behind node _c_", DEADLINE);
    end(holder);
    assert_eq!(waiter.wait(DEADLINE).assert_code(0).stdout, "ran\n");
}

#[test]
fn a_wrong_sasl_password_is_reported() {
    let case = case("sasl-wrong");
    for auth in ["sasl-digest-md5:ci:wr0ng", "sasl-digest-md5:nobody:wr0ng"] {
        let output = case.lock(&["-v", "--connect-timeout", "60"], ["echo", "ran"]).env("ZKLOCK_AUTH", auth);
        let output = output.run();
        output.assert_code(125).assert_stderr("refused the credentials");
        assert!(!output.stderr.contains("wr0ng"), "{output}");
        assert!(output.elapsed < Duration::from_secs(40), "{output}");
    }
}

/// Such a server reports success, but authenticates nobody.
#[test]
fn a_server_without_sasl_is_refused() {
    let case = Case::new("no-sasl");
    case.observer().mkdirs(case.path());
    let output = case.lock(&[], ["echo", "ran"]).env("ZKLOCK_AUTH", CI).run();
    output.assert_code(125).assert_stderr("the server accepted no credentials");
    assert_eq!(output.stdout, "");
    assert_eq!(case.contenders(), Vec::<String>::new());
}

#[cfg(not(feature = "gssapi"))]
#[test]
fn kerberos_needs_the_gssapi_feature() {
    let case = Case::new("no-kerberos");
    let output = case.lock(&[], ["echo", "ran"]).env("ZKLOCK_AUTH", "sasl-gssapi:").run();
    output.assert_code(125).assert_stderr("--features gssapi");
}
