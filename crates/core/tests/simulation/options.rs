//! The command line of the simulation; `scripts/simulate --help` describes it.

use std::time::Duration;

#[derive(Debug, clap::Parser)]
#[command(name = "scripts/simulate", disable_help_flag = true)]
pub(crate) struct Options {
    /// The only scenario.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// The first scenario.
    #[arg(long, default_value_t = 1)]
    from: u64,
    #[arg(long)]
    seeds: Option<u64>,
    #[arg(long)]
    commands: Option<u64>,
    #[arg(long)]
    seconds: Option<u64>,
    #[arg(long)]
    minutes: Option<u64>,
    #[arg(long = "tell")]
    pub(crate) prints: bool,
    /// `cargo test -- --list` runs every test program with this option.
    #[arg(long = "list")]
    pub(crate) lists: bool,

    /// Try every schedule instead of drawn scenarios.
    #[arg(long = "explore")]
    pub(crate) explores: bool,
    #[arg(long = "whole")]
    pub(crate) is_whole: bool,
    /// Explore only scenes whose names contain this.
    #[arg(long, default_value = "")]
    pub(crate) scene: String,
}

impl Options {
    pub(crate) fn first_seed(&self) -> u64 {
        self.seed.unwrap_or(self.from)
    }

    /// Whether the search continues after this time and number of scenarios and commands.
    pub(crate) fn goes_on(&self, passed: Duration, seeds: u64, commands: u64) -> bool {
        let most_seeds = self.seeds.or(self.seed.map(|_| 1));
        let most_commands = self.commands;
        let time = self.minutes.map(Duration::from_mins).or(self.seconds.map(Duration::from_secs));
        if most_seeds.is_none() && most_commands.is_none() && time.is_none() {
            return passed < Duration::from_secs(10);
        }
        most_seeds.is_none_or(|most| seeds < most)
            && most_commands.is_none_or(|most| commands < most)
            && time.is_none_or(|time| passed < time)
    }
}
