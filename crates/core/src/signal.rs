//! Signals by their numbers on this platform, their names, and their meaning for zklock.

pub use libc::{
    SIGABRT, SIGALRM, SIGBUS, SIGCHLD, SIGCONT, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGIO, SIGKILL, SIGPIPE,
    SIGPROF, SIGPWR, SIGQUIT, SIGSEGV, SIGSTKFLT, SIGSTOP, SIGSYS, SIGTERM, SIGTRAP, SIGTSTP, SIGTTIN,
    SIGTTOU, SIGURG, SIGUSR1, SIGUSR2, SIGVTALRM, SIGWINCH, SIGXCPU, SIGXFSZ,
};

/// The first real-time signal, as shells and kill(1) count them: the C library keeps the two before it for itself.
pub const RTMIN: i32 = 34;

/// The last real-time signal.
pub const RTMAX: i32 = 64;

/// The signals that have a name of their own.
const NAMED: [(i32, &str); 31] = [
    (SIGHUP, "HUP"),
    (SIGINT, "INT"),
    (SIGQUIT, "QUIT"),
    (SIGILL, "ILL"),
    (SIGTRAP, "TRAP"),
    (SIGABRT, "ABRT"),
    (SIGBUS, "BUS"),
    (SIGFPE, "FPE"),
    (SIGKILL, "KILL"),
    (SIGUSR1, "USR1"),
    (SIGSEGV, "SEGV"),
    (SIGUSR2, "USR2"),
    (SIGPIPE, "PIPE"),
    (SIGALRM, "ALRM"),
    (SIGTERM, "TERM"),
    (SIGSTKFLT, "STKFLT"),
    (SIGCHLD, "CHLD"),
    (SIGCONT, "CONT"),
    (SIGSTOP, "STOP"),
    (SIGTSTP, "TSTP"),
    (SIGTTIN, "TTIN"),
    (SIGTTOU, "TTOU"),
    (SIGURG, "URG"),
    (SIGXCPU, "XCPU"),
    (SIGXFSZ, "XFSZ"),
    (SIGVTALRM, "VTALRM"),
    (SIGPROF, "PROF"),
    (SIGWINCH, "WINCH"),
    (SIGIO, "IO"),
    (SIGPWR, "PWR"),
    (SIGSYS, "SYS"),
];

/// Other names of these signals, as kill(1) knows them.
const ALIASES: [(i32, &str); 3] = [(SIGIO, "POLL"), (SIGABRT, "IOT"), (SIGCHLD, "CLD")];

/// Whether this signal ends zklock while no command runs.
pub fn ends_waiting(signal: i32) -> bool {
    matches!(signal, SIGINT | SIGTERM | SIGHUP | SIGQUIT)
}

/// The usual name of a signal, or its number if it has no name.
pub fn name(signal: i32) -> String {
    match NAMED.iter().find(|&&(number, _)| number == signal) {
        Some((_, name)) => format!("SIG{name}"),
        None if (RTMIN..=RTMAX).contains(&signal) => format!("SIGRTMIN+{}", signal - RTMIN),
        None => format!("signal {signal}"),
    }
}

/// The same without SIG, as in kill(1).
pub fn short_name(signal: i32) -> String {
    name(signal).trim_start_matches("SIG").to_owned()
}

/// The signal with this name, with or without SIG, or this number: `TERM`, `SIGTERM`, `15`, `RTMIN+3`, `RTMAX-2`.
pub fn parse(text: &str) -> Option<i32> {
    if let Some(number) = number(text) {
        let is_known = (RTMIN..=RTMAX).contains(&number) || NAMED.iter().any(|&(named, _)| named == number);
        return Some(number).filter(|_| is_known);
    }
    let upper = text.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    if let Some(&(signal, _)) = NAMED.iter().chain(&ALIASES).find(|&&(_, known)| known == name) {
        return Some(signal);
    }
    let offset =
        |text: &str, sign: char| if text.is_empty() { Some(0) } else { number(text.strip_prefix(sign)?) };
    let real_time = match (name.strip_prefix("RTMIN"), name.strip_prefix("RTMAX")) {
        (Some(rest), _) => RTMIN.checked_add(offset(rest, '+')?)?,
        (_, Some(rest)) => RTMAX.checked_sub(offset(rest, '-')?)?,
        _ => return None,
    };
    Some(real_time).filter(|signal| (RTMIN..=RTMAX).contains(signal))
}

/// A number without a sign.
fn number(text: &str) -> Option<i32> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_has_a_name_that_is_understood() {
        let all: Vec<i32> = (1..=31).chain(RTMIN..=RTMAX).collect();
        for &signal in &all {
            let name = name(signal);
            for text in [&name, &name.to_lowercase(), &name.replace("SIG", ""), &signal.to_string()] {
                assert_eq!(parse(text), Some(signal), "{text}");
            }
        }
        let names = all.iter().map(|&signal| name(signal)).collect::<std::collections::HashSet<_>>();
        assert_eq!(names.len(), all.len());
        assert_eq!([34, 37, 64].map(name), ["SIGRTMIN+0", "SIGRTMIN+3", "SIGRTMIN+30"]);
    }

    #[test]
    fn real_time_signals_are_counted_from_either_end() {
        for (text, signal) in
            [("RTMIN+0", 34), ("rtmin+30", 64), ("SIGRTMAX-30", 34), ("RTMAX-0", 64), ("POLL", SIGIO)]
        {
            assert_eq!(parse(text), Some(signal), "{text}");
        }
        for text in [
            "",
            "SIG",
            "SIGSIGTERM",
            "0",
            "32",
            "33",
            "65",
            "-1",
            "+15",
            "99999999999",
            "RTMIN-1",
            "RTMIN+31",
            "RTMAX+1",
            "RTMAX-31",
            "RTMIN+",
            "RTMIN3",
            "RTMIN++3",
            "RTMIN+-3",
            "RTMIN +3",
            "RT",
            "TERM ",
            "NONSENSE",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
