//! The environment of the measurements, which `scripts/bench` provides: servers, programs and directories.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// The servers and programs that `scripts/bench` has started and found.
pub(crate) struct Environment {
    /// The connect string of a standalone server.
    pub(crate) one: String,
    /// The connect string of an ensemble of three.
    pub(crate) three: String,
    /// The endpoint of etcd, if it is measured.
    pub(crate) etcd: Option<String>,
    /// A Python interpreter with kazoo, if there is one.
    pub(crate) python: Option<PathBuf>,
    /// A Java class path with Curator and the compiled `CuratorLock`, if there is one.
    pub(crate) curator: Option<String>,
    /// The copy of zklock that is measured.
    pub(crate) zklock: String,
    /// The build of zklock before a change, if one was named.
    pub(crate) before: Option<String>,
    /// The directory for temporary files.
    pub(crate) dir: PathBuf,
    locks: AtomicU32,
}

/// The servers to measure with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Servers {
    /// A standalone server.
    One,
    /// A leader and two followers.
    Three,
}

/// The size of the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Enough to see that they work.
    Quick,
    /// Enough for reliable medians.
    Full,
}

impl Size {
    /// Parses the argument of `scripts/bench`.
    pub(crate) fn parse(word: &str) -> Self {
        if word == "quick" { Self::Quick } else { Self::Full }
    }

    /// One of two values, depending on the size.
    pub(crate) fn pick<T>(self, quick: T, full: T) -> T {
        if self == Self::Quick { quick } else { full }
    }
}

impl Environment {
    /// Reads the variables that `scripts/bench` sets.
    pub(crate) fn from_environment() -> Self {
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let needed =
            |name: &str| variable(name).unwrap_or_else(|| panic!("{name} is not set; run scripts/bench"));
        Self {
            one: needed("BENCH_ONE"),
            three: needed("BENCH_THREE"),
            etcd: variable("BENCH_ETCD"),
            python: variable("BENCH_PYTHON").map(PathBuf::from),
            curator: variable("BENCH_CURATOR"),
            zklock: needed("BENCH_ZKLOCK"),
            before: variable("BENCH_BEFORE"),
            dir: needed("BENCH_DIR").into(),
            locks: AtomicU32::new(0),
        }
    }

    /// Where the messages of contenders go.
    pub(crate) fn errors(&self) -> File {
        let path = self.dir.join("errors");
        OpenOptions::new().create(true).append(true).open(path).expect("the file of messages")
    }

    /// The last of these messages.
    pub(crate) fn last_errors(&self) -> String {
        let text = fs::read_to_string(self.dir.join("errors")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// The connect string of these servers.
    pub(crate) fn hosts(&self, servers: Servers) -> &str {
        match servers {
            Servers::One => &self.one,
            Servers::Three => &self.three,
        }
    }

    /// A new name for a lock, a file or an etcd key.
    pub(crate) fn new_name(&self) -> String {
        format!("bench-{}-{}", std::process::id(), self.locks.fetch_add(1, Ordering::Relaxed))
    }
}

/// The rows, in reverse order in every other round, so that no contestant always runs after the same other one.
pub(crate) fn alternating<T>(round: usize, rows: &mut [T]) -> impl Iterator<Item = &mut T> {
    let mut ordered: Vec<&mut T> = rows.iter_mut().collect();
    if round % 2 == 1 {
        ordered.reverse();
    }
    ordered.into_iter()
}
