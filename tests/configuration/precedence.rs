//! Precedence of settings: command line, environment, user file, system file.

use super::{file, with_user_file};
use crate::support::{Case, DEADLINE, Zklock, has_namespaces};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// zklock with this file as its `/etc/zklock.toml`. Nothing else in /etc is needed, because servers are given by address.
fn with_system_file(zklock: Zklock, path: &Path) -> Zklock {
    zklock.with_own_mounts(&format!("mount -t tmpfs none /etc && cp {} /etc/zklock.toml", path.display()))
}

/// The line of `--show-config` about this key, without the spaces that align it.
#[track_caller]
fn shown(text: &str, key: &str) -> String {
    let line = text.lines().find(|line| line.trim_start_matches("# ").starts_with(&format!("{key} ")));
    let line = line.unwrap_or_else(|| panic!("no {key} in:\n{text}"));
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn servers_may_be_a_list_and_verbose_a_switch() {
    let case = Case::new("config-list");
    let text = format!("zookeeper = ['127.0.0.1:1', '{}']\nverbose = true\n", case.hosts());
    let output = with_user_file(&case, &text).args([case.path(), "true"]).run();
    output.assert_code(0).assert_stderr("acquired");
    let shown = with_user_file(&case, "acl = ['sasl:ci:cdrwa', 'world:anyone:r']\nverbose = false");
    let shown = shown.args(["status", "--show-config"]).run();
    assert!(shown.assert_code(0).stdout.contains("acl = \"sasl:ci:cdrwa,world:anyone:r\""), "{shown}");
}

#[test]
fn each_place_counts_over_the_ones_below_it() {
    if !has_namespaces("--mount", "mount -t tmpfs none /etc") {
        return;
    }
    let case = Case::new("config-order");
    let keys = "zookeeper = 'system:1'\nkill-after = 1\nlabel = 'system'\nsignal = 'INT'\n";
    let system = file(&case, "system.toml", keys);
    let zklock = with_user_file(&case, "zookeeper = 'user:1'\nkill-after = 2\nlabel = \"the user's\"\n");
    let output = with_system_file(zklock, &system)
        .env("ZKLOCK_ZOOKEEPER", "variable:1")
        .args(["--connect-timeout", "3", "status", "--show-config"])
        .run();
    let text = &output.assert_code(0).stdout;
    let user = case.dir().join("home/.config/zklock/config.toml").display().to_string();
    assert_eq!(shown(text, "connect-timeout"), "connect-timeout = \"3\" # command line");
    assert_eq!(shown(text, "zookeeper"), "zookeeper = \"variable:1\" # ZKLOCK_ZOOKEEPER");
    assert_eq!(shown(text, "kill-after"), format!("kill-after = \"2\" # {user}"));
    assert_eq!(shown(text, "label"), format!("label = \"the user's\" # {user}"));
    assert_eq!(shown(text, "signal"), "signal = \"INT\" # /etc/zklock.toml");
    assert_eq!(shown(text, "naming"), "# naming = \"curator\" # default");
    assert_eq!(shown(text, "timeout"), "# timeout is not set # default");
}

#[test]
fn a_file_can_turn_off_what_a_file_below_it_turns_on() {
    if !has_namespaces("--mount", "mount -t tmpfs none /etc") {
        return;
    }
    let case = Case::new("config-off");
    let system = file(&case, "system.toml", "quiet = true\ntls = true\n");
    let zklock = with_system_file(with_user_file(&case, "quiet = false\n"), &system);
    let text = zklock.args(["status", "--show-config"]).run().stdout;
    let user = case.dir().join("home/.config/zklock/config.toml").display().to_string();
    assert_eq!(shown(&text, "quiet"), format!("quiet = false # {user}"));
    assert_eq!(shown(&text, "tls"), "tls = true # /etc/zklock.toml");
}

#[test]
fn what_it_shows_is_a_file_that_sets_the_same() {
    let case = Case::new("config-round");
    let text = "kill-after = '2.5'\nlabel = 'a \"b\" # c'\nquiet = true\nzookeeper = 'zk1:1,zk2:2/app'\n";
    let shown = with_user_file(&case, text).args(["status", "--show-config"]).run().stdout;
    let again: toml::Table = shown.parse().unwrap();
    assert_eq!(again, text.parse().unwrap(), "{shown}");
}

/// The output says nothing about credentials except where they are, and stays a file that can be read back.
#[test]
fn hidden_credentials_are_a_comment_that_names_their_place() {
    let case = Case::new("config-hidden");
    let show = |zklock: Zklock| zklock.args(["status", "--show-config"]).run().assert_code(0).stdout.clone();
    let config = file(&case, "auth.toml", "auth = ['digest:alice:secret']\nlabel = 'x'\n");
    std::fs::set_permissions(&config, std::fs::Permissions::from_mode(0o600)).unwrap();
    let bare = || Zklock::bare(case.marker());
    for (zklock, place) in [
        (bare().arg("--config").arg(&config), config.display().to_string()),
        (bare().env("ZKLOCK_AUTH", "digest:alice:secret"), "ZKLOCK_AUTH".to_owned()),
    ] {
        let text = show(zklock);
        assert!(!text.contains("secret"), "{text}");
        assert_eq!(shown(&text, "auth"), format!("# auth is hidden; copy it from there # {place}"));
        let again = file(&case, "shown.toml", &text);
        let again = show(bare().arg("--config").arg(again));
        assert_eq!(shown(&again, "auth"), "# auth is not set # default");
    }
}

#[test]
fn the_servers_of_a_file_are_those_that_are_asked() {
    let case = Case::new("config-servers");
    let text = format!("zookeeper = '{}'\n", case.hosts());
    let job = with_user_file(&case, &text).args([case.path(), "echo", "ran"]).run();
    assert_eq!(job.assert_code(0).stdout, "ran\n");
    let free = format!("{}  free\n", case.path());
    assert_eq!(with_user_file(&case, &text).args(["status", case.path()]).run().stdout, free);
    with_user_file(&case, &text).args(["revoke", case.path()]).run().assert_code(1);
    let elsewhere = with_user_file(&case, &text).args(["-z", "127.0.0.1:1", "--connect-timeout", "0.2"]);
    elsewhere.args([case.path(), "true"]).run().assert_code(125).assert_stderr("127.0.0.1:1");
}

#[test]
fn a_file_s_settings_do_what_the_options_do() {
    let case = Case::new("config-effect");
    let config = file(&case, "c.toml", "timeout = 0\nconflict-exit-code = 9\nlabel = 'from the file'\n");
    let with = |words: &[&str]| case.zklock().arg("--config").arg(&config).args(words);
    let holder = with(&[case.path(), "sh", "-c", "echo running; exec sleep 60"]).spawn();
    holder.wait_for_stdout("running", DEADLINE);
    with(&[case.path(), "true"]).run().assert_code(9).assert_stderr("(from the file)");
    with(&["-E", "8", case.path(), "true"]).run().assert_code(8);
    holder.signal(nix::sys::signal::Signal::SIGTERM);
    holder.wait(DEADLINE);
}

#[test]
fn how_much_is_said_is_the_command_line_s_to_decide() {
    let case = Case::new("config-verbosity");
    for (text, option, steps) in [
        ("quiet = true", None, false),
        ("quiet = true", Some("-v"), true),
        ("verbose = 1", None, true),
        ("verbose = 1", Some("-q"), false),
    ] {
        let config = file(&case, "c.toml", text);
        let zklock = case.zklock().arg("--config").arg(&config).args(option);
        let output = zklock.args([case.path(), "true"]).run();
        assert_eq!(output.assert_code(0).stderr.contains("acquired"), steps, "{text} {option:?}: {output}");
    }
}

#[test]
fn a_file_that_is_named_is_read_instead_of_the_others() {
    let case = Case::new("config-named");
    let (one, two) = (file(&case, "1.toml", "kill-after = 1\n"), file(&case, "2.toml", "kill-after = 2\n"));
    let show = |zklock: Zklock| {
        let text = zklock.args(["status", "--show-config"]).run().stdout;
        (shown(&text, "kill-after"), shown(&text, "label"))
    };
    let user = || with_user_file(&case, "label = 'of the user'\n");
    assert!(show(user()).1.starts_with("label = \"of the user\""));
    let by_variable = show(user().env("ZKLOCK_CONFIG", &one));
    assert!(
        by_variable.0.starts_with("kill-after = \"1\" ") && by_variable.1.contains("not set"),
        "{by_variable:?}"
    );
    let by_option = show(user().env("ZKLOCK_CONFIG", &one).arg("--config").arg(&two));
    assert!(by_option.0.starts_with("kill-after = \"2\" "), "{by_option:?}");
}

/// A crontab can't unset a variable, only set it to an empty value.
#[test]
fn an_empty_variable_names_no_file() {
    let case = Case::new("config-empty");
    let zklock = with_user_file(&case, "label = 'of the user'\n").env("ZKLOCK_CONFIG", "");
    let output = zklock.args(["status", "--show-config"]).run();
    assert!(output.assert_code(0).stdout.contains("of the user"), "{output}");
}

#[test]
fn without_any_file_or_home_there_are_the_defaults() {
    let case = Case::new("config-none");
    for home in ["", "/nosuch", "/dev/null"] {
        let output = Zklock::bare(case.marker()).env("HOME", home).args(["status", "--show-config"]).run();
        let text = &output.assert_code(0).stdout;
        assert!(text.lines().all(|line| line.starts_with('#') && line.ends_with("# default")), "{text}");
    }
}

#[test]
fn xdg_config_home_names_the_user_s_directory() {
    let case = Case::new("xdg");
    file(&case, "xdg/zklock/config.toml", "label = 'by xdg'\n");
    let run = with_user_file(&case, "label = 'by home'\n").env("XDG_CONFIG_HOME", case.dir().join("xdg"));
    let output = run.args(["status", "--show-config"]).run();
    assert!(output.assert_code(0).stdout.contains("label = \"by xdg\""), "{output}");
}
