//! Services that have processes of their own, under zklock: real ones from `PyPI`, which `scripts/test` installs, and
//! systemd's sockets.

mod celery;
mod gunicorn;
mod sockets;

use crate::support::{Case, Zklock, skip};
use std::fs;
use std::path::Path;

const HELPERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/helpers");
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/.tools/venv/bin/python");

/// The option under test.
const SINGLE: &[&str] = &["--single-child"];

/// Whether this program is there. If not, reports that the test is skipped.
fn has(program: &str) -> bool {
    let beside = Path::new(PYTHON).with_file_name(program);
    if !beside.exists() {
        skip(&format!("{program} isn't installed; scripts/test installs it"));
    }
    beside.exists()
}

/// The helpers can be imported, and work in the case's directory.
fn with_helpers(case: &Case, zklock: Zklock) -> Zklock {
    zklock.env("PYTHONPATH", HELPERS).env("PYTHONDONTWRITEBYTECODE", "1").env("WORK", case.dir())
}

/// A command line that runs a module of Python.
fn python<'a>(module: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    [&[PYTHON, "-m", module], arguments].concat()
}

/// Runs this service under zklock with these options, or bare with `None`.
fn serve(case: &Case, options: Option<&[&str]>, service: &[&str]) -> Zklock {
    let zklock = match options {
        Some(options) => case.lock(options, service),
        None => Zklock::bare(case.marker()).program(Path::new(service[0])).args(&service[1..]),
    };
    with_helpers(case, zklock)
}

/// Whether the work has come this far: `begun`, `done`.
fn has_come(case: &Case, how_far: &str) -> bool {
    case.dir().join(how_far).exists()
}

/// Lets the work come to its end.
fn go(case: &Case) {
    fs::write(case.dir().join("go"), "").expect("a file");
}

/// Removes what the last work has left.
fn clear(case: &Case) {
    for file in ["begun", "go", "done"] {
        fs::remove_file(case.dir().join(file)).ok();
    }
}
