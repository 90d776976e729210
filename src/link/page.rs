//! The worker's state, shown to the monitor without messages: a store never blocks, however little the monitor reads.

use std::io;
use std::sync::atomic::Ordering::SeqCst;

use nix::unistd::Pid;
use zklock_core::pair::{Deadline, Stage};

use crate::process::clock::{self, OnClocks};
use crate::process::sys::SharedPage;

const STAGE: usize = 0;
const TAKEN: usize = 2;
const GROUP: usize = 3;
const ENTERING: usize = 4;
/// The indices of one moment's values on the two clocks.
const DEADLINE: [usize; 2] = [1, 6];
const LATEST: [usize; 2] = [5, 7];
/// The index from which on the path is stored, eight bytes in each number.
const TEXT: usize = 8;

/// The page of memory that both processes share.
#[derive(Debug, Clone, Copy)]
pub struct Page(SharedPage);

impl Page {
    /// A new page: waiting, without a deadline.
    pub(super) fn map() -> io::Result<Self> {
        Ok(Self(SharedPage::map()?))
    }

    /// The worker's stage.
    pub fn stage(self) -> Stage {
        match self.load(STAGE) {
            0 => Stage::Waiting,
            1 => Stage::Running,
            _ => Stage::Over,
        }
    }

    /// For the worker.
    pub(super) fn set_stage(self, stage: Stage) {
        self.store(STAGE, stage as u64);
    }

    /// The deadline, if there is one.
    pub fn deadline(self) -> Option<Deadline> {
        let moment = |[boot, raw]: [usize; 2]| OnClocks { boot: self.load(boot), raw: self.load(raw) };
        let act = Some(moment(DEADLINE)).filter(|act| act.boot != 0)?;
        // They are stored one after the other: a reader that sees only some of the new values isn't late because of
        // that.
        Some(Deadline { act: clock::from_clocks(act), latest: clock::from_clocks(moment(LATEST)) })
    }

    /// For the worker.
    pub(super) fn set_deadline(self, deadline: Option<Deadline>) {
        let Some(Deadline { act, latest }) = deadline else {
            // This number says that there is no deadline, so the other numbers don't matter.
            return self.store(DEADLINE[0], 0);
        };
        let show = |[boot, raw]: [usize; 2], moment: OnClocks| {
            self.store(raw, moment.raw);
            self.store(boot, moment.boot.max(1));
        };
        show(LATEST, clock::on_clocks(latest));
        show(DEADLINE, clock::on_clocks(act));
    }

    /// How many of the signals forwarded by the monitor the worker has received.
    pub fn taken(self) -> u64 {
        self.load(TAKEN)
    }

    /// For the worker.
    pub(super) fn count_taken(self) {
        self.numbers()[TAKEN].fetch_add(1, SeqCst);
    }

    /// The command's process group, from before its exec on.
    pub fn group(self) -> Option<Pid> {
        i32::try_from(self.load(GROUP)).ok().filter(|&group| group > 1).map(Pid::from_raw)
    }

    /// For the command's child between fork and exec: it allocates nothing.
    pub fn set_group(self, group: Pid) {
        self.store(GROUP, u64::try_from(group.as_raw()).unwrap_or_default());
    }

    /// The path, without its number, of a node that is being created: it may exist although no report has named it.
    pub fn pending_create(self) -> Option<String> {
        let length = usize::try_from(self.load(ENTERING)).ok().filter(|&length| length > 0)?;
        let words = (TEXT..SharedPage::LENGTH).take(length.div_ceil(8));
        let mut bytes: Vec<u8> = words.flat_map(|index| self.load(index).to_ne_bytes()).collect();
        bytes.truncate(length);
        String::from_utf8(bytes).ok()
    }

    /// For the worker. A path that is too long isn't shown.
    pub(super) fn set_entering(self, path: Option<&str>) {
        // While the path changes, none is shown.
        self.store(ENTERING, 0);
        let path = path.unwrap_or_default().as_bytes();
        if path.len() > (SharedPage::LENGTH - TEXT) * 8 {
            return;
        }
        for (index, bytes) in (TEXT..).zip(path.chunks(8)) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            self.store(index, u64::from_ne_bytes(word));
        }
        self.store(ENTERING, path.len() as u64);
    }

    fn numbers(&self) -> &[std::sync::atomic::AtomicU64; SharedPage::LENGTH] {
        self.0.numbers()
    }

    fn load(self, index: usize) -> u64 {
        self.numbers()[index].load(SeqCst)
    }

    fn store(self, index: usize, value: u64) {
        self.numbers()[index].store(value, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use zklock_core::time::BootTime;

    use super::*;

    #[test]
    fn stored_values_are_loaded_again() -> io::Result<()> {
        let page = Page::map()?;
        assert_eq!(
            (page.stage(), page.deadline(), page.group(), page.pending_create()),
            (Stage::Waiting, None, None, None)
        );
        let long_ago = BootTime::from_nanos(0);
        page.set_deadline(Some(Deadline { act: long_ago, latest: clock::now() + Duration::from_secs(7) }));
        let Some(Deadline { act, latest }) = page.deadline() else {
            panic!("the start of time must count as a deadline")
        };
        assert!(act < clock::now());
        let left = clock::now().until(latest);
        assert!(left > Duration::from_secs(4) && left < Duration::from_secs(9), "{left:?}");
        page.set_deadline(None);
        assert_eq!(page.deadline(), None);
        for path in ["/locks/job/_c_1-lock-", "/a", "/12345678", "/1234567"] {
            page.set_entering(Some(path));
            assert_eq!(page.pending_create().as_deref(), Some(path));
        }
        page.set_entering(Some(&"x".repeat(5_000)));
        assert_eq!(page.pending_create(), None);
        Ok(())
    }
}
