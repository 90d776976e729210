//! The options that every subcommand has, for the connection and for messages.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};
use zklock_core::hosts::Hosts;

use super::security::SecurityOptions;
use super::values;
use crate::plan::AuthLines;

/// The options that a command and every subcommand have. The `-h` of a subcommand leaves them out.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Connection")]
pub struct Ensemble {
    /// ZooKeeper servers: HOST:PORT,...[/CHROOT]
    #[arg(
        short,
        long,
        value_name = "HOSTS",
        default_value = "localhost:2181",
        value_parser = values::checked(Hosts::parse),
        long_help = "ZooKeeper servers: HOST:PORT,...[/CHROOT]\n\nThe variable ZKLOCK_ZOOKEEPER can name them instead."
    )]
    pub zookeeper: Hosts,

    /// Give up if no server can be reached in this time
    ///
    /// With -w, that time counts instead.
    #[arg(long, value_name = "SECS", hide_short_help = true, default_value = "10s", value_parser = values::checked(values::positive_time))]
    pub connect_timeout: Duration,

    /// Read the settings from this file
    #[arg(
        long,
        value_name = "FILE",
        hide_short_help = true,
        long_help = "Read the settings from this file\n\n\
                     It is TOML, and replaces /etc/zklock.toml and ~/.config/zklock/config.toml. The variable \
                     ZKLOCK_CONFIG can name it instead."
    )]
    pub config: Option<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs, reason = "a comment here would become the whole program's help")]
    pub security: SecurityOptions,

    /// Credentials from the environment or a configuration file. There is no option for them.
    #[arg(skip)]
    pub auth: Vec<AuthLines>,

    /// The default configuration files that zklock can't get to, and why.
    #[arg(skip)]
    pub unreachable_files: Vec<String>,

    /// Write messages as text, or as json: one object a line
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        hide_possible_values = true,
        help_heading = "Output",
        hide_short_help = true
    )]
    pub log_format: LogFormat,

    /// Say each step; twice or more for debugging
    #[arg(short, long, action = ArgAction::Count, value_parser = values::checked(values::verbosity), help_heading = "Output")]
    pub verbose: u8,

    /// Say nothing but errors
    #[arg(short, long, overrides_with = "verbose", help_heading = "Output")]
    pub quiet: bool,
}

/// How messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    #[doc = "For people."]
    #[value(help = None)]
    Text,
    #[doc = "For programs."]
    #[value(help = None)]
    Json,
}
