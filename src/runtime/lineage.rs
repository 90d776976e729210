//! Which process this zklock is, and which zklocks started it.

use std::fs;

use crate::core::lock::record::Process;

/// The name of a process that may hold a lock.
const NAME: &str = "zklock";

/// More than this no chain of processes is followed.
const MOST: usize = 64;

/// What `/proc/PID/stat` says of a process.
struct Stat {
    name: String,
    parent: u32,
    started: u64,
}

/// Tells the process with this number from every other one. `None` where `/proc` doesn't say.
pub fn process(pid: u32) -> Option<Process> {
    identified(stat(pid)?.started)
}

/// The zklocks among the ancestors of this process: the number of each, and which process it is.
pub fn zklocks_above(pid: u32) -> Vec<(u32, Process)> {
    let mut above = vec![];
    let mut next = stat(pid).map(|stat| stat.parent);
    for _ in 0..MOST {
        let Some((pid, found)) = next.filter(|&pid| pid > 0).and_then(|pid| Some((pid, stat(pid)?))) else {
            break;
        };
        next = Some(found.parent);
        if found.name == NAME {
            above.extend(identified(found.started).map(|process| (pid, process)));
        }
    }
    above
}

fn identified(started: u64) -> Option<Process> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?.to_string_lossy().into_owned();
    Some(Process { boot, namespace, started })
}

fn stat(pid: u32) -> Option<Stat> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// See proc(5): the name stands in brackets, and may hold some itself; field 4 is the parent, field 22 the start.
fn parse(text: &str) -> Option<Stat> {
    let (before, after) = text.rsplit_once(") ")?;
    let (_, name) = before.split_once('(')?;
    let fields: Vec<&str> = after.split(' ').collect();
    let number = |field: usize| fields.get(field - 3).and_then(|text| text.trim().parse::<u64>().ok());
    Some(Stat { name: name.to_owned(), parent: u32::try_from(number(4)?).ok()?, started: number(22)? })
}

#[cfg(test)]
mod tests {
    use std::process::id;

    use super::*;

    #[test]
    fn a_name_with_brackets_hides_no_field() {
        let fields: Vec<String> = (4..=30).map(|field| field.to_string()).collect();
        let stat = parse(&format!("12 (a) (b) R {}", fields.join(" "))).unwrap();
        assert_eq!((stat.name.as_str(), stat.parent, stat.started), ("a) (b", 4, 22));
        assert!(parse("12 (a) R 1").is_none());
    }

    #[test]
    fn this_process_is_told_from_its_parent() {
        let parent = stat(id()).unwrap().parent;
        let (own, other) = (process(id()).unwrap(), process(parent));
        assert_ne!(Some(&own), other.as_ref());
        assert_eq!(process(id()), Some(own));
        assert_eq!(process(u32::MAX), None);
    }
}
