//! The command line of the checker; `scripts/chaos --help` describes it.

use crate::support::Fault;
use crate::support::network::SERVERS;
use clap::builder::RangedU64ValueParser;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, ValueEnum};
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
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
    #[arg(long, conflicts_with = "hosts")]
    pub(crate) aim: Option<Aim>,
    /// Each server and each host is a machine of its own.
    #[arg(long)]
    pub(crate) hosts: bool,
    /// How many servers there are then.
    #[arg(long, default_value_t = SERVERS, requires = "hosts", value_parser = RangedU64ValueParser::<usize>::new().range(3..=9))]
    pub(crate) servers: usize,
    /// Only these faults.
    #[arg(long = "fault", conflicts_with = "aim")]
    pub(crate) faults: Vec<Fault>,
    /// Print the names of all faults.
    #[arg(long)]
    pub(crate) list_faults: bool,
    /// Make trials of an escape instead of a run.
    #[arg(long, conflicts_with = "hosts")]
    pub(crate) escape: bool,
    /// Make so many runs in which a system call fails.
    #[arg(long, conflicts_with_all = ["hosts", "escape"])]
    pub(crate) calls: Option<u64>,
    #[command(flatten)]
    pub(crate) trials: Trials,
}

/// The options of trials.
#[derive(Clone, Debug, Args)]
pub(crate) struct Trials {
    /// The number of trials with each fault.
    #[arg(long, default_value_t = 20)]
    pub(crate) runs: usize,
    #[arg(long, default_value = env!("CARGO_BIN_EXE_zklock"))]
    pub(crate) program: PathBuf,
    /// How many sleeping processes there are meanwhile.
    #[arg(long, default_value_t = 0)]
    pub(crate) idle: usize,
    /// Whether two processes spin meanwhile.
    #[arg(long)]
    pub(crate) load: bool,
    /// How many trials take place at the same time.
    #[arg(long, default_value_t = 2)]
    pub(crate) lanes: usize,
    /// The session timeout in seconds.
    #[arg(long = "session-timeout", default_value_t = 2)]
    pub(crate) session: u32,
}

/// The mix of faults that shows one mistake of a lease or a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Aim {
    /// There is no lease: nothing stops a job whose zklock is frozen.
    Off,
    /// The newest confirmation counts, although a write that a follower forwards doesn't touch the session.
    Newest,
    /// `sync` counts, although a deposed leader that doesn't know of it still answers.
    Sync,
    /// A new lease counts from the answer to the connect request.
    Connect,
    /// Commands are started on connections that are too slow to keep a session.
    Doom,
    /// A revoked lock is kept.
    Revoke,
    /// A command lives on although zklock was killed.
    Kill,
}

impl Options {
    /// The arguments that repeat the run.
    pub(crate) fn repeat_arguments(&self) -> String {
        let seed = self.seed;
        let faults: Vec<_> = self.faults.iter().map(|fault| format!(" --fault {fault}")).collect();
        let faults = faults.concat();
        if self.escape {
            return format!(" --escape --runs {} --seed {seed}{faults}", self.trials.runs);
        }
        let minutes = self.duration.as_secs_f64() / 60.0;
        let aim = self.aim.map(|aim| format!(" --aim {aim:?}").to_lowercase()).unwrap_or_default();
        let course = if self.hosts { format!(" --hosts --servers {}", self.servers) } else { String::new() };
        format!("{course} --minutes {minutes} --seed {seed}{aim}{faults}")
    }
}

/// Reads the command line. Ends the program if a fault isn't one of these that the run or the trials can inject.
pub(crate) fn parse() -> Options {
    let mut options = Options::parse();
    let weight = |fault: Fault| {
        let row = fault.row();
        match (options.escape, options.hosts) {
            (true, _) => usize::from(row.escapes),
            (_, true) => row.hosts,
            _ => row.chaos,
        }
    };
    if let Some(fault) = options.faults.iter().find(|&&fault| weight(fault) == 0) {
        let why = format!("{fault} isn't injected here; see --fault list\n");
        Options::command().error(ErrorKind::InvalidValue, why).exit();
    }
    if options.escape && options.faults.is_empty() {
        let all = Fault::weighted(|row| usize::from(row.escapes));
        options.faults.extend(all.into_iter().map(|(_, fault)| fault));
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
