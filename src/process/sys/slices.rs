//! How soon the kernel lets this process run once it has something to do.

use nix::libc::{self, c_long};

/// The shortest slice that the kernel grants (0.1 ms; a usual one is 3 ms).
const SHORTEST: u64 = 100_000;

/// `struct sched_attr` of the kernel, as it was at first: a longer one isn't needed.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// For the usual policies, the length of a slice in nanoseconds (Linux 6.12).
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// The length of the slices that zklock was started with; `None` if it wasn't changed.
#[derive(Debug, Clone, Copy)]
pub struct OwnSlices(Option<Attributes>);

/// Asks for short slices, for the calling thread and all that it starts from now on. A process that runs briefly is
/// chosen the sooner the less it asks for; its share of the processor stays the same. On a host that has more to do than
/// it can, a confirmation is sent and taken in sooner. Older kernels ignore it.
pub fn ask_for_short_slices() -> OwnSlices {
    // A service manager's filter of system calls may kill a process for this one.
    // SAFETY: only reads a number.
    let is_filtered = unsafe { libc::prctl(libc::PR_GET_SECCOMP) } != 0;
    let own = attributes().filter(|own| {
        let is_usual = [libc::SCHED_OTHER, libc::SCHED_BATCH].map(i32::cast_unsigned).contains(&own.policy);
        // Zero on a kernel without such slices.
        !is_filtered && is_usual && own.runtime > SHORTEST
    });
    OwnSlices(own.filter(|own| set(&Attributes { runtime: SHORTEST, ..*own })))
}

impl OwnSlices {
    /// Undoes it for the calling thread and all that it starts. Async-signal-safe.
    pub fn restore(self) {
        if let Some(own) = self.0 {
            set(&own);
        }
    }
}

/// Those of the calling thread.
fn attributes() -> Option<Attributes> {
    let mut attributes = Attributes::default();
    // SAFETY: the kernel writes at most as many bytes as it is told there are.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size_of::<Attributes>(), 0) };
    (result == 0).then_some(attributes)
}

fn set(attributes: &Attributes) -> bool {
    // SAFETY: the kernel reads as many bytes as it has said that it wrote.
    let result: c_long =
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, std::ptr::from_ref(attributes), 0) };
    result == 0
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn short_slices_are_inherited_by_threads_and_can_be_undone() {
        let test = || {
            let before = attributes();
            let own = ask_for_short_slices();
            if own.0.is_none() {
                return;
            }
            let slice = || attributes().map(|attributes| attributes.runtime);
            assert_eq!(slice(), Some(SHORTEST));
            assert_eq!(thread::spawn(slice).join().ok(), Some(Some(SHORTEST)));
            own.restore();
            assert_eq!(attributes(), before);
        };
        assert!(thread::spawn(test).join().is_ok());
    }
}
