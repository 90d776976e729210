//! What must hold of anything that comes from the other side, whatever it is: one check for each fuzz target.
//!
//! A check takes any bytes and panics if they break a promise. The fuzz targets call it with new inputs,
//! and `tests/fuzz_corpus.rs` with all that is kept in `corpus/`. A new target has its check here, in [`TARGETS`], a file
//! in `fuzz_targets/`, an entry in `Cargo.toml` and a folder in `corpus/`. They need the core alone; `configuration`, which needs
//! the program too, stands beside them.

pub mod connect_strings;
pub mod held_locks;
pub mod lock_paths;
pub mod node_data;
pub mod node_names;
pub mod shown;

/// A check, and the folder of `corpus/` that belongs to it.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: &[Target] = &[
    ("node_names", node_names::check),
    ("node_data", node_data::check),
    ("held_locks", held_locks::check),
    ("connect_strings", connect_strings::check),
    ("lock_paths", lock_paths::check),
];
