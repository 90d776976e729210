//! The command line of the simulation; `scripts/simulate --help` describes it.

#[derive(Debug, clap::Parser)]
#[command(name = "scripts/simulate", disable_help_flag = true)]
pub(crate) struct Options {
    /// How many commands are run at least.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) commands: u64,
    /// The first scenario.
    #[arg(long, default_value_t = 1)]
    pub(crate) from: u64,
    /// The only scenario. Each step is printed.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Try every schedule instead of drawn scenarios.
    #[arg(long = "explore")]
    pub(crate) explores: bool,
    /// Explore only scenes whose names contain this.
    #[arg(long, default_value = "")]
    pub(crate) scene: String,
    /// `cargo test -- --list` runs every test program with this option.
    #[arg(long = "list")]
    pub(crate) lists: bool,
}
