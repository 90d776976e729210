//! Helper programs and libraries: two print the signals that they receive, one shifts the time of day, and one knows
//! names.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The command line (`bash SCRIPT ARGS`) of a script that prints `ready PID`, then a line such as `got TERM` for each
/// signal. `args` can contain `TERM=3`, to exit with 3 at that signal, and a number of seconds after which the script
/// exits with 0.
pub fn signal_printer(args: &[&str]) -> Vec<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/helpers/signals.sh");
    let command = ["bash", script].into_iter().chain(args.iter().copied());
    command.map(str::to_owned).collect()
}

/// The command line of a program that prints `ready PID`, then a line such as `got 37` for each signal as often as it
/// comes, whichever it is. It ends at KILL, and if it `leaves`, it has joined another process group than zklock put it
/// into.
pub fn signal_counter(leaves: bool) -> Vec<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/helpers/signals.py");
    let command = ["python3", script].into_iter().chain(leaves.then_some("LEAVE"));
    command.map(str::to_owned).collect()
}

/// The command line of the same program with two children, one in its process group and one outside, that print the
/// signals that they get. It exits with 7 at the signal `last`.
pub fn signal_counters(last: Option<i32>) -> Vec<String> {
    let mut command = signal_counter(false);
    command.push("CHILDREN".to_owned());
    command.extend(last.map(|last| last.to_string()));
    command
}

/// Builds the library that shifts the time of day, and puts it into `dir`. To use it, set `LD_PRELOAD` to its path and
/// `SKEW` to the shift in seconds.
pub fn skewed_clock(dir: &Path) -> PathBuf {
    library("skewed_clock.c", dir.join("skewed_clock.so"))
}

/// Builds the service `zklock` for `/etc/nsswitch.conf`, and puts it into `dir`. To use it, set `LD_LIBRARY_PATH` to
/// that directory. The source says which names it knows.
pub fn name_service(dir: &Path) -> PathBuf {
    library("nss_zklock.c", dir.join("libnss_zklock.so.2"))
}

/// Builds the library that hides the lists of children in `/proc`, and puts it into `dir`. To use it, set `LD_PRELOAD`
/// to its path.
pub fn without_lists(dir: &Path) -> PathBuf {
    library("without_lists.c", dir.join("without_lists.so"))
}

/// Builds a library from a source beside the other helpers.
fn library(source: &str, library: PathBuf) -> PathBuf {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/helpers")).join(source);
    let mut compiler = Command::new("cc");
    let built = compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).status();
    assert!(built.is_ok_and(|status| status.success()), "the C compiler that Rust links with");
    library
}
