//! How long the arguments and the environment of a program may be (execve(2)).

use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::{SysconfVar, sysconf};

/// The kernel's limits, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecLimits {
    /// For one argument or variable, with the zero byte at its end (`MAX_ARG_STRLEN`).
    pub each: usize,
    /// For all of them together, with a pointer to each.
    pub total: usize,
}

/// The least limit for all together (`ARG_MAX`).
const LEAST: usize = 128 * 1024;

/// The largest limit, whatever the stack may use.
pub const LARGEST: usize = 6 * 1024 * 1024;

/// The limits for a program that this process starts.
pub fn exec_limits() -> ExecLimits {
    let page = sysconf(SysconfVar::PAGE_SIZE).ok().flatten().and_then(|size| usize::try_from(size).ok());
    // A stack whose limit is unknown counts as unlimited: then the kernel itself refuses the start.
    let stack = getrlimit(Resource::RLIMIT_STACK).map_or(u64::MAX, |(soft, _)| soft);
    let total = usize::try_from(stack / 4).unwrap_or(usize::MAX).clamp(LEAST, LARGEST);
    ExecLimits { each: 32 * page.unwrap_or(4096), total }
}
