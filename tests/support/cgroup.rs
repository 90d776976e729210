//! Cgroups whose processes get little processor time, or much.

use super::hogs::spin;
use super::wait::{DEADLINE, try_for};
use nix::unistd::Pid;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A cgroup for processes of zklock.
pub(crate) struct Cgroup {
    directory: PathBuf,
    came_from: PathBuf,
    hog: Option<Child>,
}

/// Files of a cgroup, and what is written to them.
type Settings = &'static [(&'static str, &'static str)];

impl Cgroup {
    /// Its processes together get three hundredths of a processor, and one of them uses those up, for that long at most.
    /// `None` if no cgroup can be made here.
    pub(crate) fn with_quota(longest: Duration) -> Option<Self> {
        let v1 = &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "3000")];
        let mut cgroup = Self::new(v1, &[("cpu.max", "3000 100000")])?;
        let spin = spin(&cgroup.directory, longest);
        let hog = Command::new("bash").args(["-c", &spin]).spawn().expect("a hog");
        cgroup.limit(Pid::from_raw(hog.id().try_into().expect("a pid")));
        cgroup.hog = Some(hog);
        Some(cgroup)
    }

    /// Its processes together have ten times the weight of another cgroup.
    pub(crate) fn with_weight() -> Option<Self> {
        Self::new(&[("cpu.shares", "10240")], &[("cpu.weight", "1000")])
    }

    /// Its processes compete with each other by their own weights, whatever their session: outside of a cgroup the
    /// kernel may divide the time between sessions first (autogroup), and zklock's worker may have one of its own.
    pub(crate) fn of_a_host() -> Option<Self> {
        Self::new(&[("cpu.shares", "1024")], &[("cpu.weight", "100")])
    }

    fn new(v1: Settings, v2: Settings) -> Option<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        let name = format!("zklock-test-{}-{number}", std::process::id());
        let directory = [("/sys/fs/cgroup/cpu", v1), ("/sys/fs/cgroup", v2)].into_iter();
        let directory = directory.map(|(hierarchy, settings)| (Path::new(hierarchy).join(&name), settings));
        let directory = directory.filter_map(|(directory, settings)| {
            fs::create_dir(&directory).ok()?;
            let is_set = settings.iter().all(|(file, text)| fs::write(directory.join(file), text).is_ok());
            if !is_set {
                fs::remove_dir(&directory).ok();
            }
            is_set.then_some(directory)
        });
        let directory = { directory }.next()?;
        let came_from = directory.parent().expect("a hierarchy").join("cgroup.procs");
        Some(Self { directory, came_from, hog: None })
    }

    /// Puts a process into the cgroup, with all its threads and the children that it will have.
    pub(crate) fn limit(&self, pid: Pid) {
        // It may have ended meanwhile.
        fs::write(self.processes(), pid.to_string()).ok();
    }

    fn processes(&self) -> PathBuf {
        self.directory.join("cgroup.procs")
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        if let Some(hog) = &mut self.hog {
            hog.kill().ok();
            hog.wait().ok();
        }
        // The others go back to where they came from.
        try_for(DEADLINE, || {
            let left = fs::read_to_string(self.processes()).unwrap_or_default();
            for process in left.lines() {
                fs::write(&self.came_from, process).ok();
            }
            fs::remove_dir(&self.directory).ok()
        });
    }
}
