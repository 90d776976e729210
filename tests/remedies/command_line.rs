//! Remedies for words, options and their values, and for a command that can't be started.

use super::{between, call, in_a_shell};
use crate::support::Case;
use std::fs;

/// Each value that the message about another one shows is accepted.
#[test]
fn the_values_that_a_message_shows_are_accepted() {
    let case = Case::new("remedy-values");
    for (option, wrong, before, after) in [
        ("-w", "soon", "write ", "\n"),
        ("--kill-after", "soon", "write ", "\n"),
        ("--signal", "no", "write a name such as ", ", or a number"),
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
