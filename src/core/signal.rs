//! Signals by their numbers on this platform, and their meaning for zklock.

pub use nix::libc::{
    SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGSTOP, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1,
    SIGUSR2, SIGWINCH,
};

/// Whether this signal ends zklock while no command runs.
pub fn ends_waiting(signal: i32) -> bool {
    matches!(signal, SIGINT | SIGTERM | SIGHUP | SIGQUIT)
}

/// The usual name of a signal, or its number if it has no name here.
pub fn name(signal: i32) -> String {
    let name = match signal {
        SIGALRM => "SIGALRM",
        SIGCONT => "SIGCONT",
        SIGHUP => "SIGHUP",
        SIGINT => "SIGINT",
        SIGKILL => "SIGKILL",
        SIGQUIT => "SIGQUIT",
        SIGSTOP => "SIGSTOP",
        SIGTERM => "SIGTERM",
        SIGTSTP => "SIGTSTP",
        SIGTTIN => "SIGTTIN",
        SIGTTOU => "SIGTTOU",
        SIGUSR1 => "SIGUSR1",
        SIGUSR2 => "SIGUSR2",
        SIGWINCH => "SIGWINCH",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}
