//! What zklock says of certificates as people make them with openssl, and of servers with other settings of TLS.

use crate::support::{DEADLINE, Running, Zklock, free_port, new_marker, skip, spawn, wait_until};
use std::fs::{self, Permissions};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Makes the authorities and certificates of all cases. `sign NAME EXTENSION...` makes one that `ca` has signed.
const FILES: &str = r"
ec='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
authority() { openssl req -x509 $ec -days 9 -subj '/CN=example CA' -keyout $1.key -out $1.pem; }
sign() {
    name=$1; shift
    openssl req $ec -subj /CN=$name -keyout $name.key -out $name.csr
    printf '%s\n' $* >$name.ext
    openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 9 $([ $# = 0 ] || echo -extfile $name.ext) -out $name.pem
}
authority ca
authority newer
openssl req -x509 $ec -days 9 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout own.key -out own.pem
sign good subjectAltName=DNS:localhost
sign nameless keyUsage=digitalSignature
sign client subjectAltName=DNS:localhost extendedKeyUsage=clientAuth
sign critical subjectAltName=DNS:localhost 1.2.3.4=critical,ASN1:UTF8String:x
";

/// A certificate of version 1 and its key: OpenSSL from 3.4 on makes none.
const VERSION_1: [(&str, &str); 2] = [
    ("version1.pem", include_str!("certificates/version1.pem")),
    ("version1.key", include_str!("certificates/version1.key")),
];

/// A server of TLS, zklock's options, and what zklock says.
struct Attempt {
    certificate: &'static str,
    server: &'static str,
    options: &'static str,
    reason: &'static str,
}

const fn attempt(
    certificate: &'static str,
    server: &'static str,
    options: &'static str,
    reason: &'static str,
) -> Attempt {
    Attempt { certificate, server, options, reason }
}

const DEMANDS: &str = "-Verify 1 -verify_return_error -CAfile ca.pem";
const CA: &str = "--tls-ca ca.pem";
const CLIENT: &str = "--tls-ca ca.pem --tls-cert good.pem --tls-key good.key";
const NO_CIPHER: &str = "no cipher, signature or curve of TLS suits both sides (HandshakeFailure)";

const ATTEMPTS: [Attempt; 14] = [
    attempt(
        "own",
        "",
        "--tls-ca own.pem",
        "is an authority's own (CA:TRUE), as 'openssl req -x509' makes it",
    ),
    attempt("version1", "", CA, "its certificate is of version 1, as OpenSSL before 3.4 makes it"),
    attempt("nameless", "", CA, "its certificate has no name (subjectAltName)"),
    attempt("client", "", CA, "isn't meant for a server: its extendedKeyUsage needs serverAuth"),
    attempt("critical", "", CA, "has a critical extension that isn't known"),
    attempt("good", "", "--tls-ca newer.pem", "but is signed with another key: is that an older one?"),
    attempt(
        "good",
        "-tls1_1 -cipher ALL@SECLEVEL=0",
        CA,
        "enable TLSv1.2 or TLSv1.3 in its ssl.enabledProtocols",
    ),
    attempt("good", "-tls1_2 -sigalgs RSA+SHA256", CA, NO_CIPHER),
    attempt("good", "-groups X448", CA, NO_CIPHER),
    attempt("good", "-groups X448", CLIENT, NO_CIPHER),
    attempt("good", DEMANDS, CA, "it demands a client certificate: give one with --tls-cert"),
    attempt(
        "good",
        "-tls1_2 -Verify 1 -verify_return_error -CAfile ca.pem",
        CA,
        "it demands a client certificate: give one with --tls-cert",
    ),
    attempt(
        "good",
        "-Verify 1 -verify_return_error -CAfile own.pem",
        CLIENT,
        "refuses the certificate of --tls-cert (UnknownCA): its trust store must have the authority",
    ),
    attempt(
        "good",
        "-Verify 1 -verify_return_error -CAfile ca.pem -client_sigalgs RSA-PSS+SHA256",
        CLIENT,
        "accepts no signature of the key in --tls-key",
    ),
];

/// A process that ends with the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Makes the files. `None` if there is no openssl.
fn files() -> Option<TempDir> {
    let dir = tempfile::tempdir().unwrap();
    if Command::new("openssl").arg("version").stdout(Stdio::null()).status().is_err() {
        skip("openssl is not installed");
        return None;
    }
    for (name, text) in VERSION_1 {
        fs::write(dir.path().join(name), text).unwrap();
        fs::set_permissions(dir.path().join(name), Permissions::from_mode(0o600)).unwrap();
    }
    let made =
        Command::new("sh").args(["-ec", &format!("umask 077; {FILES}")]).current_dir(&dir).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(dir)
}

fn start(dir: &Path, attempt: &Attempt) -> (Ends, Running) {
    let Attempt { certificate, server, options, .. } = attempt;
    let port = free_port();
    let mut command = Command::new("openssl");
    command.args(["s_server", "-quiet", "-accept", &format!("127.0.0.1:{port}")]);
    command.args(["-cert", &format!("{certificate}.pem"), "-key", &format!("{certificate}.key")]);
    command.args(server.split_whitespace()).current_dir(dir).stdin(Stdio::null());
    let listener = Ends(spawn::spawn(command.stdout(Stdio::null()).stderr(Stdio::null())));
    wait_until("openssl to listen", DEADLINE, || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let zklock = Zklock::at(&format!("localhost:{port}"), &new_marker()).dir(dir);
    let zklock = zklock.args(options.split_whitespace()).args(["--acl", "open", "--connect-timeout", "10"]);
    (listener, zklock.args(["/t/handshake", "--", "echo", "ran"]).spawn())
}

#[test]
fn each_unsuitable_certificate_and_setting_is_named() {
    let Some(dir) = files() else { return };
    let started: Vec<_> = ATTEMPTS.iter().map(|attempt| start(dir.path(), attempt)).collect();
    for ((_listener, running), attempt) in started.into_iter().zip(&ATTEMPTS) {
        let output = running.wait(DEADLINE);
        output.assert_code(125).assert_stderr(attempt.reason);
        assert!(!output.stderr.contains("Error("), "{output}");
    }
}

#[test]
fn a_client_certificate_that_cannot_be_used_is_named_and_not_its_key() {
    let Some(dir) = files() else { return };
    for (certificate, key, reason) in [
        ("version1", "version1", "--tls-cert: version1.pem: the certificate in it is of version 1"),
        (
            "good",
            "client",
            "--tls-cert: good.pem, and --tls-key: client.key: the certificate and the key can't be used: they don't belong together",
        ),
    ] {
        let zklock = Zklock::at("127.0.0.1:1", &new_marker()).dir(dir.path()).args(["--tls-ca", "ca.pem"]);
        let zklock =
            zklock.args(["--tls-cert", &format!("{certificate}.pem"), "--tls-key", &format!("{key}.key")]);
        zklock.args(["/t/handshake", "--", "true"]).run().assert_code(125).assert_stderr(reason);
    }
}
