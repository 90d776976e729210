//! The stack of a thread.

use nix::libc;
use nix::unistd::{SysconfVar, sysconf};

/// How far down the stack is returned: an eighth of the stack that the standard library gives a thread. The kernel keeps 128 MiB
/// below a process's first stack free of other mappings.
const DEPTH: usize = 256 * 1024;

/// Returns to the system the pages of the stack that were in use before and aren't now, since a thread keeps them as
/// long as it lives. Only for the first thread and those of the standard library, and only near the top of their stacks.
#[inline(never)]
pub fn return_unused_stack() {
    let Ok(Some(page)) = sysconf(SysconfVar::PAGE_SIZE) else { return };
    let Ok(page) = usize::try_from(page) else { return };
    let here = (&raw const page).addr();
    // One whole page stays, for the call itself.
    let end = (here & !(page - 1)) - page;
    // SAFETY: the memory below the frames of this call is in no frame, so nothing reads it before it is written again.
    // A handler of a signal has its frame there only while it runs, and never while this call does.
    unsafe { libc::madvise(std::ptr::with_exposed_provenance_mut(end - DEPTH), DEPTH, libc::MADV_DONTNEED) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_the_stack_stays() {
        let kept: Vec<[usize; 512]> = vec![[7; 512]; 2];
        let local = [kept.len(); 2048];
        return_unused_stack();
        assert!(local.iter().all(|&value| value == 2) && kept.iter().flatten().all(|&value| value == 7));
    }
}
