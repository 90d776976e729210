//! zklock: run a command while holding a lock in Apache ZooKeeper.

use std::{env, process};

use clap::Parser;
use clap::error::ErrorKind;
use zklock::cli::Options;
use zklock::exit::{self, Exit};
use zklock::{guard, run, ui};

fn main() {
    if env::args_os().next().is_some_and(|name| name == guard::NAME) {
        // Nobody reads what a guard would say; its end says the same.
        process::exit(guard::stand_guard().is_err().into());
    }
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => usage(&error).end(),
    };
    ui::init(options.verbose, options.quiet);
    let exit = run::run(&options).unwrap_or_else(|error| {
        log::error!("{error:#}");
        Exit::Code(exit::FAILURE)
    });
    exit.end()
}

/// Help and version go to stdout and are no failure; anything else is ours, and never the command's code.
fn usage(error: &clap::Error) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            Exit::Code(0)
        }
        _ => {
            ui::usage(error);
            Exit::Code(exit::FAILURE)
        }
    }
}
