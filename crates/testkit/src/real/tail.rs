//! Reads a file while other processes append to it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The lines of a growing file.
#[derive(Debug)]
pub struct Tail {
    file: File,
    /// The start of a line whose end wasn't read yet.
    rest: String,
}

impl Tail {
    pub fn open(path: &Path) -> Self {
        Self { file: File::open(path).expect("a file to follow"), rest: String::new() }
    }

    /// The whole lines that were appended since the last call.
    pub fn new_lines(&mut self) -> String {
        self.file.read_to_string(&mut self.rest).expect("text in a file to follow");
        let whole = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let rest = self.rest.split_off(whole);
        std::mem::replace(&mut self.rest, rest)
    }
}
