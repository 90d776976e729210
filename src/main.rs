//! zklock: run a command while holding a lock in Apache ZooKeeper.
#![no_main]

use std::ffi::OsString;

use zklock::cli;
use zklock::cli::{LogFormat, Options, StartError};
use zklock::output;
use zklock::output::stdout;
use zklock::process::end::end;
use zklock::process::limits;
use zklock::process::sys;
use zklock::process::system_error::explain;
use zklock::run;
use zklock::subcommands;
use zklock_core::exit::{self, Exit};
use zklock_core::text::escaped_lines;

zklock::start!(run_zklock);

fn run_zklock() {
    let words = sys::arguments();
    sys::fail_on_abort();
    sys::tune_the_allocator();
    // First, so that an unknown name ends zklock before it does anything.
    #[cfg(planted)]
    zklock_core::planted::plant(zklock::process::planted::named());
    if let Some(line) = cli::completion_request(words) {
        end(subcommands::complete(&line).unwrap_or(Exit::Code(exit::FAILURE)));
    }
    if let Err(error) = limits::check_stack() {
        end(complain(&error));
    }
    let (options, settings) = match cli::parse(words) {
        Ok(parsed) => parsed,
        Err(error) => end(report(&error)),
    };
    let is_json = options.ensemble.log_format == LogFormat::Json;
    output::init(options.ensemble.verbose, options.ensemble.quiet, is_json);
    options.ensemble.unreachable_files.iter().for_each(|file| log::debug!("{file}"));
    let done = match &options.subcommand {
        Some(subcommand) => {
            output::queue_output();
            subcommands::run(subcommand, &options, &settings)
        }
        None => run_command(&options, words),
    };
    let exit = done.unwrap_or_else(|error| {
        output::queue_output();
        log::error!("{}", explain(&error));
        Exit::Code(exit::FAILURE)
    });
    output::drain_at_the_end();
    end(exit);
}

fn run_command(options: &Options, words: &[OsString]) -> anyhow::Result<Exit> {
    let job = options.job()?;
    cli::refuse_own_script(words, &job.invocation)?;
    let around = run::surroundings(options.ensemble.log_format == LogFormat::Text);
    run::run(options.plan(&job.invocation, around), &job, &options.connection())
}

/// Reports why zklock doesn't start: help goes to stdout, and a mistake to stderr.
fn report(error: &StartError) -> Exit {
    let printed = match error {
        StartError::Help(help) => stdout::print_by(|| help.print()),
        StartError::ShortHelp(text) | StartError::Version(text) => stdout::print(text.as_bytes()),
        mistake => Err(anyhow::anyhow!("{mistake}")),
    };
    printed.unwrap_or_else(|error| complain(&error))
}

fn complain(error: &anyhow::Error) -> Exit {
    output::refusal(&escaped_lines(&explain(error)));
    Exit::Code(exit::FAILURE)
}
