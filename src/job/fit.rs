//! Whether the command's arguments and environment fit the kernel's limits, with the variables about its locks. Checked
//! before anything is created, because the kernel checks it only when all locks are held.

use std::ffi::{CStr, CString, OsString};

use anyhow::{Context, Result, anyhow};
use thiserror::Error;
use zklock_core::run::Plan;
use zklock_core::text::printable;

use crate::plan::Invocation;
use crate::process::exec_limits::{ExecLimits, LARGEST, exec_limits};
use crate::process::sys::Image;

/// Why the kernel would refuse to start the command.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TooLong {
    /// A variable is longer than any may be.
    #[error(
        "{name}, which tells the command about its locks, may need {size} bytes, and a variable has {limit} at most: \
         give fewer or shorter lock paths{}",
        if *.outer { ", also to the zklock around this one" } else { "" }
    )]
    Variable {
        /// Its name.
        name: String,
        /// What it may need.
        size: usize,
        /// The limit for one variable.
        limit: usize,
        /// Whether it has locks that are held around zklock, too.
        outer: bool,
    },
    /// Everything together is too long.
    #[error(
        "the command may need {} bytes for its arguments ({arguments}), for the variables about its locks ({added}) and \
         for its other variables ({kept}), and the system allows {limit}: shorten the longest of them{}",
        arguments + added + kept,
        if *.limit < LARGEST { ", or raise the limit (a quarter of 'ulimit -s')" } else { "" }
    )]
    Together {
        /// For the program and its arguments.
        arguments: usize,
        /// For zklock's variables.
        added: usize,
        /// For the environment that zklock has itself.
        kept: usize,
        /// The limit for all of them.
        limit: usize,
    },
}

/// Refuses a command whose arguments and environment are too long for the kernel.
///
/// # Errors
/// If they are, or could become so with the numbers that the servers give.
pub fn check(plan: &Plan, invocation: &Invocation) -> Result<()> {
    let added = plan.longest_variables().map_err(|why| anyhow!(why))?;
    let mut image = Image::new(&invocation.program, &invocation.arguments)?;
    image.add(&added)?;
    let program = longest_path(&invocation.program);
    let checked = fit(program, &image, added.len(), !plan.outer.is_empty(), exec_limits());
    // The path may be what is too long.
    checked.with_context(|| printable(plan.first.as_str()))
}

/// The length of the path by which the program is executed, if it is found in the directory of `PATH` with the longest
/// name.
fn longest_path(program: &OsString) -> usize {
    if program.as_encoded_bytes().contains(&b'/') {
        return program.len();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = path.as_encoded_bytes().split(|&byte| byte == b':');
    directories.map(<[u8]>::len).max().unwrap_or_default() + 1 + program.len()
}

/// The last `added` variables of the image are zklock's.
fn fit(program: usize, image: &Image, added: usize, outer: bool, limits: ExecLimits) -> Result<(), TooLong> {
    let variables = image.environment();
    let (kept, added) = variables.split_at(variables.len() - added);
    let bytes = |text: &CStr| text.to_bytes_with_nul().len();
    if let Some(longest) = added.iter().max_by_key(|variable| bytes(variable))
        && bytes(longest) > limits.each
    {
        let name = longest.to_string_lossy().split('=').next().unwrap_or_default().to_owned();
        return Err(TooLong::Variable { name, size: bytes(longest), limit: limits.each, outer });
    }
    // The kernel also counts a pointer to each, and the path of the program.
    let needed =
        |texts: &[CString]| -> usize { texts.iter().map(|text| bytes(text) + size_of::<usize>()).sum() };
    let arguments = program + 1 + needed(image.arguments());
    let (added, kept, limit) = (needed(added), needed(kept), limits.total);
    if arguments + added + kept > limit {
        return Err(TooLong::Together { arguments, added, kept, limit });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(value: usize, limits: ExecLimits) -> Result<(), TooLong> {
        let mut image = Image::new(&"/p".into(), &["a".into()]).unwrap();
        image.add(&[("ZKLOCK_X".to_owned(), "x".repeat(value))]).unwrap();
        fit(2, &image, 1, false, limits)
    }

    #[test]
    fn a_variable_has_its_limit_with_its_name_and_the_byte_at_its_end() {
        let limits = ExecLimits { each: 1000, total: usize::MAX };
        assert_eq!(fits(1000 - "ZKLOCK_X=".len() - 1, limits), Ok(()));
        let why = fits(1000 - "ZKLOCK_X=".len(), limits).unwrap_err();
        let expected =
            TooLong::Variable { name: "ZKLOCK_X".to_owned(), size: 1001, limit: 1000, outer: false };
        assert_eq!(why, expected);
    }

    /// The limits of the real kernel: what fits is started, and one byte more is refused by both.
    #[test]
    fn the_limits_are_the_kernel_s() {
        let limits = exec_limits();
        let starts = |bytes: usize| {
            let mut command = std::process::Command::new("/bin/true");
            command.env_clear().env("X", "x".repeat(bytes)).status().is_ok_and(|status| status.success())
        };
        let longest = limits.each - "X=".len() - 1;
        assert!(starts(longest));
        assert!(!starts(longest + 1));

        let starts = |bytes: usize| {
            let mut command = std::process::Command::new("/bin/true");
            let piece = "x".repeat(limits.each - 1);
            let whole = bytes / limits.each;
            command.env_clear().args(std::iter::repeat_n(&piece, whole)).arg("x".repeat(bytes % limits.each));
            command.status().is_ok_and(|status| status.success())
        };
        // The program's path twice, as such and as the first argument, a pointer to it and to each argument.
        let fixed = 2 * "/bin/true\0".len() + size_of::<usize>();
        let whole = (limits.total - fixed) / (limits.each + size_of::<usize>());
        let rest = (limits.total - fixed) % (limits.each + size_of::<usize>());
        let exactly = whole * limits.each + rest - size_of::<usize>() - 1;
        assert!(starts(exactly));
        assert!(!starts(exactly + 1));
    }
}
