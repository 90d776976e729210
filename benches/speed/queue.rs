//! The length of a contestant's queue, as its servers or the kernel report it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::contestant::{Contestant, Lock};
use crate::environment::Environment;
use crate::wire;

/// The longest wait for a queue to fill.
const QUEUE_TIMEOUT: Duration = Duration::from_mins(3);

/// Waits until `count` contenders are queued, including the holder.
pub(crate) fn wait_for(environment: &Environment, contestant: Contestant, lock: &Lock, count: usize) {
    let until = Instant::now() + QUEUE_TIMEOUT;
    while length(environment, contestant, lock) < count {
        assert!(Instant::now() < until, "{}: the queue doesn't fill", contestant.name());
        sleep(Duration::from_millis(20));
    }
}

/// Waits until the last contenders have read and watched their predecessor, which takes a moment after they are queued.
pub(crate) fn settle(count: usize) {
    sleep(Duration::from_millis(150) + Duration::from_millis(1) * u32::try_from(count).unwrap_or(u32::MAX));
}

fn length(environment: &Environment, contestant: Contestant, lock: &Lock) -> usize {
    if let Some(servers) = contestant.servers() {
        return wire::children(environment.hosts(servers), &lock.name);
    }
    match contestant {
        Contestant::Etcd => etcd_keys(environment, lock),
        Contestant::Flock => kernel_locks(lock),
        _ => usize::MAX,
    }
}

fn etcd_keys(environment: &Environment, lock: &Lock) -> usize {
    let endpoint = environment.etcd.as_deref().expect("etcd");
    let output = Command::new("etcdctl")
        .args(["--endpoints", endpoint, "get", "--prefix", "--keys-only", &format!("{}/", lock.name)])
        .env("ETCDCTL_API", "3")
        .output()
        .expect("etcdctl");
    String::from_utf8_lossy(&output.stdout).lines().filter(|line| !line.is_empty()).count()
}

/// The kernel's file locks: one line for the holder, and one for each waiter.
fn kernel_locks(lock: &Lock) -> usize {
    let Ok(file) = fs::metadata(&lock.name) else { return 0 };
    let inode = format!(":{} ", file.ino());
    let locks = fs::read_to_string("/proc/locks").expect("the kernel's locks");
    locks.lines().filter(|line| line.contains(&inode)).count()
}
