//! TLS: connections, and a message for each way in which one fails.

use crate::open_files::with_free_numbers;
use crate::support::{
    Authority, Case, DEADLINE, Identity, Keys, Running, Server, Zklock, end, wait_until, worker_of,
};
use nix::sys::signal::{Signal, kill};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

/// A server that requires client certificates.
struct Secure {
    authority: Authority,
    keys: Keys,
    server: Server,
}

static SECURE: LazyLock<Secure> = LazyLock::new(|| {
    let authority = Authority::new("authority");
    let keys = Keys::new(&authority.sign("server", &["127.0.0.1"]), &authority, "need");
    let server = Server::builder().tls(&keys).start();
    Secure { authority, keys, server }
});

impl Secure {
    /// A case whose zklock uses TLS, and whose observer doesn't.
    fn case(&self, name: &str) -> Case {
        let case = Case::on(&self.server, name).through(&self.server.secure_connect_string());
        // Created open; otherwise the first case would own it alone.
        case.observer().mkdirs("/t");
        case
    }
}

/// The options for these files.
fn options(ca: Option<PathBuf>, keys: &Keys, identity: Option<&Identity>) -> Vec<String> {
    let mut options = vec![];
    let mut add = |name: &str, file: PathBuf| options.extend([name.to_owned(), file.display().to_string()]);
    if let Some(ca) = ca {
        add("--tls-ca", ca);
    }
    if let Some(Identity { certificate, key }) = identity {
        let unique = uuid::Uuid::new_v4();
        add("--tls-cert", keys.file(&format!("{unique}.pem"), certificate));
        add("--tls-key", keys.file(&format!("{unique}.key"), key));
    }
    options
}

/// An attempt to connect, and the reason for its failure.
struct Attempt {
    hosts: String,
    options: Vec<String>,
    reason: &'static str,
}

/// Asserts that each attempt fails for its reason within the connect timeout. They run in parallel, because each takes
/// that long.
#[track_caller]
fn fail(case: &Case, attempts: &[Attempt]) {
    let start = |attempt: &Attempt| {
        let zklock = Zklock::at(&attempt.hosts, case.marker()).args(&attempt.options);
        zklock.args(["--connect-timeout", "8", case.path(), "echo", "ran"]).spawn()
    };
    let running: Vec<_> = attempts.iter().map(start).collect();
    for (running, Attempt { hosts, reason, .. }) in running.into_iter().zip(attempts) {
        let output = running.wait(DEADLINE);
        output.assert_code(125).assert_stderr(reason).assert_stderr(hosts);
        assert_eq!(output.stdout, "");
        assert!(output.elapsed < Duration::from_secs(30), "{output}");
    }
}

/// Starts zklock with this file as the system's trusted authorities.
fn with_system_file(case: &Case, file: &Path, options: &[String]) -> Running {
    let zklock = case.zklock().env("SSL_CERT_FILE", file).args(options).args(["--tls", "--acl", "open"]);
    zklock.args(["--connect-timeout", "8", case.path(), "true"]).spawn()
}

#[test]
fn with_client_certificates_the_certificate_s_identity_owns_the_nodes() {
    let secure = &*SECURE;
    let case = secure.case("mutual");
    case.observer().mkdirs(case.path());
    let identity = secure.authority.sign("client", &[]);
    let options = options(Some(secure.keys.authority()), &secure.keys, Some(&identity));
    let holder = case.zklock().args(&options).args([case.path(), "--"]).args(super::HOLD).spawn();
    holder.wait_for_stdout(case.path(), DEADLINE);
    let other_identity = secure.authority.sign("other_client", &[]);
    let other_identity = self::options(Some(secure.keys.authority()), &secure.keys, Some(&other_identity));
    let waiter = case.zklock().args(&other_identity).args(["-v", case.path(), "echo", "ran"]).spawn();
    // The holder's name is hidden, because only the owner may read the node.
    waiter.wait_for_line("behind node _c_", DEADLINE);
    end(holder);
    assert_eq!(waiter.wait(DEADLINE).assert_code(0).stdout, "ran\n");
}

#[test]
fn each_tls_failure_has_its_own_message() {
    let Secure { authority, keys, server } = &*SECURE;
    let case = SECURE.case("failures");
    let identity = authority.sign("client", &[]);
    let expired = authority.sign_expired("client", &[]);
    let unknown = Authority::new("unknown").sign("client", &[]);
    let other = keys.file("other.pem", &Authority::new("other").certificate());
    let old = Keys::new(&authority.sign_expired("server", &["127.0.0.1"]), authority, "none");
    let old_server = Server::builder().tls(&old).start();
    let by_system = with_system_file(&case, &other, &options(None, keys, Some(&identity)));
    let with = |ca: &Path, identity| options(Some(ca.to_owned()), keys, identity);
    let known = keys.authority();
    let (hosts, plain) = (server.secure_connect_string(), server.connect_string());
    let attempt = |hosts: &str, options, reason| Attempt { hosts: hosts.to_owned(), options, reason };
    let other_name = hosts.replace("127.0.0.1", "localhost");
    let other_name_message =
        "certificate not valid for name \"localhost\"; certificate is only valid for IpAddress(127.0.0.1)";
    fail(
        &case,
        &[
            attempt(&hosts, with(&other, Some(&identity)), "TLS: invalid peer certificate: UnknownIssuer"),
            attempt(&other_name, with(&known, Some(&identity)), other_name_message),
            attempt(
                "no_such..name:1",
                with(&known, Some(&identity)),
                "that name can't appear in a certificate",
            ),
            attempt(&hosts, with(&known, None), "TLS: received fatal alert: "),
            attempt(&hosts, with(&known, Some(&unknown)), "TLS: received fatal alert: "),
            attempt(&hosts, with(&known, Some(&expired)), "TLS: received fatal alert: "),
            attempt(
                &old_server.secure_connect_string(),
                with(&known, None),
                "invalid peer certificate: certificate expired",
            ),
            attempt(
                &hosts,
                vec![],
                "speaks TLS: use --tls, and --tls-ca FILE if its authority is one of your own",
            ),
            attempt(
                &plain,
                with(&known, None),
                "speaks no TLS: name its TLS port, or leave the --tls options out",
            ),
        ],
    );
    by_system.wait(DEADLINE).assert_code(125).assert_stderr("UnknownIssuer");
}

