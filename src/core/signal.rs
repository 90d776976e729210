//! Signals by their numbers on this platform, and what they ask of zklock.

pub use nix::libc::{
    SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGSTOP, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1,
    SIGUSR2, SIGWINCH,
};

/// Whether this signal asks zklock to end while no command runs.
pub fn ends_waiting(signal: i32) -> bool {
    matches!(signal, SIGINT | SIGTERM | SIGHUP | SIGQUIT)
}

/// The name of a signal as people write it; its number if it has none here.
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
