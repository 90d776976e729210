//! The subcommands and their options. A subcommand has no slash at its start and so can't be a lock path.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use zklock_core::duration;
use zklock_core::path::{LockPath, NodePath, PathError};
use zklock_core::text::escaped;

use crate::values;

// A subcommand with its options. It has no doc comment: clap would make it the first line of zklock's own help.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Subcommand {
    /// Show who holds the locks and who waits
    Status(StatusOptions),
    /// Ask the holder of a lock to give it up
    Revoke(RevokeOptions),
    /// Wait until all that now hold or queue for locks are gone, and take none
    Wait(WaitOptions),
    /// Check whether the servers, timeouts and permissions are ready for locks
    Check(CheckOptions),
    /// Delete the --once-per record of a lock, so that the next run is due
    Forget(ForgetOptions),
    /// Print the completions for a shell, on stdout
    Completions(CompletionsOptions),
    /// Print the manual page, on stdout
    Man(ManOptions),
}

/// The options of `status`.
#[derive(Debug, Clone, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct StatusOptions {
    /// Print JSON for scripts; with --watch one document a line for each change
    #[arg(long)]
    pub json: bool,

    /// Print metrics for Prometheus, as node_exporter reads them from a file
    #[arg(long, conflicts_with_all = ["json", "watch"])]
    pub openmetrics: bool,

    /// Go on showing what changes, until Ctrl-C
    #[arg(long)]
    pub watch: bool,

    /// Show every lock at or below each PATH
    #[arg(long)]
    pub recursive: bool,

    /// Exit with 1 if one of the locks is held, else with 0
    #[arg(long, conflicts_with = "watch")]
    pub exit_code: bool,

    /// Show the settings in effect and where each comes from, and ask no server
    #[arg(long, conflicts_with_all = ["json", "openmetrics", "watch", "recursive", "exit_code", "paths"])]
    pub show_config: bool,

    /// The locks; without any, every lock that the servers have
    #[arg(value_name = "PATH", value_parser = path_to_show)]
    pub paths: Vec<LockPath>,
}

/// The options of `revoke`.
#[derive(Debug, Clone, Args)]
pub struct RevokeOptions {
    /// The lock
    #[arg(value_name = "PATH", value_parser = lock_path)]
    pub path: LockPath,

    /// This contender, holding or waiting: its node's name, as 'status' shows it
    #[arg(long, value_name = "NODE", conflicts_with = "all", value_parser = node)]
    pub node: Option<String>,

    /// Every contender, holding or waiting
    #[arg(long)]
    pub all: bool,

    /// Every waiter, and not the holder
    #[arg(long, conflicts_with_all = ["node", "all"])]
    pub waiting: bool,

    /// Don't ask: delete the node. The next contender may start before the command has stopped
    #[arg(long)]
    pub force: bool,
}

impl RevokeOptions {
    /// Reduces a node that is given as its whole path to its name.
    ///
    /// # Errors
    /// If the path isn't that of a node of the lock.
    pub(super) fn check_node(&mut self) -> Result<()> {
        let Some(node) = self.node.as_mut().filter(|node| node.contains('/')) else { return Ok(()) };
        let given = NodePath::from(node.clone());
        let path = &self.path;
        if !given.is_child_of(path) {
            let shown = escaped(given.as_str().as_bytes());
            bail!("--node: '{shown}' isn't a node of {path}; give the lock that it belongs to, or its name");
        }
        given.name().clone_into(node);
        Ok(())
    }
}

/// The options of `wait`. Those that aren't given are as for a lock, which a configuration file may set.
#[derive(Debug, Clone, Args)]
pub struct WaitOptions {
    /// Don't wait: if a lock is busy, exit with 124
    #[arg(short, long, visible_aliases = ["nb", "nonblocking"])]
    pub nonblock: bool,

    /// Wait at most SECS for all of them, then exit with 124; 0 is -n
    #[arg(short = 'w', long, value_name = "SECS", visible_alias = "wait", value_parser = duration::parse)]
    pub timeout: Option<Duration>,

    #[arg(long, hide = true, value_parser = no_progress)]
    progress: Option<String>,

    /// Exit with N if a lock is busy
    #[arg(short = 'E', long, value_name = "N", value_parser = values::exit_code)]
    pub conflict_exit_code: Option<u8>,

    /// The locks
    #[arg(value_name = "PATH", required = true, value_parser = lock_path)]
    pub paths: Vec<LockPath>,
}

/// The options of `check`.
#[derive(Debug, Clone, Args)]
pub struct CheckOptions {
    /// Print JSON for monitors
    #[arg(long)]
    pub json: bool,

    /// Create the chroot of the connect string if it is missing, with the ACL that --acl says
    #[arg(long)]
    pub create_chroot: bool,

    /// The lock whose permissions are checked too
    #[arg(value_name = "PATH", value_parser = lock_path)]
    pub path: Option<LockPath>,
}

/// The options of `forget`.
#[derive(Debug, Clone, Args)]
pub struct ForgetOptions {
    /// The lock
    #[arg(value_name = "PATH", value_parser = lock_path)]
    pub path: LockPath,
}

/// The options of `completions`.
#[derive(Debug, Clone, Args)]
pub struct CompletionsOptions {
    /// The shell: bash, zsh or fish
    #[arg(value_parser = ["bash", "zsh", "fish"], hide_possible_values = true)]
    pub shell: String,
}

/// `man` has no options of its own.
#[derive(Debug, Clone, Args)]
pub struct ManOptions {}

fn lock_path(text: &str) -> Result<LockPath> {
    Ok(LockPath::parse(&OsString::from(text))?)
}

/// 1.1 had this option.
fn no_progress(_: &str) -> Result<String> {
    bail!("'zklock -v wait' says for whom it waits, whenever that changes")
}

/// A path for `status`. The root is refused with a remedy: without a path, `status` shows every lock.
fn path_to_show(text: &str) -> Result<LockPath> {
    match LockPath::parse(&OsString::from(text)) {
        Err(PathError::Root) => bail!("leave the path out: 'zklock status' shows every lock"),
        path => Ok(path?),
    }
}

/// A node, by its name or its whole path.
fn node(text: &str) -> Result<String> {
    if text.is_empty() || text.ends_with('/') {
        bail!("not the name of a node; 'zklock status' shows them");
    }
    Ok(text.to_owned())
}
