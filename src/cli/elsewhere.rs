//! Words and options that other lock programs have, and what to write instead.

/// What to write instead of a verb that zklock doesn't have.
pub(super) fn verb(word: &str) -> Option<&'static str> {
    Some(match word {
        "help" => "for help write zklock --help",
        "list" | "ls" => "zklock status lists all locks",
        "run" | "lock" | "exec" => "none is needed; write zklock PATH -- COMMAND",
        "unlock" | "release" => {
            "a lock is released when its command ends; 'zklock revoke PATH' asks its holder to stop"
        }
        _ => return None,
    })
}

/// What to do without an option that flock(1) has and zklock doesn't.
pub fn option(name: &str) -> Option<&'static str> {
    Some(match name {
        "-e" => "write -x, or leave it out: an exclusive lock is the default",
        "-u" | "--unlock" => {
            "a lock is released when its command ends; 'zklock revoke PATH' asks its holder to stop"
        }
        "-o" | "--close" => "leave it out: the command inherits nothing that holds the lock",
        "-F" | "--no-fork" => "leave it out: zklock stays beside the command to keep the lock",
        _ => return None,
    })
}
