//! zklock: run a command while holding a lock in Apache ZooKeeper.
#![no_main]

use zklock::core::exit::{self, Exit};
use zklock::runtime::end::end;
use zklock::runtime::{run, sys, ui};
use zklock::{admin, cli};

zklock::start!(run_zklock);

fn run_zklock() {
    let words = sys::arguments();
    sys::fail_on_abort();
    sys::tune_the_allocator();
    // First, so that an unknown name ends zklock before it does anything.
    #[cfg(planted)]
    zklock::core::planted::plant(zklock::runtime::planted::named());
    if let Some(line) = cli::completion_request(words) {
        end(admin::complete(&line).unwrap_or(Exit::Code(exit::FAILURE)));
    }
    let (options, settings) = match cli::parse(words) {
        Ok(parsed) => parsed,
        Err(error) => end(ui::report_start_error(&error)),
    };
    ui::init(options.ensemble.verbose, options.ensemble.quiet, options.ensemble.log_format);
    let done = match &options.verb {
        Some(verb) => admin::run(verb, &options, &settings),
        None => run::run(&options),
    };
    let exit = done.unwrap_or_else(|error| {
        log::error!("{error:#}");
        Exit::Code(exit::FAILURE)
    });
    ui::drain_at_the_end();
    end(exit);
}
