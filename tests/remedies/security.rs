//! Remedies for credentials, ACLs and keys.

use super::{between, in_a_shell};
use crate::support::{Authority, Case, DEADLINE, Keys, Server, Zklock};

/// The lines that the messages show.
#[test]
fn credentials_as_the_messages_show_them_are_accepted() {
    let case = Case::new("remedy-auth").authenticated_as("ci:secret");
    for (mistake, remedy) in [
        ("ci", "it must be SCHEME:CREDENTIALS, as in digest:USER:PASSWORD"),
        ("digest:ci", "it must be digest:USER:PASSWORD"),
        ("# ci", "write lines such as digest:USER:PASSWORD"),
        ("foo:", "there are no credentials behind 'foo:'"),
    ] {
        let zklock = |auth: &str| case.lock(&[], ["true"]).env("ZKLOCK_AUTH", auth).run();
        zklock(mistake).assert_code(125).assert_stderr(remedy);
        zklock("digest:ci:secret").assert_code(0);
    }
    let zklock = case.lock(&[], ["true"]).env("ZKLOCK_AUTH", "sasl:ci").run();
    zklock.assert_code(125).assert_stderr("and whether the server knows their scheme");
}

#[test]
fn an_acl_for_the_creator_works_with_what_the_message_adds() {
    let case = Case::new("remedy-creator");
    let path = |end: &str| format!("{}-{end}", case.path());
    let refused = case.lock(&["--acl", "creator"], ["true"]).run();
    refused
        .assert_code(125)
        .assert_stderr("add --auth-file FILE, ZKLOCK_AUTH or --tls-cert FILE, or use --acl open");
    assert_eq!(in_a_shell(&case, "umask 77; echo digest:ci:secret >auth"), 0);
    let file = case.dir().join("auth").display().to_string();
    case.zklock().args(["--acl", "creator", "--auth-file", &file, &path("a"), "true"]).run().assert_code(0);
    case.zklock()
        .env("ZKLOCK_AUTH", "digest:ci:secret")
        .args(["--acl", "creator", &path("b"), "true"])
        .run()
        .assert_code(0);
    case.zklock().args(["--acl", "open", &path("c"), "true"]).run().assert_code(0);
}

/// Each example in a message about an ACL, on a real server.
#[test]
fn the_acls_that_messages_show_work() {
    let case = Case::new("remedy-acl");
    let refused = |acl: &str| case.lock(&["--acl", acl], ["true"]).run().assert_code(125).stderr.clone();
    let form = refused("everybody");
    let mut examples: Vec<&str> = between(&form, "as in ", "\n").split(" or ").collect();
    let letters = refused("world:anyone:r");
    examples.push(between(&letters, "as in ", "\n"));
    let world = refused("world:me:cdrwa");
    let id = format!("{}:cdrwa", between(&world, "the only id of that scheme is ", "\n"));
    examples.push(&id);
    assert_eq!(examples.len(), 4, "{examples:?}");
    for (number, acl) in examples.into_iter().enumerate() {
        let zklock = case.zklock().env("ZKLOCK_AUTH", "digest:ci:secret").args(["--acl", acl]);
        let output = zklock.args([&format!("{}-{number}", case.path()), "--", "echo", "ran"]).run();
        assert_eq!(output.assert_code(0).stdout, "ran\n", "{acl}");
    }
}

/// zklock can't ask for the password.
#[test]
fn an_encrypted_key_is_accepted_once_it_is_decrypted() {
    let case = Case::new("remedy-key").through("127.0.0.1:1");
    let make = "umask 77; openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -subj /CN=ci -days 9 \
                -passout pass:x -keyout encrypted -out certificate 2>/dev/null";
    assert_eq!(in_a_shell(&case, make), 0);
    let file = |name: &str| case.dir().join(name).display().to_string();
    let with_key = |key: &str| {
        let options = [
            "--connect-timeout",
            "1ms",
            "--tls-ca",
            &file("certificate"),
            "--tls-cert",
            &file("certificate"),
        ];
        case.zklock().args(options).args(["--tls-key", &file(key), "/a", "true"]).run()
    };
    with_key("encrypted").assert_code(125).assert_stderr("decrypt it with openssl pkey");
    assert_eq!(in_a_shell(&case, "umask 77; openssl pkey -in encrypted -passin pass:x -out decrypted"), 0);
    with_key("decrypted").assert_code(125).assert_stderr("could be reached");
    for (options, other) in [("--tls-cert", "--tls-key FILE"), ("--tls-key", "--tls-cert FILE")] {
        let output = case.zklock().args([options, &file("decrypted"), "/a", "true"]).run();
        output.assert_code(125).assert_stderr(&format!("needs {other}"));
    }
}

/// Of a server that requires TLS and a client certificate.
#[test]
fn what_helps_at_a_server_of_tls_works() {
    let authority = Authority::new("authority");
    let keys = Keys::new(&authority.sign("server", &["127.0.0.1"]), &authority, "need");
    let server = Server::builder().tls(&keys).start();
    let case = Case::on(&server, "remedy-tls");
    // Created open; otherwise the first client would own it alone.
    case.observer().mkdirs(case.path());
    let client = authority.sign("client", &[]);
    let file = |name: &str, text: &str| keys.file(name, text).display().to_string();
    let ca = keys.authority().display().to_string();
    let (certificate, key) = (file("client.pem", &client.certificate), file("client.key", &client.key));
    let (secure, plain) = (server.secure_connect_string(), server.connect_string());
    let call = |hosts: &str, options: &[&str]| {
        let zklock = Zklock::at(hosts, case.marker()).args(["--connect-timeout", "10"]);
        zklock.args(options).args([case.path(), "true"]).spawn()
    };
    let trusting = ["--tls", "--tls-ca", &ca];
    let known = [&trusting[..], &["--tls-cert", &certificate, "--tls-key", &key]].concat();
    let other_name = secure.replace("127.0.0.1", "localhost");
    // At the same time, because each takes all of its time to connect.
    let refused = [
        (call(&secure, &[]), "use --tls, and --tls-ca FILE if its authority is one of your own"),
        (call(&plain, &known), "name its TLS port, or leave the --tls options out"),
        (call(&other_name, &known), "is only valid for IpAddress(127.0.0.1)"),
    ];
    for (refused, remedy) in refused {
        refused.wait(DEADLINE).assert_code(125).assert_stderr(remedy);
    }
    call(&secure, &known).wait(DEADLINE).assert_code(0);
    call(&plain, &[]).wait(DEADLINE).assert_code(0);
}
