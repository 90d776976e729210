//! The command line of the checker; `scripts/chaos --help` describes it.

use crate::support::Fault;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, ValueEnum};
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

#[derive(Clone, Debug, Parser)]
#[command(name = "chaos", disable_help_flag = true)]
#[allow(clippy::struct_excessive_bools, reason = "the switches of a command line")]
pub(crate) struct Options {
    // The standard library's only source of randomness.
    #[arg(long, default_value_t = RandomState::new().hash_one(0) % 1_000_000)]
    pub(crate) seed: u64,
    #[arg(long = "minutes", default_value = "1", value_parser = minutes)]
    pub(crate) duration: Duration,
    /// Each server and each host is a machine of its own.
    #[arg(long)]
    pub(crate) hosts: bool,
    /// Only these faults.
    #[arg(long = "fault")]
    pub(crate) faults: Vec<Fault>,
    /// Print the names of all faults.
    #[arg(long)]
    pub(crate) list_faults: bool,
    /// Only faults after which a process of a command might escape.
    #[arg(long, conflicts_with_all = ["hosts", "faults"])]
    pub(crate) escape: bool,
    /// Make so many runs in which a system call fails.
    #[arg(long, conflicts_with_all = ["hosts", "escape"])]
    pub(crate) calls: Option<u64>,
}

impl Options {
    /// The arguments that repeat the run.
    pub(crate) fn repeat_arguments(&self) -> String {
        let seed = self.seed;
        let faults: Vec<_> = self.faults.iter().map(|fault| format!(" --fault {fault}")).collect();
        let faults = faults.concat();
        let minutes = self.duration.as_secs_f64() / 60.0;
        let mode = match (self.hosts, self.escape) {
            (true, _) => " --hosts",
            (_, true) => " --escape",
            _ => "",
        };
        format!("{mode} --minutes {minutes} --seed {seed}{faults}")
    }
}

/// Reads the command line. Ends the program if a fault isn't one of these that the run can inject.
pub(crate) fn parse() -> Options {
    let options = Options::parse();
    let weight = |fault: Fault| if options.hosts { fault.row().hosts } else { fault.row().chaos };
    if let Some(fault) = options.faults.iter().find(|&&fault| weight(fault) == 0) {
        let why = format!("{fault} isn't injected here; see --fault list\n");
        Options::command().error(ErrorKind::InvalidValue, why).exit();
    }
    options
}

fn minutes(text: &str) -> Result<Duration, String> {
    let minutes: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    Duration::try_from_secs_f64(minutes * 60.0).map_err(|why| why.to_string())
}

/// Prints the names of all faults, and which program injects them.
pub(crate) fn list_faults() {
    println!("{:<26}{:<33}what happens", "fault", "injected by");
    for &fault in Fault::value_variants() {
        let row = fault.row();
        let by = [("chaos", row.chaos > 0), ("hosts", row.hosts > 0)];
        let by = by.into_iter().chain([("escape", row.escapes), ("simulate", row.simulated > 0)]);
        let by: Vec<_> = by.filter_map(|(name, injects)| injects.then_some(name)).collect();
        let help = fault.to_possible_value().and_then(|value| value.get_help().map(ToString::to_string));
        println!("{fault:<26}{:<33}{}", by.join(", "), help.unwrap_or_default());
    }
}
