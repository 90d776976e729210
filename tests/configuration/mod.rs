//! Settings from files: where they are, and their precedence. A mistake in a file is a row of `refused`.

mod out_of_reach;
mod precedence;

use crate::support::{Case, Zklock};
use std::fs;
use std::path::PathBuf;

/// Creates a file in the case's directory.
fn file(case: &Case, name: &str, text: &str) -> PathBuf {
    let path = case.dir().join(name);
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(&path, text).expect("a file");
    path
}

/// zklock without `-z`, with this file as the user's configuration.
fn with_user_file(case: &Case, text: &str) -> Zklock {
    file(case, "home/.config/zklock/config.toml", text);
    Zklock::bare(case.marker()).env("HOME", case.dir().join("home"))
}
