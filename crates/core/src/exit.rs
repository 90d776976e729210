//! How zklock ends: with the command's exit code or signal, or with an exit code of its own.

use serde::{Deserialize, Serialize};

/// The lock was lost while the command ran, and the command was stopped.
pub const LOST: u8 = 123;
/// The lock was busy, and zklock was told not to wait, or the wait timed out.
pub const CONFLICT: u8 = 124;
/// zklock itself failed: usage, connection, permission.
pub const FAILURE: u8 = 125;
/// The command was found but could not be run.
pub const CANNOT_RUN: u8 = 126;
/// The command was not found.
pub const NOT_FOUND: u8 = 127;

/// How zklock ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// Exit with this code.
    Code(u8),
    /// Die from the signal with this number: a shell reports 128+n, and a loop around zklock ends as it would around
    /// the command itself.
    Signal(i32),
}
