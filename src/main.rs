//! zklock: run a command while holding a lock in Apache ZooKeeper.

use std::{env, process};

use zklock::exit::{self, Exit};
use zklock::{admin, cli, guard, run, sys, ui};

fn main() {
    let words: Vec<_> = env::args_os().collect();
    if words.first().is_some_and(|name| name == guard::NAME) {
        // Nobody reads what a guard would say; its end says the same.
        process::exit(guard::stand_guard().is_err().into());
    }
    sys::fail_on_abort();
    sys::share_one_heap();
    let (options, settings) = match cli::parse(&words) {
        Ok(parsed) => parsed,
        Err(refused) => ui::refused(&refused).end(),
    };
    ui::init(options.ensemble.verbose, options.ensemble.quiet);
    let done = match &options.verb {
        Some(verb) => admin::run(verb, &options, &settings),
        None => run::run(&options),
    };
    let exit = done.unwrap_or_else(|error| {
        log::error!("{error:#}");
        Exit::Code(exit::FAILURE)
    });
    exit.end()
}
