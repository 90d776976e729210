//! The command-line options of the simulation.

use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) seed: u64,
    pub(crate) time: Option<Duration>,
    pub(crate) most_seeds: Option<u64>,
    pub(crate) most_commands: Option<u64>,
    pub(crate) prints: bool,
    pub(crate) lists: bool,
    #[cfg(planted)]
    pub(crate) mistake: Option<zklock::core::planted::Mistake>,
    /// Plant each mistake in turn.
    #[cfg(planted)]
    pub(crate) plants_all: bool,
}

impl Options {
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Self {
        let mut options = Self {
            seed: 1,
            time: None,
            most_seeds: None,
            most_commands: None,
            prints: false,
            lists: false,
            #[cfg(planted)]
            mistake: None,
            #[cfg(planted)]
            plants_all: false,
        };
        let mut words = words;
        let number = |word: Option<String>| word.and_then(|word| word.parse().ok()).expect("a number");
        while let Some(word) = words.next() {
            match word.as_str() {
                "--seed" => {
                    options.seed = number(words.next());
                    options.most_seeds.get_or_insert(1);
                }
                "--seeds" => options.most_seeds = Some(number(words.next())),
                "--seconds" => options.time = Some(Duration::from_secs(number(words.next()))),
                "--minutes" => options.time = Some(Duration::from_mins(number(words.next()))),
                "--commands" => options.most_commands = Some(number(words.next())),
                "--from" => options.seed = number(words.next()),
                "--tell" => options.prints = true,
                "--list" => options.lists = true,
                #[cfg(planted)]
                "--planted" => {
                    let name = words.next().expect("a mistake");
                    if name == "all" {
                        options.plants_all = true;
                        options.most_commands.get_or_insert(10_000);
                        continue;
                    }
                    options.mistake = clap::ValueEnum::from_str(&name, false).ok();
                    assert!(options.mistake.is_some(), "{name}: no such mistake");
                }
                word => {
                    println!("{word}: see scripts/simulate --help");
                    std::process::exit(2);
                }
            }
        }
        options
    }

    pub(crate) fn goes_on(&self, passed: Duration, seeds: u64, commands: u64) -> bool {
        let limits = [self.most_seeds.is_some(), self.most_commands.is_some(), self.time.is_some()];
        if !limits.contains(&true) {
            return passed < Duration::from_secs(10);
        }
        self.most_seeds.is_none_or(|most| seeds < most)
            && self.most_commands.is_none_or(|most| commands < most)
            && self.time.is_none_or(|time| passed < time)
    }
}
