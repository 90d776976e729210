//! Umask, priority, resource limits, processors, and the working directory.

use crate::support::{Case, Zklock, skip};
use std::fs;
use std::process::Command;

/// Asserts that the command `sh -c SCRIPT` writes the same text to `$OUT` under zklock with these options as without
/// zklock, after this prelude, and returns the text.
#[track_caller]
fn assert_same_under_zklock(case: &Case, prelude: &str, options: &[&str], script: &str) -> String {
    let out = case.dir().join("out");
    let shown = |zklock: Zklock| {
        fs::remove_file(&out).ok();
        let run = zklock.env("OUT", &out).env("SCRIPT", script).run();
        let text = fs::read_to_string(&out).unwrap_or_else(|error| panic!("{error}: {prelude}: {run}"));
        (run.code, text)
    };
    let bare = shown(case.lock(&[], ["false"]).prelude(&format!("{prelude}; exec sh -c \"$SCRIPT\"")));
    let wrapped = shown(case.lock(options, ["sh", "-c", script]).prelude(prelude));
    assert_eq!(wrapped, bare, "after {prelude}, with {options:?}");
    wrapped.1
}

#[test]
fn limits_and_attributes_of_the_process_are_passed_on() {
    let case = Case::new("attributes");
    // Except for the process's own numbers, the whole of what the kernel says about each.
    let show = "{ umask; nice; cat /proc/self/limits /proc/self/oom_score_adj /proc/self/cgroup /proc/self/loginuid \
         /proc/self/timerslack_ns; pwd; grep -E '^(NoNewPrivs|Cpus_allowed_list|Groups|Cap|Seccomp:|Umask)' \
         /proc/self/status; } >$OUT 2>/dev/null; exit 3";
    let cases = [
        ("umask 0027", "0027"),
        // The tests may be run by nice(1), and only root may ask for a better priority.
        ("renice -n 19 $$ >/dev/null", "\n19\n"),
        ("ulimit -S -c 0 -f 4096 -n 200 -s 4096 -t 100 -l 32", "Max open files            200"),
        ("ulimit -S -v 4000000", "4096000000"),
        ("ulimit -S -n 1000; ulimit -H -n 1000", "Max open files            1000                 1000"),
        ("cd /usr", "/usr\n"),
    ];
    for (prelude, expected) in cases {
        let shown = assert_same_under_zklock(&case, prelude, &[], show);
        assert!(shown.contains(expected), "after {prelude}:\n{shown}");
    }
}

#[test]
fn processors_and_scheduling_are_passed_on() {
    let case = Case::new("scheduling");
    let show = "{ taskset -p $$; chrt -p $$; ionice -p $$; } | sed 's/pid [0-9]*//' >$OUT";
    for words in ["taskset -c 0", "chrt --batch 0", "ionice -c 3", "nice -n 7 taskset 1"] {
        if !Command::new("sh")
            .args(["-c", &format!("{words} true")])
            .status()
            .is_ok_and(|status| status.success())
        {
            skip(&format!("'{words}' isn't possible here"));
            continue;
        }
        // The prelude becomes the words, and they become a shell that goes on with the prelude's rest.
        let prelude = format!(
            "[ -n \"$AGAIN\" ] || AGAIN=1 exec {words} bash -c \"$BASH_EXECUTION_STRING\" \"$0\" \"$@\""
        );
        assert_same_under_zklock(&case, &prelude, &[], show);
    }
}

/// zklock locks its own memory, makes itself hard to trace, ignores SIGPIPE and lives with a small stack; the command
/// doesn't.
#[test]
fn what_zklock_does_to_itself_is_not_passed_on() {
    let case = Case::new("own-attributes");
    let show = "exec perl -e 'open S, \"<\", \"/proc/self/status\"; \
         my @l = grep { /^(VmLck|SigIgn|SigBlk|SigCgt|TracerPid|Threads|NoNewPrivs|CoreDumping)/ } <S>; \
         push @l, (-r \"/proc/self/mem\") ? \"dumpable\\n\" : \"hidden\\n\"; \
         open my $out, \">\", $ENV{OUT}; print $out @l, \"stack $ENV{RUST_MIN_STACK}\\n\"'";
    let shown = assert_same_under_zklock(&case, "export RUST_MIN_STACK=99999", &[], show);
    assert!(shown.contains("stack 99999") && shown.contains("dumpable"), "{shown}");
}
