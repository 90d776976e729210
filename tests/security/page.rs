//! The examples of docs/security.md that need servers of their own, run as the page has them.

use crate::support::{Case, DEADLINE, Server, free_port, skip};
use std::process::Command;
use zookeeper::{Acl, CreateMode, Permission};

const PAGE: &str = include_str!("../../docs/security.md");

/// The block of the page that begins with this text.
#[track_caller]
fn block(kind: &str, start: &str) -> &'static str {
    let start = PAGE.find(&format!("\n```{kind}\n{start}")).unwrap_or_else(|| panic!("no block {start:?}"));
    let (_, block) = PAGE[start + 1..].split_once('\n').expect("a block");
    block.split_once("\n```").expect("the end of a block").0
}

/// The commands of a block, and what they print.
fn example(block: &str) -> (String, String) {
    let is_typed = |line: &&str| line.starts_with("$ ") || line.starts_with("> ");
    let (typed, printed): (Vec<&str>, Vec<&str>) = block.lines().partition(is_typed);
    (typed.iter().map(|line| &line[2..]).collect::<Vec<_>>().join("\n"), printed.join("\n"))
}

/// Runs a block in the case's directory, with this text in place of another, and returns what it prints.
fn run(case: &Case, block: &str, replaced: (&str, &str)) {
    let (script, expected) = example(block);
    let directory = std::path::Path::new(env!("CARGO_BIN_EXE_zklock")).parent().expect("a directory");
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").expect("PATH"));
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &format!("set -e; {}", script.replace(replaced.0, replaced.1))])
        .current_dir(case.dir());
    shell.env("PATH", path).env("ZKLOCK_TEST_RUN", case.marker()).env("ZKLOCK_ZOOKEEPER", case.hosts());
    let output = shell.output().expect("bash");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), expected, "{script}{said}");
}

#[test]
fn the_certificates_and_the_settings_of_the_page_make_a_server_and_a_client() {
    if Command::new("openssl").arg("version").output().is_err() {
        return skip("openssl is not installed");
    }
    let (port, dir) = (free_port().to_string(), tempfile::tempdir().expect("a directory"));
    let files = Case::new("page-files");
    run(&files, block("console", "$ openssl req"), ("", ""));
    for file in ["ca.pem", "server-with-key.pem", "ci.pem", "ci.key"] {
        std::fs::copy(files.dir().join(file), dir.path().join(file)).expect("a file that the page makes");
    }
    let settings = block("text", "secureClientPort").replace("2281", &port);
    let settings = settings.replace("/etc/zookeeper", &dir.path().display().to_string());
    let server = Server::builder().config(&settings).start();
    let case = Case::on(&server, "page-tls");
    for file in ["ca.pem", "ci.pem", "ci.key"] {
        std::fs::copy(dir.path().join(file), case.dir().join(file)).expect("a file");
    }
    run(&case, block("console", "$ export ZKLOCK_ZOOKEEPER=localhost:2281"), ("2281", &port));
}

#[test]
fn the_users_of_the_page_authenticate_with_sasl() {
    let dir = tempfile::tempdir().expect("a directory");
    let jaas = dir.path().join("jaas.conf");
    std::fs::write(&jaas, block("text", "Server {")).expect("a JAAS file");
    let server = Server::builder()
        .config(block("text", "authProvider.1="))
        .java_option(&format!("-Djava.security.auth.login.config={}", jaas.display()))
        .start();
    let case = Case::on(&server, "page-sasl");
    run(&case, block("console", "$ ZKLOCK_AUTH=sasl-digest-md5"), ("", ""));
}

/// An administrator makes the path, with zkCli on the page.
#[test]
fn the_two_users_of_the_page_share_an_administrator_s_path_and_do_not_see_each_other() {
    let case = Case::new("page-users").authenticated_as("ops:0ther");
    let (script, printed) = example(block("console", "$ zkCli.sh create"));
    let lines: Vec<&str> = script.lines().collect();
    let id = |user: &str| {
        let (_, rest) = PAGE.split_once(&format!("{user}=digest:")).expect("the user's hash");
        rest.split_whitespace().next().expect("a hash").to_owned()
    };
    assert!(lines[0].ends_with("create /locks/between '' $ci:crd,$ops:crd"), "{}", lines[0]);
    let permissions = Permission::CREATE | Permission::READ | Permission::DELETE;
    let acl = ["ci", "ops"].map(|user| Acl::new(permissions, "digest", id(user)));
    let created = case.observer().create_with_acl(case.path(), "", CreateMode::Persistent, acl.to_vec());
    created.expect("the administrator's path");
    let call = |line: &str| {
        let (auth, words) = line.trim_end_matches(" &").split_once(" zklock ").expect("a call");
        let words = words.replace("/locks/between", case.path());
        let (_, credentials) = auth.split_once('=').expect("credentials");
        case.zklock().env("ZKLOCK_AUTH", credentials).args(words.split(' '))
    };
    let holder = call(lines[1]).spawn();
    case.wait_for_contenders(1);
    let busy = call(lines[2]).run();
    let (said, _) = printed.split_once("_c_").expect("the holder's node");
    busy.assert_code(124).assert_stderr(&said.replace("/locks/between", case.path()));
    holder.signal(nix::sys::signal::Signal::SIGTERM);
    holder.wait(DEADLINE);
}