#[test]
fn without_tls_ca_the_system_s_authorities_are_trusted() {
    let secure = &*SECURE;
    let case = secure.case("system-ca");
    let identity = secure.authority.sign("client", &[]);
    let options = options(None, &secure.keys, Some(&identity));
    with_system_file(&case, &secure.keys.authority(), &options).wait(DEADLINE).assert_code(0);
    let none = secure.keys.file("none.pem", "# no authority\n");
    let output = with_system_file(&case, &none, &options).wait(DEADLINE);
    output.assert_code(125).assert_stderr("--tls-ca: ").assert_stderr("no certificate in PEM form");
}

/// A file as long as a system's, given relative to the directory in which zklock starts.
#[test]
fn the_monitor_trusts_the_same_authorities_as_the_worker() {
    let secure = &*SECURE;
    let case = secure.case("long-ca");
    let identity = secure.authority.sign("client", &[]);
    let filler = "# another authority, with a name in Latin-1\n".repeat(6_000);
    let long = secure.keys.file("long.pem", &(filler + &secure.authority.certificate()));
    let options = options(Some(PathBuf::from("long.pem")), &secure.keys, Some(&identity));
    let zklock = case.zklock().dir(long.parent().expect("its directory")).args(&options);
    let holder = zklock.args(["--acl", "open", case.path(), "--"]).args(super::HOLD).spawn();
    let node = holder.wait_for_stdout(case.path(), DEADLINE);
    kill(worker_of(holder.pid()), Signal::SIGKILL).expect("a worker");
    wait_until("the monitor to delete the node", Duration::from_secs(20), || !case.observer().exists(&node));
    holder.wait(DEADLINE).assert_code(123);
}

#[test]
fn unusable_tls_files_are_refused_before_connecting() {
    let case = Case::new("bad-files").through("127.0.0.1:1");
    let authority = Authority::new("authority");
    let (one, other) = (authority.sign("one", &[]), authority.sign("other", &[]));
    let keys = Keys::new(&one, &authority, "need");
    let file = |name: &str, text: &str| keys.file(name, text).display().to_string();
    let (ca, cert) = (file("ca", &authority.certificate()), file("cert", &one.certificate));
    let (key, wrong) = (file("key", &one.key), file("wrong", &other.key));
    let (empty, encrypted) = (file("empty", ""), file("enc", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"));
    let open = file("open", &one.key);
    std::fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    for (options, reason) in [
        (&["--tls-cert", &cert][..], "needs --tls-key FILE"),
        (&["--tls-key", &key], "needs --tls-cert FILE"),
        (&["--tls-ca", &empty], "no certificate in PEM form"),
        (&["--tls-ca", "/no/such/file"], "can't read /no/such/file"),
        (&["--tls-ca", &ca, "--tls-cert", &cert, "--tls-key", &wrong], "can't be used"),
        (&["--tls-ca", &ca, "--tls-cert", &cert, "--tls-key", &empty], "no private key in PEM form"),
        (&["--tls-ca", &ca, "--tls-cert", &empty, "--tls-key", &key], "no certificate in PEM form"),
        (
            &["--tls-ca", &ca, "--tls-cert", &cert, "--tls-key", &encrypted],
            "encrypted, and zklock can't ask for a password: decrypt it with openssl pkey",
        ),
        (&["--tls-ca", &ca, "--tls-cert", &cert, "--tls-key", &open], "chmod 600"),
    ] {
        let options = [options, &["--connect-timeout", "60"]].concat();
        let output = case.lock(&options, ["echo", "ran"]).run();
        output.assert_code(125).assert_stderr(reason);
        assert_eq!(output.stdout, "");
        assert!(output.elapsed < Duration::from_secs(20), "{output}");
    }
}

#[test]
fn with_few_open_files_a_killed_worker_s_node_is_deleted() {
    let case = SECURE.case("tls-few-files");
    let identity = SECURE.authority.sign("few", &[]);
    let options = options(Some(SECURE.keys.authority()), &SECURE.keys, Some(&identity));
    let options: Vec<&str> = options.iter().map(String::as_str).chain(["--acl", "open"]).collect();
    let command = ["sh", "-c", "echo ready; exec sleep 60"];
    let holder = case.lock(&options, command).prelude(&with_free_numbers(256, 15)).spawn();
    holder.wait_for_stdout("ready", DEADLINE);
    kill(worker_of(holder.pid()), Signal::SIGKILL).expect("a worker");
    holder.wait(DEADLINE).assert_code(123).assert_stderr("the lock node is gone");
}
