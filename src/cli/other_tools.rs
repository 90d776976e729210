//! Subcommands and options of other lock programs, such as flock(1), and what to write instead.

use super::definition::subcommand_with;

const RELEASE: &str =
    "a lock is released when its command ends; 'zklock revoke PATH' asks its holder to stop";

/// The remedy for a subcommand that only other lock programs have.
pub(super) fn subcommand(word: &str) -> Option<&'static str> {
    Some(match word {
        "version" => "write zklock --version",
        "list" | "ls" => "zklock status lists all locks",
        "run" | "lock" | "exec" => "none is needed; write zklock PATH -- COMMAND",
        "unlock" | "release" => RELEASE,
        _ => return None,
    })
}

/// The remedy for an option that only another program, or one of zklock's subcommands, has.
pub(super) fn option(subcommand: Option<&str>, name: &str) -> Option<String> {
    let known = match (subcommand, name) {
        (_, "--host" | "--hosts" | "--server" | "--servers" | "--connect" | "--zk") => {
            Some("write -z HOST:PORT,... (--zookeeper)")
        }
        (Some("status"), "--all" | "-a") => Some("leave it out: without a PATH, status shows all locks"),
        (None, "--name") => Some("the PATH names the lock, and --label the contender"),
        (None, name) => of_flock(name),
        _ => None,
    };
    let of_a_subcommand = || subcommand_with(name).filter(|_| subcommand.is_none());
    known.map(str::to_owned).or_else(of_a_subcommand)
}

fn of_flock(name: &str) -> Option<&'static str> {
    Some(match name {
        // For flock, -e and -x are the same.
        "-e" => "write -x, or leave it out: an exclusive lock is the default",
        "-u" | "--unlock" => RELEASE,
        "-o" | "--close" => "leave it out: the command inherits nothing that holds the lock",
        "-F" | "--no-fork" => "leave it out: zklock stays beside the command to keep the lock",
        _ => return None,
    })
}
