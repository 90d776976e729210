//! The descendants of this process.
//!
//! Each process of zklock is a child subreaper: a process that loses its parent becomes a child of the nearest zklock
//! process above it. The tree below the worker is therefore the whole command, and the tree below the monitor also
//! includes the worker.

mod sweep;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use anyhow::{Context, Result};
use nix::unistd::{Pid, getpid};

pub use self::sweep::{Left, Sweep, end_all};
use crate::link;
use crate::process::proc_file;
use crate::process::proc_stat;

/// The children of this process, in a file that is opened in advance, so that ending processes can't fail for lack of a
/// file descriptor.
#[derive(Debug)]
pub struct Children(File);

impl Children {
    /// The children of the calling process for as long as it lives; after a fork, the child needs its own.
    ///
    /// # Errors
    /// If the kernel doesn't list them.
    pub fn of_this_process() -> Result<Self> {
        let own = getpid();
        let path = format!("/proc/{own}/task/{own}/children");
        let file = File::open(&path).with_context(|| {
            format!(
                "can't list the children of this process in {path}; zklock needs a kernel with CONFIG_PROC_CHILDREN, \
                 and of a sandbox such as gVisor a version that has this file"
            )
        });
        file.map(Self)
    }

    /// All children, including dead ones that aren't reaped. `None` if they can't be listed, so nothing is known of them.
    ///
    /// The list is exact if only the calling thread reaps: children that appear while the list is read are added at its
    /// end, and none disappears (`get_children_pid` in Linux's `fs/proc/array.c`). It is the list of the first thread,
    /// which starts all children and inherits the orphans.
    pub fn list(&self) -> Option<Vec<Pid>> {
        read_again(&self.0).map(|text| parse_pids(&text))
    }
}

/// A process that is checked repeatedly.
#[derive(Debug)]
pub struct Observed(File);

impl Observed {
    /// The process with this pid.
    pub fn new(pid: Pid) -> io::Result<Self> {
        Ok(Self(File::open(format!("/proc/{pid}/stat"))?))
    }

    /// Whether the process has begun to end: from then on it inherits no orphans, and once it has ended it has no
    /// children. That is long before it can be reaped.
    pub fn is_ending(&self) -> bool {
        read_again(&self.0).and_then(|text| proc_stat::parse(&text)).is_none_or(|process| process.is_ending)
    }
}

/// Whether this process is the worker of a zklock.
pub fn is_worker(pid: Pid) -> bool {
    name(pid).as_deref().is_some_and(link::is_worker)
}

/// The current content of a file in `/proc`.
fn read_again(file: &File) -> Option<String> {
    let mut content = vec![];
    let mut part = [0; 1024];
    loop {
        match file.read_at(&mut part, u64::try_from(content.len()).ok()?) {
            Ok(0) => return Some(proc_file::text(content)),
            Ok(length) => content.extend_from_slice(part.get(..length)?),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// The `roots` and all their descendants, but for those below a process that `goes_below` refuses. A process that starts
/// during the scan may be missed.
pub fn with_descendants(roots: Vec<Pid>, goes_below: &dyn Fn(Pid) -> bool) -> Vec<Pid> {
    let mut all = roots;
    let mut next = 0;
    while let Some(&process) = all.get(next) {
        if goes_below(process) {
            all.extend(children_of(process));
        }
        next += 1;
    }
    all
}

/// The name of a process, for messages.
pub fn name(pid: Pid) -> Option<String> {
    Some(proc_stat::of(pid)?.name)
}

fn is_child_of(parent: Pid, child: Pid) -> bool {
    proc_stat::of(child).is_some_and(|process| process.parent == parent.as_raw())
}

/// The children of any process, as the kernel lists them, separately for each of its threads.
pub fn children_of(pid: Pid) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| proc_file::read(thread.path().join("children")).ok());
    lists.flat_map(|text| parse_pids(&text)).collect()
}

fn parse_pids(text: &str) -> Vec<Pid> {
    text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_whose_name_is_not_utf8_is_seen() -> io::Result<()> {
        // The kernel cuts a name after 15 bytes, if need be within a character.
        let rename = "printf 'nachtsicherung\\303' > /proc/$$/comm; echo; read line";
        let mut child =
            Command::new("sh").args(["-c", rename]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = [0];
        child.stdout.take().map(|mut out| out.read_exact(&mut line)).transpose()?;
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default());
        let seen = (name(pid), is_child_of(getpid(), pid), Observed::new(pid)?.is_ending());
        child.kill()?;
        child.wait()?;
        assert_eq!(seen, (Some("nachtsicherung\u{fffd}".to_owned()), true, false));
        Ok(())
    }

    #[test]
    fn a_grandchild_is_found_below_its_parent() -> io::Result<()> {
        let mut child =
            Command::new("sh").args(["-c", "sleep 60 & echo; wait"]).stdout(Stdio::piped()).spawn()?;
        let mut line = [0];
        child.stdout.take().map(|mut out| out.read_exact(&mut line)).transpose()?;
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default());
        let found = with_descendants(vec![pid], &|_| true);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(name(pid).as_deref(), Some("sh"));
        for pid in found {
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL)?;
        }
        child.wait()?;
        Ok(())
    }
}
