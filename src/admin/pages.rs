//! Completions and the manual page, made from the definition of the command line.

use std::io;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::{KnownShell, Options};

/// The completions for a shell.
pub fn completions(shell: KnownShell) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(Shell::from(shell), &mut Options::command(), "zklock", &mut text);
    text
}

/// The manual page, in roff.
pub fn manual() -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    clap_mangen::Man::new(Options::command()).render(&mut text)?;
    Ok(text)
}
