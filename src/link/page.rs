//! The worker's state, shown to the monitor without messages: a store never blocks, however little the monitor reads.

use std::io;
use std::sync::atomic::Ordering::SeqCst;

use zklock_core::exit::Exit;
use zklock_core::pair::Stage;
use zklock_core::time::BootTime;

use crate::process::clock::{self, OnClocks};
use crate::process::sys::{SharedMoment, SharedPage};

/// What exit codes and signals are counted from in the page, in which zero is no exit.
const CODES: u32 = 1;
const SIGNALS: u32 = 1000;

/// The page of memory that both processes share.
#[derive(Debug, Clone, Copy)]
pub struct Page(&'static SharedPage);

impl Page {
    /// A new page: waiting, without a deadline.
    pub(super) fn map() -> io::Result<Self> {
        SharedPage::map().map(Self)
    }

    /// The worker's stage.
    pub fn stage(self) -> Stage {
        match self.0.stage.load(SeqCst) {
            0 => Stage::Waiting,
            1 => Stage::Running,
            _ => Stage::Over,
        }
    }

    /// For the worker.
    pub(super) fn set_stage(self, stage: Stage) {
        self.0.stage.store(stage as u8, SeqCst);
    }

    /// How zklock exits, whatever happens from now on.
    pub fn exit(self) -> Option<Exit> {
        let shown = self.0.exit.load(SeqCst);
        let code = |shown| u8::try_from(shown).ok().map(Exit::Code);
        match shown.checked_sub(SIGNALS) {
            Some(signal) => i32::try_from(signal).ok().map(Exit::Signal),
            None => shown.checked_sub(CODES).and_then(code),
        }
    }

    /// For the worker.
    pub(super) fn set_exit(self, exit: Exit) {
        let shown = match exit {
            Exit::Code(code) => CODES + u32::from(code),
            Exit::Signal(signal) => SIGNALS + signal.unsigned_abs(),
        };
        self.0.exit.store(shown, SeqCst);
    }

    /// The deadline, if there is one.
    pub fn deadline(self) -> Option<BootTime> {
        load(&self.0.deadline)
    }

    /// For the worker.
    pub(super) fn set_deadline(self, deadline: Option<BootTime>) {
        match deadline {
            Some(deadline) => store(&self.0.deadline, deadline),
            // The other number doesn't matter then.
            None => self.0.deadline.boot.store(0, SeqCst),
        }
    }

    /// How many of the signals forwarded by the monitor the worker has received.
    pub fn taken(self) -> u64 {
        self.0.taken.load(SeqCst)
    }

    /// For the worker.
    pub(super) fn count_taken(self) {
        self.0.taken.fetch_add(1, SeqCst);
    }

    /// The path, without its number, of a node that is being created: it may exist although no report has named it.
    pub fn pending_create(self) -> Option<String> {
        let length = usize::try_from(self.0.path_length.load(SeqCst)).ok().filter(|&length| length > 0)?;
        let bytes = self.0.path.get(..length)?.iter().map(|byte| byte.load(SeqCst)).collect();
        String::from_utf8(bytes).ok()
    }

    /// For the worker. A path that is too long isn't shown.
    pub(super) fn set_pending_create(self, path: Option<&str>) {
        // While the path changes, none is shown.
        self.0.path_length.store(0, SeqCst);
        let path = path.unwrap_or_default().as_bytes();
        if path.len() <= self.0.path.len() {
            self.0.path.iter().zip(path).for_each(|(shown, &byte)| shown.store(byte, SeqCst));
            self.0.path_length.store(path.len() as u64, SeqCst);
        }
    }
}

fn load(moment: &SharedMoment) -> Option<BootTime> {
    let boot = Some(moment.boot.load(SeqCst)).filter(|&boot| boot != 0)?;
    Some(clock::from_clocks(OnClocks { boot, raw: moment.raw.load(SeqCst) }))
}

fn store(shown: &SharedMoment, moment: BootTime) {
    let moment = clock::on_clocks(moment);
    shown.raw.store(moment.raw, SeqCst);
    shown.boot.store(moment.boot.max(1), SeqCst);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn stored_values_are_loaded_again() -> io::Result<()> {
        let page = Page::map()?;
        assert_eq!(
            (page.stage(), page.exit(), page.deadline(), page.pending_create()),
            (Stage::Waiting, None, None, None)
        );
        for exit in [Exit::Code(0), Exit::Code(255), Exit::Signal(1), Exit::Signal(64)] {
            page.set_exit(exit);
            assert_eq!(page.exit(), Some(exit));
        }
        let long_ago = BootTime::from_nanos(0);
        page.set_deadline(Some(long_ago));
        assert!(page.deadline().expect("the start of time counts as a deadline") < clock::now());
        page.set_deadline(Some(clock::now() + Duration::from_secs(7)));
        let left = clock::now().until(page.deadline().expect("a deadline"));
        assert!(left > Duration::from_secs(4) && left < Duration::from_secs(9), "{left:?}");
        page.set_deadline(None);
        assert_eq!(page.deadline(), None);
        for path in ["/locks/job/_c_1-lock-", "/a", "/12345678", "/1234567"] {
            page.set_pending_create(Some(path));
            assert_eq!(page.pending_create().as_deref(), Some(path));
        }
        page.set_pending_create(Some(&"x".repeat(5_000)));
        assert_eq!(page.pending_create(), None);
        Ok(())
    }
}
