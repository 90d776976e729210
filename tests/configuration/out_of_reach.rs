//! Default files that zklock can't get to, as in the home of another user, count as missing. Files that it sees and can't
//! read don't.

use super::{file, with_user_file};
use crate::support::{Case, Zklock, skip};
use nix::unistd::geteuid;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

/// A prelude after which zklock has the permissions of a file's owner only, even as root.
const UNPRIVILEGED: &str =
    "setpriv --bounding-set -dac_override,-dac_read_search --inh-caps -dac_override,-dac_read_search";

/// The prelude, or none if the tests have no privilege to give up.
fn unprivileged() -> Option<String> {
    if !geteuid().is_root() {
        return Some(String::new());
    }
    let works = Command::new("sh").args(["-c", &format!("{UNPRIVILEGED} true")]).status();
    if works.is_ok_and(|status| status.success()) {
        return Some(format!("exec {UNPRIVILEGED} \"$0\" \"$@\""));
    }
    skip("setpriv can't give up a privilege here");
    None
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[track_caller]
fn runs_without(zklock: Zklock, case: &Case, why: &str) {
    let output = zklock.args(["-vv", "-z", case.hosts(), case.path(), "echo", "ran"]).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
    output.assert_stderr(&format!("config.toml: not read, because zklock can't get there: {why}"));
}

#[test]
fn a_file_below_a_closed_directory_is_ignored_and_named_with_vv() {
    let case = Case::new("config-closed");
    let Some(prelude) = unprivileged() else { return };
    for closed in ["home", "home/.config", "home/.config/zklock"] {
        let zklock = || with_user_file(&case, "nonsense").prelude(&prelude);
        let zklock = [zklock(), zklock().arg("-q")];
        let directory = case.dir().join(closed);
        set_mode(&directory, 0o000);
        let [loud, quiet] = zklock;
        runs_without(loud, &case, "Permission denied");
        let output = quiet.args(["-z", case.hosts(), case.path(), "echo", "ran"]).run();
        assert_eq!(output.assert_code(0).stderr, "");
        set_mode(&directory, 0o755);
    }
    // The file isn't in the closed directory, but a link on the way is.
    let zklock = with_user_file(&case, "nonsense").prelude(&prelude);
    let (real, link) = (case.dir().join("home/.config/zklock"), case.dir().join("home/closed"));
    fs::create_dir(&link).unwrap();
    fs::rename(&real, link.join("zklock")).unwrap();
    symlink(link.join("zklock"), &real).unwrap();
    set_mode(&link, 0o000);
    runs_without(zklock, &case, "Permission denied");
    set_mode(&link, 0o755);
}

#[test]
fn a_file_that_is_seen_and_may_not_be_read_is_an_error_with_the_remedy() {
    let case = Case::new("config-unreadable");
    let Some(prelude) = unprivileged() else { return };
    let zklock = || with_user_file(&case, "quiet = true").prelude(&prelude);
    let zklock = [zklock(), zklock(), zklock()];
    let config = case.dir().join("home/.config/zklock/config.toml");
    set_mode(&config, 0o000);
    let [run, status, remedy] = zklock;
    for zklock in [run.args(["-z", case.hosts(), case.path(), "echo", "ran"]), status.arg("status")] {
        let output = zklock.run();
        output
            .assert_code(125)
            .assert_stdout("")
            .assert_stderr("zklock/config.toml: Permission denied; let this");
        output.assert_stderr("user read it, or name another file with --config");
        assert!(!output.stderr.contains("os error"), "{output}");
    }
    let output = remedy.args(["--config", "/dev/null", "-z", case.hosts(), case.path(), "echo", "ran"]).run();
    assert_eq!(output.assert_code(0).stdout, "ran\n");
}

/// The user named it, so the settings in it count.
#[test]
fn a_named_file_below_a_closed_directory_is_an_error() {
    let case = Case::new("config-named-closed");
    let Some(prelude) = unprivileged() else { return };
    let config = file(&case, "closed/zklock.toml", "");
    let zklock = || Zklock::at(case.hosts(), case.marker()).prelude(&prelude);
    set_mode(&case.dir().join("closed"), 0o000);
    for zklock in [zklock().arg("--config").arg(&config), zklock().env("ZKLOCK_CONFIG", &config)] {
        let output = zklock.args([case.path(), "echo", "ran"]).run();
        output.assert_code(125).assert_stdout("").assert_stderr("can't read ");
    }
    set_mode(&case.dir().join("closed"), 0o755);
}

#[test]
fn any_other_home_without_a_file_is_no_mistake() {
    let case = Case::new("config-homes");
    let home = |name: &str| case.dir().join(name);
    fs::write(home("file"), "").unwrap();
    symlink("loop", home("loop")).unwrap();
    let config = file(&case, "relative/.config/zklock/config.toml", "nonsense");
    let long = format!("/{}", "x".repeat(5000));
    for (variable, value, why) in [
        ("HOME", "", None),
        ("HOME", "relative", None),
        ("HOME", home("nosuch").to_str().unwrap(), None),
        ("HOME", home("file").to_str().unwrap(), None),
        ("HOME", home("loop").to_str().unwrap(), Some("Too many symbolic links encountered")),
        ("HOME", &long, Some("File name too long")),
        ("XDG_CONFIG_HOME", home("file").to_str().unwrap(), None),
        ("XDG_CONFIG_HOME", home("loop").to_str().unwrap(), Some("Too many symbolic links encountered")),
        ("XDG_CONFIG_HOME", "relative/.config", None),
    ] {
        let zklock = Zklock::bare(case.marker()).env(variable, value).dir(case.dir());
        if let Some(why) = why {
            runs_without(zklock, &case, why);
            continue;
        }
        let output = zklock.args(["-vv", "-z", case.hosts(), case.path(), "echo", "ran"]).run();
        assert_eq!(output.assert_code(0).stdout, "ran\n");
        assert!(!output.stderr.contains("config.toml"), "{output}");
    }
    let unset = Zklock::bare(case.marker()).prelude("unset HOME");
    unset.args(["-z", case.hosts(), case.path(), "true"]).run().assert_code(0);
    assert!(config.exists());
}
