//! The ways in which files are replaced and removed.

use super::{Queue, installed, later_version};
use crate::support::{Case, skip};
use std::fs;
use std::process::{Command, Output};

fn run(words: &str, case: &Case) -> Output {
    Command::new("sh").args(["-c", words]).current_dir(case.dir()).output().expect("sh")
}

/// A contender that starts from the new file queues behind those that run from the old one.
#[test]
fn a_holder_and_waiters_end_as_ever_after_their_file_is_replaced() {
    for way in
        ["mv new zklock", "install new zklock", "cp -f new zklock", "cp --remove-destination new zklock"]
    {
        let case = Case::new("replaced");
        let program = installed(&case, "zklock");
        let new = later_version(&case, "new");
        let content = fs::read(&new).unwrap();
        let mut queue = Queue::start(&case, &program);
        let output = run(way, &case);
        assert!(output.status.success(), "{way}: {output:?}");
        assert!(fs::read(&program).unwrap() == content, "{way}");
        queue.assert_their_file_is_gone();
        queue.waiters.push(case.lock(&[], ["sh", "-c", "echo ran; exit 6"]).program(&program).spawn());
        case.wait_for_contenders(5);
        queue.finish(&case);
    }
}

#[test]
fn a_holder_and_waiters_end_as_ever_after_their_file_is_removed() {
    let case = Case::new("removed");
    let program = installed(&case, "zklock");
    let queue = Queue::start(&case, &program);
    fs::remove_file(&program).unwrap();
    queue.assert_their_file_is_gone();
    queue.finish(&case);
}

/// No file named like the old one is run: there is only a script that would tell.
#[test]
fn nothing_is_started_from_the_new_file() {
    let case = Case::new("replaced-script");
    let program = installed(&case, "zklock");
    let queue = Queue::start(&case, &program);
    let started = case.dir().join("started");
    let script = format!("#!/bin/sh\\ntouch {}\\n", started.display());
    let output = run(&format!("printf '{script}' >new && chmod +x new && mv new zklock"), &case);
    assert!(output.status.success(), "{output:?}");
    queue.finish(&case);
    assert!(!started.exists());
}

/// Linux 6.11 and 6.12 permit it.
#[test]
fn the_file_can_t_be_overwritten_while_zklock_runs() {
    let case = Case::new("overwritten");
    let program = installed(&case, "zklock");
    let queue = Queue::start(&case, &program);
    if fs::OpenOptions::new().append(true).open(&program).is_ok() {
        skip("this kernel lets a running program's file be written");
    } else {
        let output = run("cp /bin/sh zklock", &case);
        assert!(!output.status.success());
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains("Text file busy"), "{stderr}");
    }
    queue.finish(&case);
}
