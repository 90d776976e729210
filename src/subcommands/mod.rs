//! The subcommands, such as `status` and `revoke`: everything that zklock does besides running a command.

mod check;
mod complete;
mod forget;
mod listing;
mod manual;
mod owner;
mod revoke;
mod session;
mod status;
mod wait;

use anyhow::Result;
use zklock_core::exit::Exit;

pub use self::complete::complete;
pub(crate) use self::session::in_session_of;
use crate::cli::{Options, Subcommand};
use crate::output::stdout::print;

/// Carries out a subcommand, and returns how zklock is to exit.
pub fn run(subcommand: &Subcommand, options: &Options) -> Result<Exit> {
    match subcommand {
        Subcommand::Status(status) if status.show_config => print(options.shown_config.as_bytes()),
        Subcommand::Status(status) => status::run(status, options),
        Subcommand::Revoke(revoke) => revoke::run(revoke, options),
        Subcommand::Wait(wait) => wait::run(wait, options),
        Subcommand::Check(check) => check::run(check, options),
        Subcommand::Forget(forget) => forget::run(forget, options),
        Subcommand::Completions(options) => print(&complete::script(&options.shell)?),
        Subcommand::Man(_) => print(&manual::manual()?),
    }
}
