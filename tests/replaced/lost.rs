//! The file's content is lost while zklock runs from it, as when the network file system that it is on is gone for good.
//! Both processes die at the next page that they need.

use super::installed;
use crate::support::{Case, DEADLINE, Zklock, command_of, is_alive, skip, wait_until};
use nix::sys::signal::Signal;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The dynamic linker that the program names; a static program names none.
fn linker(program: &Path) -> Option<PathBuf> {
    let start = std::fs::read(program).expect("zklock").into_iter().take(4096).collect::<Vec<u8>>();
    let mut texts = start.split(|&byte| byte == 0);
    let name = texts.find(|text| text.starts_with(b"/lib") && text.windows(3).any(|part| part == b"ld-"))?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

/// zklock from this file, which can be truncated: the dynamic linker maps it as it maps a library, and the kernel
/// protects only a file that it runs itself.
fn unprotected(case: &Case, program: &Path, options: &[&str], script: &str) -> Option<Zklock> {
    let zklock =
        Zklock::bare(case.marker()).program(&linker(program)?).arg(program).args(["-z", case.hosts()]);
    Some(zklock.args(options).args([case.path(), "--", "bash", "-c", script]))
}

/// The kernel ends the command, and the lock is free when the session has ended.
#[test]
fn the_command_ends_with_zklock_before_the_next_contender_runs() {
    let case = Case::new("lost-file");
    let (program, history) = (installed(&case, "zklock"), case.history());
    let short = ["--session-timeout", "5"];
    let job = format!("trap '' TERM HUP INT; echo running; {}", history.endless_job("lost"));
    let Some(holder) = unprotected(&case, &program, &short, &job) else {
        return skip("a static program has no dynamic linker");
    };
    let holder = holder.spawn();
    holder.wait_for_stdout("running", DEADLINE);
    let command = command_of(holder.pid());
    let waiter = unprotected(&case, &program, &short, "echo must not run").unwrap().spawn();
    case.wait_for_contenders(2);
    let next = case.lock(&[], ["sh", "-c", &history.job("next", 0.1)]).spawn();
    case.wait_for_contenders(3);
    OpenOptions::new().write(true).truncate(true).open(&program).expect("a file to truncate");
    holder.wait(DEADLINE).assert_signal(Signal::SIGBUS);
    wait_until("the command to end", DEADLINE, || !is_alive(command));
    assert_eq!(waiter.wait(DEADLINE).assert_signal(Signal::SIGBUS).stdout, "");
    next.wait(DEADLINE).assert_code(0);
    assert_eq!(history.exclusive_order(), ["lost", "next"]);
}
