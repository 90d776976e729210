//! zklock: run a command while holding a lock in Apache ZooKeeper.

use std::env;
use std::ffi::OsString;
use std::panic;

use nix::unistd::getpid;
use zklock::cli;
use zklock::cli::Options;
use zklock::job::spawn::Launch;
use zklock::nested;
use zklock::output;
use zklock::output::stdout;
use zklock::process::end::end;
use zklock::process::priority;
use zklock::process::proc_stat;
use zklock::process::sys;
use zklock::process::system_error::explain;
use zklock::run;
use zklock::subcommands;
use zklock_core::exit::{self, Exit};
use zklock_core::message::Message;
use zklock_core::text::escaped_lines;

fn main() {
    end(panic::catch_unwind(run_zklock).unwrap_or(Exit::Code(exit::FAILURE)));
}

fn run_zklock() -> Exit {
    let words: Vec<OsString> = env::args_os().collect();
    // Rust's handlers for a stack overflow would ignore the first SEGV or BUS that another process sends.
    sys::drop_handlers();
    sys::ignore_signals_of_writes();
    if subcommands::complete() {
        return Exit::Code(0);
    }
    let options = match cli::parse(&words) {
        Ok(options) => options,
        Err(error) => return report(error),
    };
    output::init(options.verbose, options.quiet, options.is_json);
    options.unreachable_files.iter().for_each(|file| log::debug!("{file}"));
    let done = match &options.subcommand {
        Some(subcommand) => {
            output::queue_output();
            subcommands::run(subcommand, &options)
        }
        None => run_command(&options),
    };
    let exit = done.unwrap_or_else(|error| {
        output::queue_output();
        log::error!("{}", explain(&error));
        Exit::Code(exit::FAILURE)
    });
    output::drain(output::AT_THE_END);
    exit
}

fn run_command(options: &Options) -> anyhow::Result<Exit> {
    let invocation = options.lock.invocation()?;
    if let Err(error) = Launch::find(&invocation.program) {
        output::queue_output();
        let message = Message::error("not_started", error.to_string());
        output::say(invocation.first_lock(), None, &message);
        return Ok(Exit::Code(error.code()));
    }
    let stat = proc_stat::of(getpid());
    let nice = stat.as_ref().map(priority::keep_nice_for_command).transpose()?.flatten();
    // The group is zero in a PID namespace that doesn't have its leader: no process here can join it.
    let has_terminal = stat.is_some_and(|stat| stat.foreground.is_some() && stat.group != 0);
    let mut plan = options.plan(&invocation, run::surroundings(has_terminal, !options.is_json));
    match nested::enter(&mut plan, &invocation, options, nice)? {
        Some(exit) => Ok(exit),
        None => run::run(plan, &invocation, &options.connection, nice),
    }
}

/// Reports why zklock doesn't start: help goes to stdout, and a mistake to stderr.
fn report(error: anyhow::Error) -> Exit {
    let printed = error.downcast().and_then(|help: clap::Error| stdout::print_by(|| help.print()));
    printed.unwrap_or_else(|error| {
        output::refusal(&escaped_lines(&explain(&error)));
        Exit::Code(exit::FAILURE)
    })
}
