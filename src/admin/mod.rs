//! The verbs, such as `status` and `revoke`: everything that zklock does besides running a command.

mod check;
mod complete;
mod forget;
mod listing;
mod manual;
mod manual_text;
mod neighbours;
mod owner;
mod revoke;
mod session;
mod settings;
mod status;

use anyhow::Result;

pub use self::complete::{complete, completions};
pub use self::manual::manual;
use crate::cli::{Options, Setting, Verb};
use crate::core::exit::Exit;
use crate::runtime::stdout::print;

/// Carries out a verb, and returns how zklock is to exit.
pub fn run(verb: &Verb, options: &Options, all: &[Setting]) -> Result<Exit> {
    match verb {
        Verb::Status(status) if status.show_config => print(settings::toml(all).as_bytes()),
        Verb::Status(status) => status::run(status, options),
        Verb::Revoke(revoke) => revoke::run(revoke, options),
        Verb::Check(check) => check::run(check, options),
        Verb::Forget(forget) => forget::run(forget, options),
        Verb::Completions { shell } => print(completions(*shell).as_bytes()),
        Verb::Man => print(&manual()?),
    }
}
