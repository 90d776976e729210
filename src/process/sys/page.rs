//! Memory shared by two processes.

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

use nix::libc;

/// What two processes share after a fork: one stores it, the other loads it. All is zero at first. Each value is read and
/// written atomically, and neither side ever waits for the other.
#[derive(Debug)]
#[repr(C)]
pub struct SharedPage {
    /// The worker's stage.
    pub stage: AtomicU8,
    /// How zklock is to exit, once that is known.
    pub exit: AtomicU32,
    /// How many forwarded signals the worker has taken.
    pub taken: AtomicU64,
    /// When the monitor must act.
    pub deadline: SharedMoment,
    /// The length of the path of a node that is being created.
    pub path_length: AtomicU64,
    /// This path. A longer one isn't shown.
    pub path: [AtomicU8; 4000],
}

/// A moment as both clocks show it.
#[derive(Debug)]
#[repr(C)]
pub struct SharedMoment {
    /// On the boot clock; zero if there is no such moment.
    pub boot: AtomicU64,
    /// On the raw clock.
    pub raw: AtomicU64,
}

impl SharedPage {
    /// Maps the page. It stays mapped as long as the process lives: both processes use it until they end.
    pub fn map() -> io::Result<&'static Self> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the kernel's choice touches no other memory.
        let page = unsafe { libc::mmap(ptr::null_mut(), size_of::<Self>(), protection, flags, -1, 0) };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let page = NonNull::new(page.cast()).ok_or_else(|| io::Error::other("mapped at the address zero"))?;
        // SAFETY: mapped with this size, aligned to a page, never unmapped, and zero is a valid value of each atomic.
        Ok(unsafe { page.as_ref() })
    }
}
