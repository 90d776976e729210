//! Ignored and blocked signals, umask, priority, resource limits, processors, and the working directory.

use crate::support::{Case, Zklock, skip};
use std::path::Path;
use std::process::Command;

/// Asserts that the command prints and exits the same under zklock as without it, when bash has carried out `before` and
/// `with` are the words before the command line. Returns what it prints.
#[track_caller]
fn assert_same(case: &Case, before: &str, with: &str, command: &[&str]) -> String {
    let bare = Zklock::bare(case.marker()).program(Path::new("env")).args(command);
    let [bare, wrapped] = [bare, case.lock(&[], command)].map(|zklock| {
        let run = zklock.prelude(&format!("{before}\nexec {with} \"$0\" \"$@\"")).run();
        assert!(run.code.is_some() && !run.stdout.is_empty(), "{run}");
        (run.code, run.stdout)
    });
    assert_eq!(wrapped, bare, "after {before}, with {with}");
    wrapped.1
}

#[test]
fn signals_that_are_ignored_or_blocked_stay_so_and_no_others_are() {
    let case = Case::new("same-signals");
    let is_same = |before: &str, with: &str| {
        let shown =
            assert_same(&case, before, with, &["grep", "-E", "^Sig(Ign|Blk|Cgt)", "/proc/self/status"]);
        assert!(shown.contains("SigIgn"), "{shown}");
    };
    is_same("", "");
    for set in ["HUP", "INT", "TERM", "PIPE", "XFSZ", "QUIT USR1 USR2 ALRM", "TSTP TTIN TTOU"] {
        is_same(&format!("trap '' {set}"), "");
    }
    // bash can't ignore all of them. With CHLD zklock still notices the command's end.
    let perl = |statement: String| is_same("", &format!("perl -MPOSIX -e '{statement}; exec @ARGV or die'"));
    for name in
        ["PWR", "IO", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "STKFLT", "RTMIN", "NUM37", "RTMAX", "CHLD"]
    {
        perl(format!("$SIG{{{name}}} = \"IGNORE\""));
    }
    for set in [
        "SIGUSR1",
        "SIGTERM, SIGINT, SIGHUP",
        "SIGTTOU, SIGTSTP, SIGPIPE",
        "30, 29, 23, 34, 37, 64",
        "SIGCHLD",
    ] {
        perl(format!("sigprocmask(SIG_BLOCK, POSIX::SigSet->new({set}))"));
    }
}

#[test]
fn limits_and_attributes_of_the_process_are_passed_on() {
    let case = Case::new("attributes");
    // Except for the process's own numbers, the whole of what the kernel says about each.
    let show = "exec 2>/dev/null; umask; nice; cat /proc/self/limits /proc/self/oom_score_adj /proc/self/cgroup \
         /proc/self/loginuid /proc/self/timerslack_ns; pwd; \
         grep -E '^(NoNewPrivs|Cpus_allowed_list|Groups|Cap|Seccomp:|Umask)' /proc/self/status; exit 3";
    for (before, expected) in [
        ("umask 0027", "0027"),
        // The tests may be run by nice(1), and only root may ask for a better priority.
        ("renice -n 19 $$ >/dev/null", "\n19\n"),
        ("ulimit -S -c 0 -f 4096 -n 200 -s 4096 -t 100 -l 32", "Max open files            200"),
        ("ulimit -S -v 4000000", "4096000000"),
        ("ulimit -S -n 1000; ulimit -H -n 1000", "Max open files            1000                 1000"),
        ("cd /usr", "/usr\n"),
    ] {
        let shown = assert_same(&case, before, "", &["sh", "-c", show]);
        assert!(shown.contains(expected), "after {before}:\n{shown}");
    }
}

#[test]
fn processors_and_scheduling_are_passed_on() {
    let case = Case::new("scheduling");
    let show = "{ taskset -p $$; chrt -p $$; ionice -p $$; } | sed 's/pid [0-9]*//'";
    for words in ["taskset -c 0", "chrt --batch 0", "ionice -c 3", "nice -n 7 taskset 1"] {
        let probe = Command::new("sh").args(["-c", &format!("{words} true")]).status();
        if probe.is_ok_and(|status| status.success()) {
            assert_same(&case, "", words, &["sh", "-c", show]);
        } else {
            skip(&format!("'{words}' isn't possible here"));
        }
    }
}

/// zklock locks its own memory, makes itself hard to trace, ignores SIGPIPE and lives with a small stack; the command
/// doesn't.
#[test]
fn what_zklock_does_to_itself_is_not_passed_on() {
    let case = Case::new("own-attributes");
    let show = "open S, '<', '/proc/self/status'; \
         print grep { /^(VmLck|SigIgn|SigBlk|SigCgt|TracerPid|Threads|NoNewPrivs|CoreDumping)/ } <S>; \
         print((-r '/proc/self/mem') ? 'dumpable' : 'hidden', \" stack $ENV{RUST_MIN_STACK}\\n\")";
    let shown = assert_same(&case, "export RUST_MIN_STACK=99999", "", &["perl", "-e", show]);
    assert!(shown.contains("dumpable stack 99999"), "{shown}");
}
