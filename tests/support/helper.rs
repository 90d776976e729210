//! The program that tells which signals reached it.

/// A command line (`bash SCRIPT ARGS`) that prints `ready PID`, then `got TERM` for each signal. `args` are
/// `TERM=3` to exit with 3 at that signal, and a number of seconds after which it exits with 0.
pub(crate) fn signal_printer(args: &[&str]) -> Vec<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/helpers/signals.sh");
    let command = ["bash", script].into_iter().chain(args.iter().copied());
    command.map(str::to_owned).collect()
}
