//! How zklock ends: with the command's own code or signal, or with one of its own codes.

use serde::{Deserialize, Serialize};

/// The lock was lost while the command ran, and it was stopped.
pub const LOST: u8 = 123;
/// The lock was seen busy, and we were not to wait (longer).
pub const CONFLICT: u8 = 124;
/// zklock itself failed: usage, connection, permission.
pub const FAILURE: u8 = 125;
/// The command was found and could not be run.
pub const CANNOT_RUN: u8 = 126;
/// The command was not found.
pub const NOT_FOUND: u8 = 127;

/// The end of zklock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// With this code.
    Code(u8),
    /// By the signal with this number: a shell sees 128+n, and a loop around zklock ends as it would around
    /// the command.
    Signal(i32),
}
