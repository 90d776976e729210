//! Subcommands whose options clap defines when they are used.

use std::ops::{Deref, DerefMut};

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

use super::definition::with_shared_options;

/// The options of a subcommand, its own and the shared ones, which clap defines when the subcommand is used or by
/// `Command::build`: they would be most of what each start defines, and most lines have no subcommand.
#[derive(Debug, Clone)]
pub struct Deferred<A>(A);

impl<A: Args> Args for Deferred<A> {
    fn augment_args(subcommand: Command) -> Command {
        subcommand.defer(define::<A>)
    }

    fn augment_args_for_update(subcommand: Command) -> Command {
        Self::augment_args(subcommand)
    }
}

fn define<A: Args>(subcommand: Command) -> Command {
    // The one line about the subcommand is known. What is said of the type of its options is for those who read the code.
    let about = subcommand.get_about().cloned().unwrap_or_default();
    with_shared_options(A::augment_args(subcommand).about(about))
}

impl<A: FromArgMatches> FromArgMatches for Deferred<A> {
    fn from_arg_matches(line: &ArgMatches) -> Result<Self, Error> {
        A::from_arg_matches(line).map(Self)
    }

    fn from_arg_matches_mut(line: &mut ArgMatches) -> Result<Self, Error> {
        A::from_arg_matches_mut(line).map(Self)
    }

    fn update_from_arg_matches(&mut self, line: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(line)
    }
}

impl<A> Deref for Deferred<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.0
    }
}

impl<A> DerefMut for Deferred<A> {
    fn deref_mut(&mut self) -> &mut A {
        &mut self.0
    }
}
