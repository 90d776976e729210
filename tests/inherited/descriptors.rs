//! File descriptors. The usual ones of a command are in `two_processes::invisible`, too.

use crate::support::{
    Case, DEADLINE, OtherUser, Running, Zklock, command_of, end, has_namespaces, status_of, try_for,
    wait_until,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The command, which opens nothing.
const SLEEP: [&str; 2] = ["sleep", "150"];

/// Stdin, stdout and stderr as the tests give them.
const USUAL: [&str; 3] = ["r- pipe", "-w pipe", "-w pipe"];

/// Each way to close one or more of stdin, stdout and stderr.
const CLOSED: [&str; 7] = ["<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"];

/// What is left of the usual ones then.
fn left_of_usual(closed: &str) -> Vec<&'static str> {
    let is_closed = |redirection| closed.split(' ').any(|word| word == redirection);
    let each = USUAL.into_iter().zip(["<&-", ">&-", "2>&-"]);
    each.map(|(usual, redirection)| if is_closed(redirection) { "closed" } else { usual }).collect()
}

/// The descriptors 0 to 9 of a process: whether each may be read and written, and its file.
fn descriptors_of(pid: Pid) -> Vec<String> {
    let shown = |number: i32| {
        let link = format!("/proc/{pid}/fd/{number}");
        let file = fs::read_link(&link).ok()?.display().to_string();
        let mode = fs::symlink_metadata(&link).ok()?.mode();
        let flag = |bit, letter| if mode & bit == 0 { '-' } else { letter };
        // Each pipe has a number of its own.
        let file = file.split_once(":[").map_or(&*file, |(kind, _)| kind);
        Some(format!("{}{} {file}", flag(0o400, 'r'), flag(0o200, 'w')))
    };
    (0..10).map(|number| shown(number).unwrap_or_else(|| "closed".to_owned())).collect()
}

/// Asserts that the command, which is [`SLEEP`], has these descriptors and no other one up to 9, and ends it.
#[track_caller]
fn assert_descriptors<'a>(running: &Running, prelude: &str, expected: impl IntoIterator<Item = &'a str>) {
    let mut expected: Vec<&str> = expected.into_iter().collect();
    expected.resize(10, "closed");
    let command = command_of(running.pid());
    // Before, it is a zklock or a shell that becomes the command. A library that is being loaded gets a free number for a
    // moment.
    let is_sleep = || status_of(command, "Name").is_some_and(|name| name == "sleep");
    let seen = try_for(DEADLINE, || (is_sleep() && descriptors_of(command) == expected).then_some(()));
    assert!(seen.is_some(), "after {prelude}: {:?} instead of {expected:?}", descriptors_of(command));
    kill(command, Signal::SIGTERM).expect("the command");
}

#[test]
fn what_was_closed_for_zklock_is_closed_for_the_command() {
    let case = Case::new("closed");
    for closed in CLOSED {
        // The inner zklock becomes its command.
        let inner = [env!("CARGO_BIN_EXE_zklock"), "-vv", "-z", case.hosts(), case.path(), "--"];
        for zklock in [
            case.lock(&[], SLEEP),
            // With -vv, messages would be written to whatever got the number of stderr.
            case.lock(&["-vv", "--slots", "2"], SLEEP),
            case.zklock().args([case.path(), "-c", "exec sleep 150"]),
            case.lock(&[], inner.into_iter().chain(SLEEP)),
        ] {
            let running = zklock.prelude(&format!("exec {closed}")).spawn();
            assert_descriptors(&running, closed, left_of_usual(closed));
            running.wait(DEADLINE).assert_signal(Signal::SIGTERM);
        }
    }
}

/// As in a sandbox that shows its root directory to nobody.
#[test]
fn a_closed_stdout_stays_closed_below_a_root_directory_that_cannot_be_read() {
    let Some(user) = OtherUser::new() else { return };
    let case = Case::new("closed-root");
    let root = user.dir().join("root");
    fs::create_dir(&root).expect("a directory");
    let enter = "cd / && for name in *; do
            if [ -L $name ]; then cp -P $name $0; elif [ -d $name ]; then mkdir $0/$name && mount --rbind $name $0/$name; fi
        done
        chmod 711 $0 && exec chroot --userspec=61437:61437 $0 \"$@\" >&-";
    let program = user.dir().join("zklock");
    let unshare = Zklock::bare(case.marker()).program(Path::new("unshare"));
    let zklock = unshare.args(["--mount", "sh", "-c", enter]).arg(&root).arg(&program).env("HOME", "/");
    let output = zklock.args(["-z", case.hosts(), case.path(), "/bin/echo", "hi"]).run();
    output.assert_code(1).assert_stderr("write error");
}

#[test]
fn other_descriptors_and_the_ways_they_are_open_are_passed_on() {
    let case = Case::new("passed-on");
    let file = case.dir().join("file");
    fs::write(&file, "").expect("a file");
    let file = file.display();
    let open = format!("exec 3<{file} 4>{file} 5<>{file} 6>>{file} 7</dev/zero 8<&0 9>&2");
    let running = case.lock(&[], SLEEP).prelude(&open).spawn();
    let passed = [format!("r- {file}"), format!("-w {file}"), format!("rw {file}"), format!("-w {file}")];
    let passed = passed.iter().map(String::as_str).chain(["r- /dev/zero", "r- pipe", "-w pipe"]);
    assert_descriptors(&running, &open, USUAL.into_iter().chain(passed));
    for (wrong_side, expected) in [
        ("exec 1</dev/null", ["r- pipe", "r- /dev/null", "-w pipe"]),
        ("exec 2</dev/null", ["r- pipe", "-w pipe", "r- /dev/null"]),
        ("exec 0>/dev/null", ["-w /dev/null", "-w pipe", "-w pipe"]),
    ] {
        let running = case.lock(&["-vv"], SLEEP).prelude(wrong_side).spawn();
        assert_descriptors(&running, wrong_side, expected);
    }
}

#[test]
fn zklock_with_a_closed_stdin_needs_no_null_device() {
    let without_devices = "mount -t tmpfs none /dev";
    if !has_namespaces("--mount", without_devices) {
        return;
    }
    let case = Case::new("no-null");
    let zklock = case.lock(&["-v"], ["sh", "-c", "readlink /proc/$$/fd/0 || echo closed"]);
    let output = zklock.with_own_mounts(&format!("{without_devices} && exec <&-")).run();
    assert_eq!(output.assert_code(0).stdout, "closed\n");
}

/// The second process stays after a second signal, to delete the node, and nothing waits for it.
#[test]
fn a_waiter_without_a_stdout_or_stderr_leaves_the_queue() {
    let case = Case::new("closed-waiter");
    let holder = case.holder();
    for closed in CLOSED {
        let waiter = case.lock(&["-vv"], ["true"]).prelude(&format!("exec {closed}")).spawn();
        case.wait_for_contenders(2);
        waiter.signal(Signal::SIGTERM);
        waiter.wait(DEADLINE).assert_signal(Signal::SIGTERM);
        wait_until("its node to be gone", DEADLINE, || case.contenders().len() == 1);
    }
    end(holder);
}
