//! zklock's file is replaced, removed or lost while zklock runs from it, as in an upgrade.

mod ends;
mod lost;
mod ways;

use crate::support::{Case, DEADLINE, Running, end};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Copies the program under test into the case's directory, where it can be replaced.
fn installed(case: &Case, name: &str) -> PathBuf {
    let program = case.dir().join(name);
    fs::copy(env!("CARGO_BIN_EXE_zklock"), &program).expect("a copy of zklock");
    program
}

/// A program that is the same, in a file with other content: a later version.
fn later_version(case: &Case, name: &str) -> PathBuf {
    let program = installed(case, name);
    // What follows the last section of a program is never read.
    OpenOptions::new().append(true).open(&program).and_then(|mut file| file.write_all(b"later")).unwrap();
    program
}

/// A holder and three waiters that run from `program`.
struct Queue {
    holder: Running,
    waiters: Vec<Running>,
}

impl Queue {
    #[track_caller]
    fn start(case: &Case, program: &Path) -> Self {
        let hold = format!("echo running; until [ -e {} ]; do sleep 0.01; done; exit 5", go(case).display());
        let holder = case.lock(&[], ["sh", "-c", &hold]).program(program).spawn();
        holder.wait_for_stdout("running", DEADLINE);
        let waiter = |place| {
            let waiter = case.lock(&[], ["sh", "-c", "echo ran; exit 6"]).program(program).spawn();
            case.wait_for_contenders(place);
            waiter
        };
        Self { holder, waiters: (2..=4).map(waiter).collect() }
    }

    /// Asserts that the kernel calls the file deleted from which each of them runs.
    #[track_caller]
    fn assert_their_file_is_gone(&self) {
        for zklock in self.waiters.iter().chain([&self.holder]) {
            let file = fs::read_link(format!("/proc/{}/exe", zklock.pid())).expect("a running zklock");
            assert!(file.to_string_lossy().ends_with(" (deleted)"), "{}", file.display());
        }
    }

    /// Lets the holder's command end, and checks that everyone ends as if nothing had happened.
    #[track_caller]
    fn finish(self, case: &Case) {
        fs::write(go(case), "").unwrap();
        let output = self.holder.wait(DEADLINE);
        assert_eq!((output.assert_code(5).stderr.as_str(), output.stdout.as_str()), ("", "running\n"));
        assert_they_run(self.waiters);
    }
}

/// Waits for these waiters, and checks that each has run its command.
#[track_caller]
fn assert_they_run(waiters: Vec<Running>) {
    for waiter in waiters {
        let output = waiter.wait(DEADLINE);
        assert_eq!((output.assert_code(6).stderr.as_str(), output.stdout.as_str()), ("", "ran\n"));
    }
}

/// The file that ends the holder's command.
fn go(case: &Case) -> PathBuf {
    case.dir().join("go")
}
