//! Memory shared by two processes.

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

use nix::libc;

/// Numbers shared by both processes after a fork: one stores them, the other loads them. Each number is read and
/// written atomically, and neither side ever waits for the other.
#[derive(Debug, Clone, Copy)]
pub struct SharedPage(NonNull<[AtomicU64; Self::LENGTH]>);

impl SharedPage {
    /// How many numbers there are. All are zero at first.
    pub const LENGTH: usize = 512;

    /// Maps the page. It stays mapped as long as the process lives: both processes use it until they end.
    pub fn map() -> io::Result<Self> {
        let length = size_of::<[AtomicU64; Self::LENGTH]>();
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the kernel's choice touches no other memory.
        let page = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, -1, 0) };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(page.cast()).map(Self).ok_or_else(|| io::Error::other("mapped at the address zero"))
    }

    /// The numbers.
    pub fn numbers(&self) -> &[AtomicU64; Self::LENGTH] {
        // SAFETY: mapped by `map` with this size, aligned to a page, never unmapped, and zero is a valid value. All
        // access is atomic.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: it is memory of atomics, which any thread may use.
unsafe impl Send for SharedPage {}
// SAFETY: as above.
unsafe impl Sync for SharedPage {}
