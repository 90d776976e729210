//! Files with credentials: errors that are reported before zklock connects. A mistake in a line is a row of `refused`.

use super::{ALICE, file};
use crate::support::{Case, Output, Zklock};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

/// No server listens there: the errors need no connection.
const NOWHERE: &str = "127.0.0.1:1";

#[track_caller]
fn is_refused(case: &Case, option: &str, path: &Path) -> Output {
    let zklock = Zklock::at(NOWHERE, case.marker()).arg(option).arg(path);
    let output = zklock.args(["--connect-timeout", "30", "/locks/a", "echo", "ran"]).run();
    output.assert_code(125);
    assert_eq!(output.stdout, "");
    assert!(output.elapsed < Duration::from_secs(20), "{output}");
    assert!(!output.stderr.contains("wonder"), "{output}");
    output
}

#[test]
fn a_file_that_others_can_read_is_refused() {
    let case = Case::new("readable");
    for mode in [0o640, 0o604, 0o644, 0o660, 0o620] {
        let auth = file(&case, "a $ecret", &format!("digest:{ALICE}"), mode);
        let config = file(&case, "a $etting", &format!("auth = ['digest:{ALICE}']"), mode);
        for (option, path) in [("--auth-file", auth), ("--config", config)] {
            let typed = path.display().to_string().replace('$', "\\$");
            is_refused(&case, option, &path).assert_stderr(&format!("): chmod 600 \"{typed}\"\n"));
        }
    }
    let link = case.dir().join("link");
    symlink(case.dir().join("a $ecret"), &link).unwrap();
    is_refused(&case, "--auth-file", &link).assert_stderr("chmod 600");
}

#[test]
fn credentials_can_come_from_links_and_pipes_and_files_of_their_user() {
    let case = Case::new("pipes").authenticated_as(ALICE);
    let auth = file(&case, "auth", &format!("digest:{ALICE}"), 0o400);
    let config = file(&case, "config", &format!("auth = ['digest:{ALICE}']"), 0o600);
    let link = case.dir().join("link");
    symlink(auth, &link).unwrap();
    let pipe = format!("exec 7< <(echo digest:{ALICE})");
    for (option, path) in [
        ("--auth-file", link.as_path()),
        ("--auth-file", Path::new("/dev/fd/7")),
        ("--config", config.as_path()),
    ] {
        let zklock = case.zklock().arg(option).arg(path).args([case.path(), "echo", "ran"]);
        assert_eq!(zklock.prelude(&pipe).run().assert_code(0).stdout, "ran\n");
    }
}

#[test]
fn a_file_without_credentials_is_an_error() {
    let case = Case::new("no-lines");
    is_refused(&case, "--auth-file", &case.dir().join("missing")).assert_stderr("can't read");
    is_refused(&case, "--auth-file", case.dir()).assert_stderr("can't read");
    let long = file(&case, "long", &"# filler\n".repeat(10_000), 0o600);
    is_refused(&case, "--auth-file", &long).assert_stderr("is it the right file?");
}
