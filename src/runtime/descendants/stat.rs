//! One process as `/proc/PID/stat` tells of it.

/// A process.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Process {
    /// Its number.
    pub(super) pid: i32,
    /// Its name: at most 15 bytes of the program's.
    pub(super) name: String,
    /// Its parent's number.
    pub(super) parent: i32,
    /// Whether its first thread has ended or is about to.
    pub(super) is_ending: bool,
}

/// What the kernel notes of a thread that has begun to end (`PF_EXITING`): from then on no orphan is given to it.
const EXITING: u64 = 4;

/// Understands `pid (name) state parent …`; the name may hold anything, closing brackets too.
pub(super) fn parse(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let is_dead = matches!(fields.next()?, "Z" | "X" | "x");
    let parent = fields.next()?.parse().ok()?;
    // Behind group, session, terminal and the terminal's foreground.
    let flags: u64 = fields.nth(4)?.parse().ok()?;
    let is_ending = is_dead || flags & EXITING != 0;
    Some(Process { pid: pid.parse().ok()?, name: name.to_owned(), parent, is_ending })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let process =
            |name: &str, is_ending| Process { pid: 12, name: name.to_owned(), parent: 3, is_ending };
        assert_eq!(parse("12 (a) b) S 3 4 5 6 7 4194560 0"), Some(process("a) b", false)));
        assert_eq!(parse("12 (sh) Z 3 4 5 6 7 4194560 0"), Some(process("sh", true)));
        assert_eq!(parse("12 (sh) R 3 4 5 6 7 4194564 0"), Some(process("sh", true)));
        assert_eq!(parse("nonsense"), None);
    }
}
