use clap::ValueEnum;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;
use zklock::core::planted::Mistake;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) seed: u64,
    pub(crate) duration: Duration,
    pub(crate) aim: Option<Aim>,
    /// The lock under test is broken on purpose: the run succeeds if the checker notices.
    pub(crate) expect_violation: bool,
}

/// The mix of faults that shows one mistake of a lease or a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    /// There is no lease: nothing stops a job whose zklock is frozen.
    Off,
    /// The newest confirmation counts, although a write that a follower forwards doesn't touch the session.
    Newest,
    /// `sync` counts, although a deposed leader that doesn't know of it still answers.
    Sync,
    /// A new lease counts from the answer to the connect request.
    Connect,
    /// Commands are started on lines that are too slow to keep a session.
    Doom,
    /// A revoked lock is kept.
    Revoke,
    /// A command lives on although zklock was killed.
    Kill,
}

impl Options {
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        // The standard library's only source of randomness.
        let seed = RandomState::new().hash_one(0) % 1_000_000;
        let mut options = Self { seed, duration: Duration::from_mins(1), aim: None, expect_violation: false };
        while let Some(word) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--minutes" => options.duration = minutes(&value()?)?,
                "--seed" => {
                    let seed = value()?;
                    options.seed = seed.parse().map_err(|_| format!("--seed {seed} is not a number"))?;
                }
                "--aim" => options.aim = Some(aim(&value()?)?),
                "--broken" => broken(&value()?)?,
                "--expect-violation" => options.expect_violation = true,
                _ => return Err(format!("unknown argument: {word}")),
            }
        }
        Ok(options)
    }
}

impl Options {
    /// The arguments that repeat the run.
    pub(crate) fn repeat_arguments(&self) -> String {
        let minutes = self.duration.as_secs_f64() / 60.0;
        let aim = self.aim.map(|aim| format!(" --aim {aim:?}").to_lowercase()).unwrap_or_default();
        format!(" --minutes {minutes} --seed {}{aim}", self.seed)
    }
}

fn minutes(text: &str) -> Result<Duration, String> {
    let minutes: f64 = text.parse().map_err(|_| format!("--minutes {text} is not a number"))?;
    Duration::try_from_secs_f64(minutes * 60.0).map_err(|why| format!("--minutes {text}: {why}"))
}

/// Checks the name of a mistake; `list` prints all and exits.
fn broken(name: &str) -> Result<(), String> {
    if name != "list" {
        let known = Mistake::from_str(name, false).map(drop);
        return known.map_err(|_| format!("--broken {name}: see --broken list"));
    }
    for mistake in Mistake::value_variants().iter().filter_map(Mistake::to_possible_value) {
        let says = mistake.get_help().map(ToString::to_string).unwrap_or_default();
        println!("{:<22}{says}", mistake.get_name());
    }
    std::process::exit(0)
}

fn aim(text: &str) -> Result<Aim, String> {
    match text {
        "off" => Ok(Aim::Off),
        "newest" => Ok(Aim::Newest),
        "sync" => Ok(Aim::Sync),
        "connect" => Ok(Aim::Connect),
        "doom" => Ok(Aim::Doom),
        "revoke" => Ok(Aim::Revoke),
        "kill" => Ok(Aim::Kill),
        _ => Err(format!("--aim {text}: off, newest, sync, connect, doom, revoke or kill")),
    }
}
