//! Remedies for words, options and their values, and for a command that can't be started.

use super::{between, call, in_a_shell, try_each};
use crate::support::{Case, Zklock};
use std::fs;

#[test]
fn what_to_write_instead_of_a_mistake_works() {
    let case = Case::new("remedy-words");
    let ran = ["PATH", "echo", "ran"];
    try_each(
        &case,
        &[
            (&[], "write zklock PATH -- COMMAND", &["PATH", "--", "echo", "ran"], "ran"),
            (&["PATH"], "-- COMMAND", &["PATH", "--", "echo", "ran"], "ran"),
            (
                &["PATH", "-c", "echo", "ran"],
                "put the whole command into the string",
                &["PATH", "-c", "echo ran"],
                "ran",
            ),
            (
                &["--slots", "2", "--naming", "kazoo", "PATH", "true"],
                "works with the default --naming only",
                &["--slots", "2", "PATH", "echo", "ran"],
                "ran",
            ),
            (
                &["--once-per", "1ms", "PATH", "PATH-b", "--", "true"],
                "goes with one lock",
                &["--once-per", "1ms", "PATH", "--", "echo", "ran"],
                "ran",
            ),
            (&["status", "/"], "leave the path out: 'zklock status' shows every lock", &["status"], ""),
            (&["PATH/", "true"], "a path doesn't end with '/'", &ran, "ran"),
            (&["PATH/../b", "true"], "write the path out in full", &["PATH-b", "true"], ""),
            (&["/zookeeper/a", "true"], "put locks elsewhere", &ran, "ran"),
            (&["locks/a", "true"], "a lock path begins with '/'", &ran, "ran"),
            (
                &["PATH", "echo ran"],
                "use -c for a shell line, as in zklock PATH -c '",
                &["PATH", "-c", "echo ran"],
                "ran",
            ),
            (
                &["PATH", "-n", "true"],
                "options go before the lock path",
                &["-n", "PATH", "echo", "ran"],
                "ran",
            ),
            (
                &["PATH", "PATH-b", "echo", "ran"],
                "put -- before the command",
                &["PATH", "PATH-b", "--", "echo", "ran"],
                "ran",
            ),
        ],
    );
}

/// `-z` is a list of servers, of which one answers.
#[test]
fn what_to_write_instead_of_a_mistake_in_the_connect_string_works() {
    let case = Case::new("remedy-hosts");
    let (_, port) = case.hosts().rsplit_once(':').unwrap();
    let refused = |hosts: &str| Zklock::at(hosts, case.marker()).args([case.path(), "true"]).run();
    let accepted = |hosts: &str| {
        Zklock::at(hosts, case.marker()).args([case.path(), "true"]).run().assert_code(0).stderr.clone()
    };
    for separator in [";", " ", "; "] {
        let said = refused(&[case.hosts(), case.hosts()].join(separator)).assert_code(125).stderr.clone();
        accepted(between(&said, "separated by commas: write ", "\n"));
    }
    let said = refused(port).stderr;
    assert_eq!(between(&said, "write ", ","), format!("HOST:{port}"));
    accepted(between(&said, "as in ", "\n"));
    refused(&format!("zk://{}", case.hosts())).assert_stderr("write HOST:PORT[,HOST:PORT...][/CHROOT]");
    accepted(&format!("{0},{0}", case.hosts()));
    refused(&format!("127.1:{port}")).assert_stderr("four numbers from 0 to 255, as in 127.0.0.1");
    accepted(&format!("127.0.0.1:{port}"));
    refused("127.0.0.1:").assert_stderr("write HOST:PORT, or HOST for port 2181");
    refused("::1:2181").assert_stderr("as in [::1]:2181");
    for accepted in ["[::1]:1", "127.0.0.1"] {
        let zklock =
            Zklock::at(accepted, case.marker()).args(["--connect-timeout", "1ms", case.path(), "true"]);
        assert!(!zklock.run().stderr.contains("invalid value"), "{accepted}");
    }
    refused("a:1/x,b:1/x").assert_stderr("the chroot stands once, after the last server");
}

