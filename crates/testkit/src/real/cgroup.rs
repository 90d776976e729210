//! A cgroup whose processes get little processor time.

use super::wait::{DEADLINE, try_for};
use nix::unistd::Pid;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

/// A cgroup for processes of zklock.
pub struct Cgroup {
    directory: PathBuf,
    came_from: PathBuf,
    hog: Option<Child>,
}

impl Cgroup {
    /// Its processes together get three hundredths of a processor, and one of them uses those up, for that long at most.
    /// `None` if no cgroup can be made here.
    pub fn with_quota(longest: Duration) -> Option<Self> {
        let name = format!("zklock-test-{}", std::process::id());
        let v1: &[(&str, &str)] = &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "3000")];
        let v2: &[(&str, &str)] = &[("cpu.max", "3000 100000")];
        let hierarchies = [("/sys/fs/cgroup/cpu", v1), ("/sys/fs/cgroup", v2)];
        let mut cgroup = hierarchies.into_iter().find_map(|(hierarchy, settings)| {
            let hierarchy = Path::new(hierarchy);
            let directory = hierarchy.join(&name);
            fs::create_dir(&directory).ok()?;
            let is_set = settings.iter().all(|(file, text)| fs::write(directory.join(file), text).is_ok());
            let cgroup = Self { directory, came_from: hierarchy.join("cgroup.procs"), hog: None };
            is_set.then_some(cgroup)
        })?;
        let spin = format!(
            "while [[ -e {} && -e /proc/{} ]] && ((SECONDS < {})); do :; done",
            cgroup.directory.display(),
            std::process::id(),
            longest.as_secs()
        );
        let hog = Command::new("bash").args(["-c", &spin]).spawn().expect("a hog");
        cgroup.limit(Pid::from_raw(hog.id().try_into().expect("a pid")));
        cgroup.hog = Some(hog);
        Some(cgroup)
    }

    /// Puts a process into the cgroup, with all its threads and the children that it will have.
    pub fn limit(&self, pid: Pid) {
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
