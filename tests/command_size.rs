//! The kernel limits the length of a variable and of all arguments and variables together, and zklock adds variables.

use crate::support::{Case, Zklock};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

const LIMIT: usize = 131_072;

/// Fails unless zklock refuses this without servers, before it would connect.
#[track_caller]
fn refused_without_servers(case: &Case, prelude: &str, words: &[&str]) -> String {
    let zklock = Zklock::at("127.0.0.1:1", case.marker()).prelude(prelude).arg("-n").args(words);
    let output = zklock.args(["--", "echo", "ran"]).run();
    output.assert_code(125).assert_stdout("");
    assert!(!output.stderr.contains("no ZooKeeper server"), "{output}");
    assert!(output.stderr.len() < 500, "{output}");
    output.stderr.clone()
}

/// How much longer than allowed the variable is, by the message.
fn too_long_by(message: &str) -> usize {
    let size = message.split("may need ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    size.parse::<usize>().unwrap() - LIMIT
}

#[test]
fn too_many_locks_are_refused_before_zklock_connects() {
    let case = Case::new("many-locks");
    let paths: Vec<String> = (0..500).map(|number| format!("/locks/{number:03}{}", "x".repeat(50))).collect();
    let words: Vec<&str> = paths.iter().map(String::as_str).collect();
    let message = refused_without_servers(&case, "", &words);
    assert!(message.starts_with("zklock: /locks/000xxx"), "{message}");
    let expected = "and a variable has 131072 at most: give fewer or shorter lock paths";
    assert!(message.contains("ZKLOCK_HELD, which tells the command about its locks, may need"), "{message}");
    assert!(message.contains(expected), "{message}");
}

#[test]
fn a_path_that_is_too_long_for_the_variables_is_refused_and_the_longest_that_fits_is_locked() {
    let case = Case::new("long-path");
    // Below another node, because the lock path itself stays for a while.
    let path = |length: usize| format!("{}-{}", case.path(), "y".repeat(length));
    let message = refused_without_servers(&case, "", &[&path(100_000)]);
    // The path is in the variable twice: of the lock and of its node.
    let longest = 100_000 - too_long_by(&message).div_ceil(2);
    refused_without_servers(&case, "", &[&path(longest + 1)]);
    let output = case.zklock().args([&path(longest), "--", "sh", "-c", "echo ${#ZKLOCK_PATH}"]).run();
    assert_eq!(output.assert_code(0).stdout, format!("{}\n", path(longest).len()), "{}", output.stderr);
}

#[test]
fn locks_held_around_zklock_count_too() {
    let case = Case::new("long-nested");
    let path = |name: &str| format!("{}-{name}-{}", case.path(), "y".repeat(40_000));
    let (outer, inner) = (path("outer"), path("inner"));
    let nested = |inner: &str| {
        let script = format!("exec {} -z {} \"$1\" -- echo ran", env!("CARGO_BIN_EXE_zklock"), case.hosts());
        case.zklock().args([&outer, "--", "sh", "-c", &script, "sh", inner]).run()
    };
    let output = nested(&inner);
    output.assert_code(125).assert_stdout("").assert_stderr("also to the zklock around this one");
    assert!(!case.observer().exists(&inner));
    assert_eq!(output.stderr.lines().count(), 1, "{output}");
}

/// Without zklock's variables, the command would fit.
#[test]
fn a_command_that_becomes_too_long_by_zklock_s_variables_is_refused_before_zklock_connects() {
    let case = Case::new("long-command");
    let path = format!("/locks/{}", "y".repeat(9_000));
    let prelude = "ulimit -s 512; export BIG=$(printf %85000s x);";
    let message = refused_without_servers(&case, prelude, &[&path]);
    assert!(message.contains("the command may need "), "{message}");
    assert!(
        message.contains("and the system allows 131072: shorten the longest of them, or raise"),
        "{message}"
    );
    // The remedy.
    let prelude = prelude.replace("512", "1024");
    let zklock = case.zklock().prelude(&prelude).args([&format!("{}-{}", case.path(), &path[7..]), "--"]);
    assert_eq!(zklock.args(["echo", "ran"]).run().assert_code(0).stdout, "ran\n");
}

/// zklock doesn't know how much the first line of a script adds.
#[test]
fn a_script_that_becomes_too_long_by_its_interpreter_is_reported_with_the_remedy() {
    let case = Case::new("long-script");
    let script = case.dir().join("script");
    std::fs::write(&script, format!("#!{}bin/sh\necho ran\n", "/".repeat(200))).unwrap();
    std::fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let run = |filler: usize| {
        let prelude = format!("ulimit -s 512; export BIG=$(printf %{filler}s x);");
        case.zklock().prelude(&prelude).arg(case.path()).arg("--").arg(&script).run()
    };
    assert_eq!(run(60_000).assert_code(0).stdout, "ran\n");
    // The longest that zklock starts, by halves.
    let (mut fits, mut too_long) = (60_000, 131_000);
    while too_long - fits > 1 {
        let middle = usize::midpoint(fits, too_long);
        let stderr = run(middle).stderr;
        let is_refused = stderr.contains("the command may need ") || stderr.contains("line 2: ");
        if is_refused { too_long = middle } else { fits = middle }
    }
    let output = run(fits);
    output.assert_code(126).assert_stderr("can't be run: its arguments and its environment are longer");
    output.assert_stderr("raise the limit (a quarter of 'ulimit -s')");
}
