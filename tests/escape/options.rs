//! The command line of the checker.

use crate::trial::Fault;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;

/// The options of the checker.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) seed: u64,
    /// The number of runs for each fault.
    pub(crate) runs: usize,
    pub(crate) faults: Vec<Fault>,
    pub(crate) program: PathBuf,
    /// How many sleeping processes there are meanwhile.
    pub(crate) idle: usize,
    /// Whether two processes spin meanwhile.
    pub(crate) load: bool,
    /// How many runs take place at the same time.
    pub(crate) lanes: usize,
    /// The session timeout in seconds.
    pub(crate) session: u32,
    /// After this many runs with violations, a fault is no longer tested.
    pub(crate) give_up: usize,
}

impl Options {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            // The standard library's only source of randomness.
            seed: RandomState::new().hash_one(0) % 1_000_000,
            runs: 20,
            faults: vec![],
            program: env!("CARGO_BIN_EXE_zklock").into(),
            idle: 0,
            load: false,
            lanes: 2,
            session: 2,
            give_up: 10,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--runs" => options.runs = number(&word, &value()?)?,
                "--seed" => options.seed = number(&word, &value()?)?,
                "--idle" => options.idle = number(&word, &value()?)?,
                "--lanes" => options.lanes = number(&word, &value()?)?,
                "--session-timeout" => options.session = number(&word, &value()?)?,
                "--program" => options.program = value()?.into(),
                "--fault" => options.faults.push(fault(&value()?)?),
                "--load" => options.load = true,
                _ => return Err(format!("unknown argument: {word}")),
            }
        }
        if options.faults.is_empty() {
            options.faults = Fault::ALL.to_vec();
        }
        Ok(options)
    }
}

fn number<T: std::str::FromStr>(option: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{option} {text} is not a number"))
}

fn fault(name: &str) -> Result<Fault, String> {
    let names: Vec<_> = Fault::ALL.into_iter().map(Fault::name).collect();
    let found = Fault::ALL.into_iter().find(|fault| fault.name() == name);
    found.ok_or_else(|| format!("--fault {name}: one of {}", names.join(", ")))
}