/// Each value that the message about another one shows is accepted.
#[test]
fn the_values_that_a_message_shows_are_accepted() {
    let case = Case::new("remedy-values");
    for (option, wrong, before, after) in [
        ("-w", "soon", "write ", "\n"),
        ("--kill-after", "soon", "write ", "\n"),
        ("--signal", "no", "write a name such as ", ", or a number"),
        ("--signal", "33", "write ", ", which is 34"),
        ("--naming", "no", "[possible values: ", "]"),
        ("--log-format", "no", "[possible values: ", "]"),
    ] {
        let said = call(&case, &[option, wrong, "PATH", "true"]).run().assert_code(125).stderr.clone();
        for value in
            between(&said, before, after).replace(" or ", ", ").split(", ").filter(|value| !value.is_empty())
        {
            // A path of its own, which no other naming has used.
            let path = format!("PATH-{}", value.replace('+', "-"));
            let output = call(&case, &[option, value, &path, "true"]).run();
            assert!(output.code == Some(0), "{option} {value}: {output}");
        }
    }
    for (option, wrong, says, least, most) in [
        ("-E", "256", "an exit code is a number from 0 to 255", "0", "255"),
        ("--slots", "0", "the number of slots is from 1 to 4294967295", "1", "4294967295"),
        ("--connect-timeout", "0", "must be 1ms or longer", "1000ms", "9d"),
        ("--label", " ", "a label needs more than blanks", "x", " x "),
    ] {
        call(&case, &[option, wrong, "PATH", "true"]).run().assert_code(125).assert_stderr(says);
        for value in [least, most] {
            call(&case, &[option, value, &format!("PATH{option}{}", value.trim()), "true"])
                .run()
                .assert_code(0);
        }
    }
}

/// A path that a shell would change is quoted in the command that the message shows.
#[test]
fn a_command_with_the_path_can_be_copied_into_a_shell() {
    let case = Case::new("remedy-copied");
    for end in ["", " b", "$HOME`x`", "'\"\\"] {
        let path = format!("{}{end}", case.path());
        let said = case.zklock().arg(&path).run().assert_code(125).stderr.clone();
        let line = between(&said, "; write ", " -- COMMAND\n");
        assert_eq!(
            in_a_shell(&case, &format!("{line} -- sh -c 'test \"$ZKLOCK_PATH\" = \"$0\"' {}", quoted(&path))),
            0,
            "{line}"
        );
        let said = case.zklock().args(["revoke", &path, "--node", "x"]).run().assert_code(1).stderr.clone();
        let line = between(&said, "no contender has the node x; '", "' shows who there is\n");
        assert_eq!(in_a_shell(&case, &format!("{line} | grep -qF {}", quoted(&path))), 0, "{line}");
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[test]
fn what_helps_a_command_that_cannot_be_run_works() {
    let case = Case::new("remedy-command");
    let script = case.dir().join("job");
    fs::write(&script, "#!/bin/sh\necho ran\n").unwrap();
    let run = || case.lock(&[], [&script]).run();
    run().assert_code(126).assert_stderr("it isn't executable; chmod +x makes it so");
    assert_eq!(in_a_shell(&case, "chmod +x job"), 0);
    // Another process may have the file open for writing while it forks.
    assert_eq!(run().assert_code(0).stdout, "ran\n");
    let named = |environment: &str| case.lock(&[], ["job"]).env("PATH", environment).run();
    named("/usr/bin:/bin")
        .assert_code(127)
        .assert_stderr("check its name, and the directories in the variable PATH");
    let path = format!("{}:/usr/bin:/bin", case.dir().display());
    assert_eq!(named(&path).assert_code(0).stdout, "ran\n");
    let here = case.lock(&[], ["./job"]);
    here.run().assert_code(127).assert_stderr("check its name, and the directory you are in");
    assert_eq!(case.lock(&[], ["./job"]).dir(case.dir()).run().assert_code(0).stdout, "ran\n");
}
