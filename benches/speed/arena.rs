//! Where the measurements take place: servers, programs and a directory, all told by `scripts/bench`.

use std::env;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// What the script has started and found.
pub(crate) struct Arena {
    /// One server.
    pub(crate) one: String,
    /// Three servers.
    pub(crate) three: String,
    /// The endpoint of etcd; nothing where it is left out.
    pub(crate) etcd: Option<String>,
    /// A Python that has kazoo.
    pub(crate) python: Option<PathBuf>,
    /// A Java class path with Curator and the compiled peer.
    pub(crate) curator: Option<String>,
    /// Another build of zklock, to measure beside this one.
    pub(crate) other: Option<String>,
    /// Whatever is written.
    pub(crate) dir: PathBuf,
    /// Where the drawing goes.
    pub(crate) drawing: PathBuf,
    locks: AtomicU32,
}

/// On how many servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Servers {
    /// A standalone one.
    One,
    /// A leader and two followers.
    Three,
}

/// How long it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Enough to see that it works.
    Quick,
    /// Enough to believe the medians.
    Full,
}

impl Size {
    /// Understands what the script says.
    pub(crate) fn parse(word: &str) -> Self {
        if word == "quick" { Self::Quick } else { Self::Full }
    }

    /// The one or the other.
    pub(crate) fn pick<T>(self, quick: T, full: T) -> T {
        if self == Self::Quick { quick } else { full }
    }
}

impl Arena {
    /// What the script says, in variables.
    pub(crate) fn from_environment() -> Self {
        let told = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let needed =
            |name: &str| told(name).unwrap_or_else(|| panic!("{name} is not set; run scripts/bench"));
        Self {
            one: needed("BENCH_ONE"),
            three: needed("BENCH_THREE"),
            etcd: told("BENCH_ETCD"),
            python: told("BENCH_PYTHON").map(PathBuf::from),
            curator: told("BENCH_CURATOR"),
            other: told("BENCH_OTHER"),
            dir: needed("BENCH_DIR").into(),
            drawing: needed("BENCH_DRAWING").into(),
            locks: AtomicU32::new(0),
        }
    }

    /// The same, with another way to its one server.
    pub(crate) fn at(one: String) -> Self {
        Self { one, ..Self::from_environment() }
    }

    /// The connect string.
    pub(crate) fn hosts(&self, servers: Servers) -> &str {
        match servers {
            Servers::One => &self.one,
            Servers::Three => &self.three,
        }
    }

    /// A name that no lock, file or etcd key has had yet.
    pub(crate) fn new_name(&self) -> String {
        format!("bench-{}-{}", std::process::id(), self.locks.fetch_add(1, Ordering::Relaxed))
    }
}

/// The rows, in every other round from the last to the first: nobody always comes after the same neighbour.
pub(crate) fn there_and_back<T>(round: usize, rows: &mut [T]) -> impl Iterator<Item = &mut T> {
    let mut ordered: Vec<&mut T> = rows.iter_mut().collect();
    if round % 2 == 1 {
        ordered.reverse();
    }
    ordered.into_iter()
}
