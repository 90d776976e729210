//! Every process that comes from the job, also those that left its group.
//!
//! zklock is a child subreaper: whoever loses its parent becomes its child. So the tree below zklock is the
//! whole job, but for the guard.

use std::collections::HashMap;
use std::fs;
use std::process;

use nix::unistd::Pid;

/// The live descendants of this process, zombies left out; the `spared` and whatever comes from them are left
/// out too. `None` if the kernel doesn't tell.
pub fn of_this_process(spared: &[Pid]) -> Option<Vec<Pid>> {
    let all = all()?;
    let mut children: HashMap<i32, Vec<&Process>> = HashMap::new();
    for process in &all {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut next = vec![own_pid()];
    while let Some(parent) = next.pop() {
        for child in children.get(&parent).into_iter().flatten() {
            let pid = Pid::from_raw(child.pid);
            if !spared.contains(&pid) {
                next.push(child.pid);
                if !child.dead {
                    found.push(pid);
                }
            }
        }
    }
    Some(found)
}

/// The children of this process. Only for its first thread, and before it has others: a shell that becomes
/// zklock by `exec` leaves it some, and what was there before the job isn't the job's.
pub fn children_at_start() -> Vec<Pid> {
    let own = own_pid();
    // One short file where the kernel has it; else all of /proc, which takes its time on a large machine.
    if let Ok(children) = fs::read_to_string(format!("/proc/self/task/{own}/children")) {
        return children
            .split_ascii_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .map(Pid::from_raw)
            .collect();
    }
    let all = all().unwrap_or_default();
    all.iter().filter(|process| process.parent == own).map(|process| Pid::from_raw(process.pid)).collect()
}

/// Every process that `/proc` shows. `None` if it can't be read: that nobody was seen proves nothing then.
pub fn all() -> Option<Vec<Process>> {
    let entries = fs::read_dir("/proc").ok()?;
    let processes = entries.flatten().filter_map(|entry| {
        entry.file_name().to_str()?.parse::<i32>().ok()?;
        parse(&fs::read_to_string(entry.path().join("stat")).ok()?)
    });
    let processes: Vec<Process> = processes.collect();
    processes.iter().any(|process| process.pid == own_pid()).then_some(processes)
}

fn own_pid() -> i32 {
    i32::try_from(process::id()).unwrap_or_default()
}

/// A process as `/proc` tells of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Its parent's.
    pub parent: i32,
    /// Its process group's.
    pub group: i32,
    /// Whether it only waits to be reaped.
    pub dead: bool,
}

/// Understands `pid (name) state parent group …`; the name may hold anything, closing brackets too.
pub fn parse(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(" (")?;
    let (_, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let zombie = matches!(fields.next()?, "Z" | "X" | "x");
    let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    // A process whose first thread has ended looks like a zombie while others of its threads still work.
    let threads = fields.nth(14).and_then(|threads| threads.parse().ok()).unwrap_or(1);
    Some(Process { pid: pid.parse().ok()?, parent, group, dead: zombie && threads <= 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        assert_eq!(parse("12 (a) b) S 3 4 5"), Some(Process { pid: 12, parent: 3, group: 4, dead: false }));
        assert_eq!(parse("12 (sh) Z 3 4 5"), Some(Process { pid: 12, parent: 3, group: 4, dead: true }));
        let stat = |threads| format!("1 (sh) Z 3 4 {}{threads} 0", "0 ".repeat(14));
        assert!(parse(&stat(1)).is_some_and(|process| process.dead));
        assert!(parse(&stat(2)).is_some_and(|process| !process.dead));
        assert_eq!(parse("nonsense"), None);
    }

    #[test]
    fn a_child_is_found_and_a_spared_one_is_not() -> std::io::Result<()> {
        let mut child = process::Command::new("sleep").arg("60").spawn()?;
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default());
        let seen = |spared: &[Pid]| of_this_process(spared).is_some_and(|all| all.contains(&pid));
        assert!(seen(&[]));
        assert!(!seen(&[pid]));
        child.kill()?;
        child.wait()?;
        assert!(!seen(&[]));
        Ok(())
    }
}
