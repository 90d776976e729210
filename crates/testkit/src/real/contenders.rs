//! The queue for a lock, as an observer sees it.

use super::observer::Observer;
use super::wait::{try_for, wait_for, wait_until};
use std::time::Duration;

impl Observer {
    /// Waits until exactly `count` nodes are queued at `path`, and returns them in queue order.
    #[track_caller]
    pub fn wait_for_contenders(&self, path: &str, count: usize, within: Duration) -> Vec<String> {
        wait_for(&format!("{count} contenders at {path}"), within, || {
            Some(self.children(path)).filter(|found| found.len() == count)
        })
    }

    /// Waits until a node no longer exists.
    #[track_caller]
    pub fn wait_until_gone(&self, path: &str, within: Duration) {
        wait_until(&format!("{path} to go"), within, || !self.exists(path));
    }

    /// Panics if contenders are left after `within`, and shows their names and data.
    #[track_caller]
    pub fn assert_no_contenders(&self, path: &str, within: Duration) {
        let gone = try_for(within, || self.children(path).is_empty().then_some(()));
        if gone.is_some() {
            return;
        }
        let left = self.children(path);
        let described: Vec<_> =
            left.iter().map(|name| format!("{name} {:?}", self.data(&format!("{path}/{name}")))).collect();
        panic!("left behind at {path}: {described:#?}");
    }
}
