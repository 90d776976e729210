//! Files and variables with credentials: errors that are reported before zklock connects.

use super::{ALICE, file};
use crate::support::{Case, Output, Zklock};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

/// No server listens there: the errors need no connection.
const NOWHERE: &str = "127.0.0.1:1";

#[track_caller]
fn is_refused(zklock: Zklock) -> Output {
    let output = zklock.args(["--connect-timeout", "30", "/locks/a", "echo", "ran"]).run();
    output.assert_code(125);
    assert_eq!(output.stdout, "");
    assert!(output.elapsed < Duration::from_secs(20), "{output}");
    assert!(!output.stderr.contains("wonder"), "{output}");
    output
}

fn with_auth_file(case: &Case, path: &Path) -> Zklock {
    Zklock::at(NOWHERE, case.marker()).arg("--auth-file").arg(path)
}

#[test]
fn a_file_that_others_can_read_is_refused() {
    let case = Case::new("readable");
    for mode in [0o640, 0o604, 0o644, 0o660, 0o620] {
        let auth = file(&case, "auth", &format!("digest:{ALICE}"), mode);
        let output = is_refused(with_auth_file(&case, &auth));
        output.assert_stderr(&format!("chmod 600 {}", auth.display()));
    }
    let link = case.dir().join("link");
    symlink(case.dir().join("auth"), &link).unwrap();
    is_refused(with_auth_file(&case, &link)).assert_stderr("chmod 600");
}

#[test]
fn credentials_can_come_from_links_and_pipes() {
    let case = Case::new("pipes").authenticated_as(ALICE);
    let auth = file(&case, "auth", &format!("digest:{ALICE}"), 0o400);
    let link = case.dir().join("link");
    symlink(auth, &link).unwrap();
    let link = link.to_str().unwrap();
    let output = case.lock(&["--auth-file", link], ["echo", "ran"]).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
    let pipe = format!("exec 7< <(echo digest:{ALICE})");
    let output = case.lock(&["--auth-file", "/dev/fd/7"], ["echo", "ran"]).prelude(&pipe).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}

#[test]
fn an_invalid_line_is_reported_by_its_number_and_not_shown() {
    let case = Case::new("bad-lines");
    for (line, reason) in [
        ("wonder", "SCHEME:CREDENTIALS"),
        ("digest:wonder", "digest:USER:PASSWORD"),
        ("world:anyone", "everybody has it"),
        ("x509:CN=a", "--tls-cert"),
    ] {
        let text = format!("# one\ndigest:{ALICE}\n{line}\n");
        let auth = file(&case, "auth", &text, 0o600);
        is_refused(with_auth_file(&case, &auth)).assert_stderr("line 3").assert_stderr(reason);
        let output = is_refused(Zklock::at(NOWHERE, case.marker()).env("ZKLOCK_AUTH", &text));
        output.assert_stderr("ZKLOCK_AUTH: line 3").assert_stderr(reason);
    }
}

#[test]
fn a_file_or_variable_without_credentials_is_an_error() {
    let case = Case::new("no-lines");
    for blank in [" ", "\n", "# later"] {
        let output = is_refused(Zklock::at(NOWHERE, case.marker()).env("ZKLOCK_AUTH", blank));
        output.assert_stderr("ZKLOCK_AUTH holds no credentials");
    }
    let empty = file(&case, "empty", "# later\n\n", 0o600);
    is_refused(with_auth_file(&case, &empty)).assert_stderr("no credentials");
    is_refused(with_auth_file(&case, &case.dir().join("missing"))).assert_stderr("can't read");
    is_refused(with_auth_file(&case, case.dir())).assert_stderr("can't read");
    let long = file(&case, "long", &"# filler\n".repeat(10_000), 0o600);
    is_refused(with_auth_file(&case, &long)).assert_stderr("is it the right file?");
}
