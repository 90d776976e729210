//! Keys at a terminal. A line with zklock behaves like its command alone: the keys reach that, the shell sees its code and gets
//! the terminal back, and Ctrl-Z, `fg` and `bg` keep the lock.
//!
//! A row is shells, a line that one of them runs, steps, and the shell's code at the end. The line's words are those of
//! [`Scene::start`], and a step is a key, an action of [`Scene::step`], or a text that appears. `3 x [A, B]` is a step, too. To add a
//! row, add a line to a table.

use super::steps::Scene;
use crate::support::{Shell, has_namespaces, signal_counters, try_rows, unshare};

type Row = (&'static [&'static str], &'static str, &'static str, i32);

/// Every shell that is installed.
const ALL: &[&str] = &["bash", "dash", "zsh", "ksh", "fish"];
const MOST: &[&str] = &["bash", "dash", "zsh", "ksh"];
const FISH: &[&str] = &["fish"];
const SOME: &[&str] = &["bash", "dash", "zsh"];
const BASH: &[&str] = &["bash"];

/// The last step closed the window: there is no code.
const CLOSED: i32 = -1;

#[rustfmt::skip]
const KEYS: &[Row] = &[
    (ALL,  "LOCK sh -c 'exit 3'", "", 3),
    (BASH, "LOCK sh -c 'kill -KILL $$'", "", 137),
    (BASH, "LOCK sh -c 'kill -TERM $$'", "", 143),
    (ALL,  r#"LOCK sh -c 'echo u""p; exec sleep 60'"#, "up, ^C", 130),
    (BASH, r#"LOCK sh -c 'echo u""p; exec sleep 60'"#, r"up, ^\", 131),
    (BASH, "LOCK sleep 60 &", "asleep, fg, ^C", 130),
    (BASH, "LOCK sh -c 'sleep 0.2; exit 6' & wait $!", "", 6),
    (BASH, "LOCK PRINTER", r"ready, ^C, got INT, ^C, got INT, ^\, got QUIT", 4),
    // A waiter.
    (BASH, "$zklock -v $held -- echo reached", ": position , ^C", 130),
    (BASH, "$zklock wait -v $held", "position 2, ^C", 130),
    // A script and a loop end with their command.
    (BASH, r#"bash SCRIPT <<< for i in 1 2 3; do LOCK sh -c "echo round $i; exec sleep 60"; done; echo 'not reached'"#, "round 1, ^C", 130),
    (BASH, r#"sh SCRIPT <<< for i in 1 2 3; do LOCK sh -c "echo round $i; exec sleep 60"; done; echo 'not reached'"#, "round 1, ^C", 130),
    (BASH, r#"bash -c 'sh SCRIPT; echo round 4' <<< for i in 1 2 3; do LOCK sh -c "echo round $i; exec sleep 60"; done"#, "round 1, ^C", 130),
    (BASH, r#"for i in 1 2 3; do LOCK sh -c "echo round $i; exec sleep 60"; done"#, "round 1, ^C", 130),
    (BASH, r#"(for i in 1 2 3; do LOCK sh -c "echo round $i; exec sleep 60"; done)"#, "round 1, ^C", 130),
    (BASH, r#"bash SCRIPT <<< for i in 1 2; do LOCK sh -c "read -r x; echo round $i; read -r x"; done; echo 'not reached'"#, "type go, round 1, ^C", 130),
    (BASH, r#"sh SCRIPT <<< for i in 1 2; do LOCK sh -c "read -r x; echo round $i; read -r x"; done; echo 'not reached'"#, "type go, round 1, ^C", 130),
    (BASH, "LOCK sh -c 'read -r x; echo up; read -r x' | (cat; sleep 61)", "type go, up, ^C", 130),
    // Unless the command handles the key, which it gets once.
    (BASH, r#"bash SCRIPT <<< for i in 1 2 3; do LOCK sh -c "trap 'kill \$!; exit 0' INT; echo turn $i; sleep 60 & wait"; done"#, "turn 1, ^C, turn 2, ^C, turn 3, ^C", 0),
    (BASH, "sh -c 'trap : INT QUIT; . SCRIPT' <<< for i in 1 2; do LOCK PRINTER; exit $?; done", r"ready, ^C, got INT, ^\, got QUIT", 4),
    // A new size, once, and a closed window.
    (BASH, "LOCK PRINTER", r"ready, resize, got WINCH, ^\", 4),
    (BASH, "LOCK PRINTER | cat", r"ready, resize, got WINCH, kill command", 0),
    (BASH, "bash -c 'LOCK PRINTER; exit 1'", r"ready, resize, got WINCH, ^\", 1),
    (BASH, "LOCK sh -c 'echo up; sleep 61 | sleep 62'", "up, close", CLOSED),
    (BASH, "LOCK sh -c 'echo up; sleep 61; :' &", "up, close", CLOSED),
    (BASH, "LOCK sh -c 'echo up; sleep 61; :'", "asleep, ^Z, close", CLOSED),
    (BASH, r#"bash -c 'LOCK sh -c "echo up; sleep 61; :"; sleep 62'"#, "up, close", CLOSED),
    (BASH, "$zklock -v $held -- echo reached", ": position , close", CLOSED),
    (BASH, "$zklock -v $held -- echo reached", ": position , ^Z, close", CLOSED),
];

/// It sleeps briefly: Python handles a signal that comes just before a sleep after it.
const PYTHON: &str = "import os, signal, time
def clean(*_):
    os.write(1, b'cleaned\\n')
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    os.kill(WHOM, signal.SIGTSTP)
    signal.signal(signal.SIGTSTP, clean)
    os.write(1, b'got on\\n')
signal.signal(signal.SIGTSTP, clean)
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.write(1, b'up\\n')
while True:
    time.sleep(0.05)";

#[rustfmt::skip]
const STOPS: &[Row] = &[
    (MOST, r#"LOCK sh -c 'echo u""p; read -r x; echo "<$x>"; exit 5'"#, "up, ^Z, fg, type late, <late>", 5),
    // Its `fg` succeeds, whatever the job does.
    (FISH, r#"LOCK sh -c 'echo u""p; read -r x; echo "<$x>"; exit 5'"#, "up, ^Z, fg, type late, <late>", 0),
    (BASH, "LOCK PRINTER", r"ready, ^Z, fg, got CONT, ^C, got INT, ^Z, bg, got CONT, ^C at the prompt, fg, ^\, got QUIT", 4),
    (SOME, "LOCK JOB", "25 x [goes on, ^Z fg], goes on, finish", 6),
    (SOME, r#"LOCK JOB | sh -c 'echo other e""nd >&2; exec cat'"#, "other end, 25 x [goes on, ^Z fg], goes on, finish", 0),
    (BASH, "bash SCRIPT <<< for i in 1 2; do LOCK sh -c 'echo up; exec sleep 60'; done; echo 'not reached'", "up, ^Z, fg, ^C", 130),
    (BASH, "bash SCRIPT <<< for i in 1 2; do LOCK sh -c 'read -r x; echo up; read -r x'; done; echo 'not reached'", "type go, up, ^Z, fg, ^C", 130),
    (BASH, r#"bash SCRIPT <<< $zklock --single-child $lock -- perl -e '$| = 1; fork; print "up\n"; sleep 61'; echo over"#, "up, up, ^Z, fg, ^C", 130),
    // Its second process needs the terminal, or its first one does.
    (BASH, r#"LOCK timeout --foreground 60 bash -c 'read -r x; echo "<$x>"' </dev/tty &"#, "stopped, fg, type late, <late>", 0),
    (BASH, r#"LOCK sh -c 'echo up; read -r x; echo "<$x>"' &"#, "up, stopped, fg, type late, <late>", 0),
    // A shell under zklock has job control of its own.
    (BASH, "LOCK env PS1='inner$ ' bash --norc --noediting -i", "inner$ , type cat, type first, first, first, ^Z alone, Stopped, inner$ , type fg, cat, type hello, hello, hello, ^C, inner$ , type exit 7", 7),
    // A zklock inside, with another lock and with the same.
    (BASH, "LOCK $zklock $lock-b -- cat", "type one, one, one, 4 x [^Z, fg, type more, more, more], ^D", 0),
    (BASH, "LOCK $zklock $lock-b -- cat", "type one, one, one, 3 x [^Z, fg], ^C", 130),
    (BASH, "LOCK $zklock $lock-b -- sleep 61", "asleep, 3 x [^Z, fg], ^C", 130),
    (BASH, "LOCK $zklock $lock-b -- sh -c 'sleep 61; :'", "asleep, 3 x [^Z, fg], ^C", 130),
    (BASH, r#"LOCK $zklock $lock-b -- sh -c 'read -r x; echo "<$x>"; read -r x; echo "<$x>"' | cat"#, "type one, <one>, 3 x [^Z, fg], type two, <two>", 0),
    (BASH, "LOCK $zklock $lock -- JOB", "3 x [goes on, ^Z, fg], goes on, finish", 6),
    // A waiter queues again. Meanwhile it doesn't run, and its limit goes on.
    (BASH, r#"$zklock -v $held -- sh -c 'echo r""an; exit 7'"#, ": position , ^Z, let go, fg, queueing again at the end, queued as, ran", 7),
    (BASH, r#"LOCK sh -c "$zklock -v $held -- echo ran; exit 7""#, ": position , ^Z, let go, fg, ran", 7),
    (BASH, "$zklock -v -w 15 $held -- echo reached", ": position , ^Z, : busy: gave up after 1,  s: stopped, fg", 124),
    (BASH, "$zklock wait -v $held", "position 2, ^Z, let go, fg", 0),
];

/// The rest of a pipeline or script is in the command's process group.
#[rustfmt::skip]
const GROUP: &[Row] = &[
    (BASH, "$zklock --kill-after 1 $lock -- FAMILY | (cat; sleep 0.1; echo spared); echo code ${PIPESTATUS[0]}", "up, asleep 3, revoke, spared, code 123", 0),
    (BASH, "$zklock --kill-after 1 $lock -- FAMILY | (cat; sleep 0.1; echo spared); echo code ${PIPESTATUS[0]}", "up, asleep 3, kill worker, spared, code 123", 0),
    (BASH, "$zklock --kill-after 1 $lock -- FAMILY | (cat; sleep 0.1; echo spared); echo code ${PIPESTATUS[0]}", "up, asleep 3, kill monitor, spared, code 137", 0),
    (BASH, "$zklock --session-timeout 4 $lock -- sh -c 'echo up; exec sleep 61' | cat", "up, kill both", 0),
    (BASH, r#"bash SCRIPT <<< LOCK sh -c 'read -r x; echo "<$x>"; sleep 61; :'; read -r x; echo "and <$x>"; exit 0"#, "type one, <one>, asleep, kill monitor, type two, and <two>", 0),
    (BASH, "LOCK COUNTERS | (trap 'echo not reached' USR1; cat)", "ready, send SIGUSR1, got 10, got 10, send SIGTERM, got 15, got 15, kill command", 0),
    // A signal that another process sends to the whole group reaches the command twice, and ends it all the same.
    (BASH, "LOCK sleep 61 &", "asleep, type kill %1, type wait $!", 143),
    (BASH, r#"LOCK sh -c 'trap "exit 7" TERM; kill 0; sleep 61'"#, "", 7),
    // What the command itself sends to its group isn't forwarded: the second one would end it.
    (BASH, r#"LOCK sh -c 'trap "" TERM; kill 0; trap - TERM; sleep 0.3; exit 8'"#, "", 8),
];

/// What is typed reaches whichever process reads it.
#[rustfmt::skip]
const INPUT: &[Row] = &[
    (BASH, "LOCK cat", "type hello, hello, hello, ^D", 0),
    (BASH, "LOCK seq 3 | PAGER", "3\r\n:, key q, <q>", 0),
    (BASH, "seq 3 | LOCK PAGER", "3\r\n:, key q, <q>", 0),
    (BASH, "seq 3 | LOCK PAGER | cat", "3\r\n:, key q, <q>", 0),
    (BASH, "seq 3 | LOCK cat | PAGER", "3\r\n:, key q, <q>", 0),
    (BASH, r#"for i in 1 2 3; do LOCK bash -c 'read -r x </dev/tty; echo "<$x>"' | PAGER; done"#, "3 x [type answer, <answer>\r\n:, key q, <q>]", 0),
    (BASH, "LOCK no-such-command", "", 127),
    (BASH, "bash -c 'LOCK no-such-command; read -r x; echo got $x'", "type something, got something", 0),
    (BASH, "LOCK sh -c 'saved=$(stty -g); stty raw -echo; stty $saved'", "", 0),
    (BASH, "bash SCRIPT <<< LOCK timeout --foreground 60 stty sane; exit $?", "", 0),
    // In a script, whatever the first process does on a stop.
    (BASH, "bash SCRIPT <<< LOCK timeout --foreground 60 READ; exit $?", "type typed, <typed>", 0),
    (BASH, r#"bash SCRIPT <<< LOCK bash -c 'trap "" TTIN TTOU; env --default-signal=TTIN,TTOU "$@"; exit $?' - READ; exit $?"#, "type typed, <typed>", 0),
    (BASH, r#"bash SCRIPT <<< LOCK bash -c 'trap : TTIN TTOU; "$@"; exit $?' - READ; exit $?"#, "type typed, <typed>", 0),
    (BASH, "bash SCRIPT <<< LOCK timeout --foreground 60 timeout --foreground 60 READ; exit $?", "type typed, <typed>", 0),
    (BASH, r#"bash SCRIPT <<< LOCK timeout --foreground 60 sh -c 'true; sh -c "$1"' - "read -r x; echo \"<\$x>\""; exit $?"#, "type typed, <typed>", 0),
    (BASH, r#"bash SCRIPT <<< LOCK bash -c 'trap "exit 9" TTIN TTOU; read -r x; echo "<$x>"'; exit $?"#, "type typed, <typed>", 0),
    (BASH, "bash SCRIPT <<< env --ignore-signal=TTIN,TTOU LOCK READ; exit $?", "type typed, <typed>", 0),
    (BASH, "bash SCRIPT <<< env --ignore-signal=TTIN,TTOU LOCK timeout --foreground 60 READ; exit $?", "type typed, <typed>", 0),
    (BASH, "bash SCRIPT <<< env --block-signal=TTIN,TTOU LOCK READ; exit $?", "type typed, <typed>", 0),
    (BASH, "bash SCRIPT <<< env --block-signal=TTIN,TTOU LOCK timeout --foreground 60 READ; exit $?", "type typed, <typed>", 0),
    (BASH, "bash SCRIPT <<< env --block-signal=TTIN LOCK READ; exit $?", "type typed, <typed>", 0),
    (BASH, "bash SCRIPT <<< env --block-signal=TTIN LOCK timeout --foreground 60 READ; exit $?", "type typed, <typed>", 0),
    // It catches the signal and stops itself later, as ssh does when it asks for a password.
    (BASH, "bash SCRIPT <<< LOCK sh -c 'LATE_STOP $$; exit $?'; exit $?", "type typed, <typed>", 0),
    (BASH, "bash SCRIPT <<< LOCK sh -c 'exec LATE_STOP $$'; exit $?", "type typed, <typed>", 0),
    // Without /dev/tty, and as process 1, where zklock can't be in the terminal's process group and gives the command a session.
    (BASH, "bash SCRIPT <<< MOUNT sh -c 'mount -t tmpfs none /dev; \"$@\"' - LOCK READ; exit $?", "type typed, <typed>", 0),
    (BASH, "bash SCRIPT <<< MOUNT sh -c 'mount -t tmpfs none /dev; \"$@\"' - LOCK timeout --foreground 60 READ; exit $?", "type typed, <typed>", 0),
    (BASH, "bash SCRIPT <<< PID LOCK READ; exit $?", "type typed, <typed>", 0),
];

const FAMILY: &str =
    r#"bash -c 'trap "" TERM INT HUP; sleep 61 & setsid sleep 61 & (sleep 61; :) & echo up; wait'"#;
/// Copies its input, configures the terminal, reads a key from it, and restores it.
const PAGER: &str = r#"bash -c 'cat; printf :; read -r -s -n 1 key </dev/tty; echo "<$key>"'"#;
const READ: &str = r#"bash -c 'read -r x; echo "<$x>"'"#;
const LATE_STOP: &str =
    concat!("python3 ", env!("CARGO_MANIFEST_DIR"), "/crates/testkit/helpers/late_stop.py");
const PID: &str = "--pid --fork --mount-proc";

#[test]
fn keys_reach_the_command_and_its_end_gives_the_terminal_back() {
    try_table(KEYS);
}

#[test]
fn a_stopped_command_keeps_its_lock_and_fg_gives_it_the_keys_back() {
    try_table(STOPS);
    for whom in ["os.getpid()", "0"] {
        // As less does, and as vim does.
        let line = format!("LOCK python3 SCRIPT <<< {}", PYTHON.replace("WHOM", whom));
        try_row("bash", &line, "up, 3 x [^Z, fg, got on], ^C", 130);
    }
}

#[test]
fn the_rest_of_a_pipeline_or_script_is_spared() {
    try_table(GROUP);
}

#[test]
fn what_is_typed_reaches_the_process_that_reads() {
    try_table(INPUT);
}

#[track_caller]
fn try_table(rows: &[Row]) {
    let installed = Shell::installed();
    let is_there = |name: &str| installed.contains(&name);
    let is_possible = |line: &str| {
        (!line.contains("MOUNT ") || has_namespaces("--mount", "mount -t tmpfs none /dev"))
            && (!line.contains("PID ") || has_namespaces(PID, "true"))
    };
    let possible = rows.iter().filter(|(_, line, ..)| is_possible(line));
    let all = possible.flat_map(|(shells, line, steps, code)| {
        shells.iter().map(move |shell| (*shell, *line, *steps, *code))
    });
    try_rows(all.filter(|(shell, ..)| is_there(shell)), |(shell, line, steps, code)| {
        try_row(shell, line, steps, code);
    });
}

fn try_row(shell: &str, line: &str, steps: &str, code: i32) {
    let words = [
        ("FAMILY", FAMILY.to_owned()),
        ("PAGER", PAGER.to_owned()),
        ("READ", READ.to_owned()),
        ("LATE_STOP", LATE_STOP.to_owned()),
        ("COUNTERS", signal_counters(None).join(" ")),
        ("MOUNT", unshare("--mount")),
        ("PID ", unshare(PID) + " "),
    ];
    let line = words.iter().fold(line.to_owned(), |line, (word, text)| line.replace(word, text));
    let mut scene = Scene::start(shell, &line);
    let steps = expand(steps);
    for step in &steps {
        scene.step(step);
    }
    if code == CLOSED { scene.assert_closed() } else { scene.assert_ended(code, &steps) }
}

/// The single steps.
fn expand(steps: &str) -> Vec<String> {
    let split = |steps: &str| -> Vec<String> {
        steps.split(", ").filter(|step| !step.is_empty()).map(str::to_owned).collect()
    };
    let Some((before, rest)) = steps.split_once(" x [") else { return split(steps) };
    let (before, times) = before.rsplit_once(", ").unwrap_or(("", before));
    let (repeated, after) = rest.split_once(']').expect("an end");
    let repeated = (0..times.parse().expect("a number")).flat_map(|_: i32| split(repeated));
    split(before).into_iter().chain(repeated).chain(split(after)).collect()
}
