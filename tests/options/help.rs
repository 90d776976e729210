//! Every option that a help shows, and every option that a message names as the remedy, is accepted where it is shown.

use crate::support::{Authority, Case, Zklock};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A server that refuses, and a chroot. The message about it shows that a command line was accepted.
const NOWHERE: &str = "127.0.0.1:1/x";

/// An option as a help shows it: how it can be written, and whether it takes a value.
#[derive(Debug)]
struct Shown {
    spellings: Vec<String>,
    has_value: bool,
}

/// The options of a help text. Below an option with other names stands `[aliases: --nb, --nonblocking]`.
fn shown(help: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for line in help.lines().map(str::trim_start) {
        let words = |text: &str| -> Vec<String> {
            let names = text.split([',', ' ']).filter(|word| word.starts_with('-'));
            names.map(|name| name.trim_end_matches("...").to_owned()).collect()
        };
        if line.starts_with('-') {
            // Two spaces separate an option from its explanation.
            let (option, _) = line.split_once("  ").unwrap_or((line, ""));
            all.push(Shown { spellings: words(option), has_value: option.contains('<') });
        } else if let Some(names) = line.strip_prefix("[alias").and_then(|line| line.strip_suffix(']')) {
            all.last_mut().expect("an option").spellings.extend(words(names));
        }
    }
    all
}

/// Files that options name.
struct Files {
    auth: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    fn new(directory: &Path) -> Self {
        let identity = Authority::new("an authority").sign("a client", &["localhost"]);
        let file = |name: &str, text: &str| {
            let path = directory.join(name);
            fs::write(&path, text).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
            path
        };
        Self {
            auth: file("auth", "digest:alice:secret\n"),
            certificate: file("certificate", &identity.certificate),
            key: file("key", &identity.key),
        }
    }

    /// A value for an option, and another option without which this one is refused.
    fn value(&self, option: &str) -> (String, Vec<String>) {
        let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
        let pair = |option: &str, path: &Path| vec![option.to_owned(), text(path)];
        let value = match option {
            "--slots" => "2",
            "--once-per" | "--session-timeout" | "--progress" | "--kill-after" => "20",
            "--label" => "nightly backup",
            "--naming" => "curator-rw",
            "--timeout" | "--connect-timeout" => "1ms",
            "--conflict-exit-code" => "3",
            "--command" => "true",
            "--signal" => "INT",
            "--zookeeper" => NOWHERE,
            "--config" => "/dev/null",
            "--acl" => "open",
            "--log-format" => "json",
            "--node" => "_c_9a2c3f60-7a5e-4d5b-8a67-0123456789ab-lock-0000000001",
            "--auth-file" => return (text(&self.auth), vec![]),
            "--tls-ca" => return (text(&self.certificate), vec![]),
            "--tls-cert" => return (text(&self.certificate), pair("--tls-key", &self.key)),
            "--tls-key" => return (text(&self.key), pair("--tls-cert", &self.certificate)),
            new => panic!("{new} is new: give it a value here"),
        };
        (value.to_owned(), vec![])
    }
}

fn at_nowhere(case: &Case) -> Zklock {
    Zklock::at(NOWHERE, case.marker()).args(["--connect-timeout", "20ms"])
}

/// Runs zklock, which must get as far as the servers, and returns all that it says.
#[track_caller]
fn accepted(zklock: Zklock) -> String {
    let output = zklock.run();
    let said = format!("{}{}", output.assert_code(125).stdout, output.stderr);
    assert!(["connection refused", "timed out"].iter().any(|result| said.contains(result)), "{output}");
    said
}

#[test]
fn every_option_that_a_help_shows_is_accepted() {
    let case = Case::new("help-options");
    let files = Files::new(case.dir());
    let mut tried = 0;
    for (subcommand, paths) in [
        (None, &["/l", "true"][..]),
        (Some("status"), &["/l"]),
        (Some("revoke"), &["/l"]),
        (Some("check"), &["/l"]),
        (Some("forget"), &["/l"]),
        (Some("wait"), &["/l"]),
    ] {
        let help = case.zklock().args(subcommand).arg("--help").run();
        for option in shown(&help.assert_code(0).stdout) {
            let long = option.spellings.iter().find(|name| name.starts_with("--"));
            let name = long.unwrap_or(&option.spellings[0]).as_str();
            let paths = match name {
                // A string for the shell is the command.
                "--command" => &paths[..1],
                "--show-config" => &[],
                _ => paths,
            };
            for spelling in &option.spellings {
                let zklock = at_nowhere(&case).args(subcommand);
                let zklock = match option.has_value.then(|| files.value(name)) {
                    None => zklock.arg(spelling),
                    Some((value, others)) => zklock.args(others).args([spelling, &value]),
                };
                if ["--help", "--version", "--show-config"].contains(&name) {
                    zklock.args(paths).run().assert_code(0);
                } else {
                    accepted(zklock.args(paths));
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 120, "only {tried} were tried");
}

/// The options in a text, without the punctuation around them.
fn options_in(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| c.is_whitespace() || ",;:'".contains(c));
    words.filter(|word| word.starts_with('-') && word.len() > 1).collect()
}

#[test]
fn every_option_that_is_a_remedy_for_unreachable_servers_is_accepted() {
    let case = Case::new("remedies");
    let files = Files::new(case.dir());
    for (words, paths) in [
        (&[][..], &["/l", "true"][..]),
        (&["-w", "1ms"], &["/l", "true"]),
        (&["-n"], &["/l", "true"]),
        (&["status"], &["/l"]),
        (&["revoke"], &["/l"]),
        (&["check"], &["/l"]),
        (&["forget"], &["/l"]),
        (&["wait"], &["/l"]),
        (&["wait", "-w", "1ms"], &["/l"]),
        (&["wait", "-n"], &["/l"]),
    ] {
        let said = accepted(at_nowhere(&case).args(words).args(paths));
        let remedies = options_in(&said);
        assert!(remedies.contains(&"-z"), "{words:?}: {said}");
        for remedy in remedies {
            let name =
                [("-w", "--timeout"), ("-z", "--zookeeper")].into_iter().find(|(short, _)| *short == remedy);
            let (value, _) = files.value(name.map_or(remedy, |(_, long)| long));
            accepted(at_nowhere(&case).args(words).args([remedy, &value]).args(paths));
        }
    }
}
