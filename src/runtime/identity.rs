//! The description of this zklock that is stored in its lock nodes.

use std::path::Path;

use nix::unistd::Pid;

use super::lineage;
use crate::core::lock::name::Mode;
use crate::core::lock::record::Record;

/// The name of this host, as recorded in lock nodes.
pub fn host() -> String {
    nix::unistd::gethostname().map_or_else(|_| "?".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The record of the zklock with this `pid` on this host, which is about to contend in `mode` for `program`.
pub fn record(pid: Pid, program: &Path, label: Option<String>, mode: Mode) -> Record {
    let uid = nix::unistd::Uid::current();
    let user =
        nix::unistd::User::from_uid(uid).ok().flatten().map_or_else(|| uid.to_string(), |user| user.name);
    let program = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    Record {
        version: 1,
        host: host(),
        pid: u32::try_from(pid.as_raw()).unwrap_or_default(),
        user,
        program,
        label,
        mode: mode.word().to_owned(),
        slots: mode.slots(),
        has_slot: false,
        stopped: false,
        held_after_ms: None,
        process: lineage::process(pid).map(Box::new),
        revoked_by: None,
    }
}
