//! Every process that comes from the job, also those that left its group.
//!
//! zklock is a child subreaper: whoever loses its parent becomes its child. So the tree below zklock is the
//! whole job, but for the guard.

use std::collections::HashMap;
use std::fs;
use std::process;

use nix::unistd::Pid;

/// The live descendants of this process; `spared` and whatever comes from it is left out, and so are zombies.
pub fn of_this_process(spared: Pid) -> Vec<Pid> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    let mut zombies = Vec::new();
    for stat in fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        entry.file_name().to_str()?.parse::<i32>().ok()?;
        fs::read_to_string(entry.path().join("stat")).ok()
    }) {
        if let Some(process) = parse(&stat) {
            children.entry(process.parent).or_default().push(process.pid);
            if process.dead {
                zombies.push(process.pid);
            }
        }
    }
    let mut found = Vec::new();
    let mut next = vec![i32::try_from(process::id()).unwrap_or_default()];
    while let Some(pid) = next.pop() {
        for &child in children.get(&pid).into_iter().flatten() {
            if spared.as_raw() != child {
                next.push(child);
                if !zombies.contains(&child) {
                    found.push(Pid::from_raw(child));
                }
            }
        }
    }
    found
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
    let dead = matches!(fields.next()?, "Z" | "X" | "x");
    let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Process { pid: pid.parse().ok()?, parent, group, dead })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        assert_eq!(parse("12 (a) b) S 3 4 5"), Some(Process { pid: 12, parent: 3, group: 4, dead: false }));
        assert_eq!(parse("12 (sh) Z 3 4 5"), Some(Process { pid: 12, parent: 3, group: 4, dead: true }));
        assert_eq!(parse("nonsense"), None);
    }

    #[test]
    fn a_child_is_found_and_a_spared_one_is_not() -> std::io::Result<()> {
        let mut child = process::Command::new("sleep").arg("60").spawn()?;
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default());
        let nobody = Pid::from_raw(0);
        assert!(of_this_process(nobody).contains(&pid));
        assert!(!of_this_process(pid).contains(&pid));
        child.kill()?;
        child.wait()?;
        assert!(!of_this_process(nobody).contains(&pid));
        Ok(())
    }
}
