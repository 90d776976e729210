//! zklock dies of the signal that its command died of, and has nothing to be found in a core dump.

use crate::support::Case;
use nix::sys::signal::Signal;
use std::fs;

/// What the kernel left in the directory.
fn cores(case: &Case) -> usize {
    let entries = fs::read_dir(case.dir()).expect("a directory").flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("core")).count()
}

/// Where the kernel writes none, there is nothing to be seen of it.
#[test]
fn of_zklock_there_is_none() {
    let case = Case::new("core");
    let unlimited = "ulimit -c unlimited || exit 99";
    let bare = case.lock(&[], ["true"]).dir(case.dir());
    let bare = bare.prelude(&format!("{unlimited}; kill -SEGV $$")).run();
    if bare.signal != Some(Signal::SIGSEGV as i32) || cores(&case) == 0 {
        return;
    }
    for entry in fs::read_dir(case.dir()).unwrap().flatten() {
        fs::remove_file(entry.path()).unwrap();
    }
    for signal in [Signal::SIGSEGV, Signal::SIGABRT, Signal::SIGQUIT] {
        let job = format!("ulimit -c 0; kill -{} $$", signal as i32);
        let output = case.lock(&[], ["sh", "-c", &job]).dir(case.dir()).prelude(unlimited).run();
        output.assert_signal(signal);
        assert_eq!(cores(&case), 0, "{signal}: of zklock");
        // The command's own is none of zklock's business.
        let job = format!("kill -{} $$", signal as i32);
        let output = case.lock(&[], ["sh", "-c", &job]).dir(case.dir()).prelude(unlimited).run();
        output.assert_signal(signal);
        assert_eq!(cores(&case), 1, "{signal}: of the command");
        for entry in fs::read_dir(case.dir()).unwrap().flatten() {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}
