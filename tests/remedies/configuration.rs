//! Remedies for configuration files and other files.

use super::{between, in_a_shell};
use crate::support::{Case, OtherUser, Output};
use std::fs;
use std::path::PathBuf;

/// zklock with a configuration file of this text.
fn with_file(case: &Case, text: &str) -> (PathBuf, Output) {
    let file = case.dir().join("a file.toml");
    fs::write(&file, text).unwrap();
    let output = case.zklock().arg("--config").arg(&file).args([case.path(), "--", "echo", "ran"]).run();
    (file, output)
}

/// The message shows the command that hides a file with a secret, also if its name has a blank.
#[test]
fn a_file_with_a_secret_is_accepted_after_the_command_in_the_message() {
    let case = Case::new("remedy-secret");
    let (file, refused) = with_file(&case, "auth = ['digest:a:b']");
    let said = refused.assert_code(125).stderr.clone();
    assert_eq!(said.matches("a file.toml").count(), 2, "the file, and the command: {said}");
    let hide = |said: &str| in_a_shell(&case, &format!("chmod 600 {}", between(said, "chmod 600 ", "\n")));
    assert_eq!(hide(&said), 0);
    let path = format!("{}-config", case.path());
    case.zklock().arg("--config").arg(&file).args([&path, "true"]).run().assert_code(0);
    let secret = case.dir().join("a $ecret");
    fs::write(&secret, "digest:a:b\n").unwrap();
    let path = format!("{}-auth", case.path());
    let zklock = || case.zklock().arg("--auth-file").arg(&secret).args([&path, "true"]);
    assert_eq!(hide(&zklock().run().assert_code(125).stderr), 0);
    zklock().run().assert_code(0);
}

/// A regular file, or `<(COMMAND)`.
#[test]
fn a_file_that_can_be_read_takes_the_place_of_one_that_cannot() {
    let case = Case::new("remedy-unreadable");
    for (option, text) in [("--config", "label = 'x'"), ("--auth-file", "digest:a:b")] {
        let path = format!("{}{option}", case.path());
        let zklock = |file: &str| case.zklock().args([option, file, &path, "true"]);
        let refused = zklock("/dev").run();
        refused.assert_code(125).assert_stderr("it is neither a regular file nor a pipe");
        zklock("/dev/fd/7").prelude(&format!("exec 7< <(echo \"{text}\")")).run().assert_code(0);
        let file = case.dir().join("regular");
        assert_eq!(in_a_shell(&case, &format!("umask 77; echo \"{text}\" >regular")), 0);
        zklock(file.to_str().unwrap()).run().assert_code(0);
    }
}

/// `--config` names another file than the default one, which this user may not read.
#[test]
fn another_file_takes_the_place_of_a_default_one_that_may_not_be_read() {
    let Some(user) = OtherUser::new() else { return };
    let case = Case::new("remedy-default-file");
    let (home, directory) = (user.dir().join("home"), user.dir().join("home/zklock"));
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("config.toml"), "label = 'x'").unwrap();
    assert_eq!(
        in_a_shell(
            &case,
            &format!("chmod 755 '{0}' '{0}/..'; chmod 600 '{0}/config.toml'", directory.display())
        ),
        0
    );
    let zklock = || user.zklock(case.hosts(), &[]).env("XDG_CONFIG_HOME", &home);
    let refused = zklock().args([case.path(), "true"]).run();
    refused.assert_code(125).assert_stderr("let this user read it, or name another file with --config");
    zklock().args(["--config", "/dev/null", case.path(), "true"]).run().assert_code(0);
    fs::set_permissions(directory.join("config.toml"), std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .unwrap();
    zklock().args([case.path(), "true"]).run().assert_code(0);
}
