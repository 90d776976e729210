//! Paths that can't be locks are refused before zklock connects to a server.

use crate::support::{Case, Proxy, shared};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

#[test]
fn a_bad_path_is_refused_before_any_connection() {
    let proxy = Proxy::to(shared());
    let case = Case::new("bad-path").through(&proxy.connect_string());
    for (path, reason) in [
        ("job", "begins with '/'"),
        ("", "begins with '/'"),
        ("/", "root"),
        ("//", "//"),
        ("//a", "//"),
        ("/a//b", "//"),
        ("/a/", "end with '/'"),
        ("/.", "'.'"),
        ("/a/../b", "'..'"),
        ("/a/./b", "'.'"),
        ("/a\nb", "U+000A"),
        ("/a\u{7f}", "U+007F"),
        ("/a\u{e000}", "U+E000"),
        // Java's UTF-16 encodes this character as two surrogates, which ZooKeeper refuses.
        ("/a\u{1f512}", "U+1F512"),
        ("/zookeeper", "belongs to ZooKeeper"),
        ("/zookeeper/quota", "belongs to ZooKeeper"),
    ] {
        let output = case.zklock().args([path, "--", "echo", "ran"]).run();
        output.assert_code(125).assert_stderr(reason);
        assert_eq!(output.stdout, "");
    }
    assert_eq!(proxy.accepted(), 0);
}

#[test]
fn a_path_of_other_bytes_than_utf_8_is_refused() {
    let case = Case::new("bytes");
    let path = OsStr::from_bytes(b"/a\xff");
    let output = case.zklock().arg(path).args(["echo", "ran"]).run();
    output.assert_code(125).assert_stderr("UTF-8");
}

#[test]
fn each_of_several_paths_is_looked_at() {
    let case = Case::new("each-path");
    for words in [
        &["/fine", "/bad/", "--", "echo", "ran"][..],
        &["-c", "echo ran", "/fine", "/bad/"],
        &["/bad/", "-c", "echo ran"],
    ] {
        let output = case.zklock().args(words).run();
        output.assert_code(125).assert_stderr("'/bad/'");
        assert_eq!(output.stdout, "");
    }
    assert!(!case.observer().exists("/fine"));
}

#[test]
fn an_empty_command_is_refused() {
    let case = Case::new("empty-command");
    case.lock(&[], [""]).run().assert_code(125).assert_stderr("empty");
    for string in ["", " \t"] {
        let output = case.zklock().args([case.path(), "-c", string]).run();
        output.assert_code(125).assert_stderr(case.path()).assert_stderr("empty");
    }
    assert!(!case.observer().exists(case.path()));
}

#[test]
fn dots_and_unicode_inside_a_name_are_fine() {
    let case = Case::new("fine-path");
    for name in ["...", ".hidden", "a.b", "zookeeper", "\u{e4}\u{6f22}", "with space", "-n", "%"] {
        let path = format!("{}-dir/{name}", case.path());
        let output = case.zklock().args([&path, "--", "sh", "-c", "echo $ZKLOCK_PATH"]).run();
        assert_eq!(output.assert_code(0).stdout, format!("{path}\n"));
    }
}
