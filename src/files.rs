//! Short files named by the user, some of which hold secrets.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::fd::RawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result, bail};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::stat::makedev;
use nix::sys::statfs::{FsType, fstatfs};
use zklock_core::text::shell_word;

use crate::process::sys::was_closed;

/// The largest size of credentials, certificates and keys.
const LONGEST: u64 = 32 * 1024;

/// Reads a file that holds a secret. Refused if other users could have read or changed it.
pub(crate) fn read_secret(path: &Path) -> Result<String> {
    let (file, metadata) = open(path)?;
    refuse_if_others_can_read(path, &metadata)?;
    read(path, file, LONGEST)
}

/// Reads a file that anyone may read and that is as short as a secret.
pub(crate) fn read_short(path: &Path) -> Result<String> {
    read(path, open(path)?.0, LONGEST)
}

/// Reads a file that anyone may read and that may be as long as a system's list of CA certificates.
pub(crate) fn read_public(path: &Path) -> Result<String> {
    read(path, open(path)?.0, 1024 * 1024)
}

/// Refuses a file that its group or others can access. `metadata` is that of the open file, so the checked file is the
/// one that is read.
pub(crate) fn refuse_if_others_can_read(path: &Path, metadata: &Metadata) -> Result<()> {
    // A pipe, such as `<(pass show zk)`, has no name by which others could open it.
    if metadata.is_file() && metadata.mode() & 0o077 != 0 {
        let (shown, mode) = (path.display(), metadata.mode() & 0o777);
        let typed = shell_word(&shown.to_string());
        bail!("{shown} holds a secret and others may read or change it (mode {mode:03o}): chmod 600 {typed}");
    }
    Ok(())
}

fn open(path: &Path) -> Result<(File, Metadata)> {
    open_to_read(path).with_context(|| format!("can't read {}", path.display()))
}

/// Opens a file that ends: a regular file, a pipe of a shell, or `/dev/null`. Anything else could block zklock or never
/// end.
///
/// The file is checked after it is opened, so the checked file is the one that is read. Opening blocks neither at a
/// named pipe nor at a terminal, and takes no controlling terminal.
pub(crate) fn open_to_read(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path).map_err(|error| {
        let is_socket = error.raw_os_error() == Some(nix::libc::ENXIO);
        if is_socket { refused("a socket") } else { error }
    })?;
    let metadata = file.metadata()?;
    let kind = metadata.file_type();
    let other = if kind.is_dir() {
        if descriptor(path).is_some_and(was_closed) {
            return Err(io::Error::other("it is closed; give a regular file or <(COMMAND)"));
        }
        Some("a directory")
    } else if kind.is_fifo() {
        (!is_of_a_shell(&file)?).then_some("a named pipe")
    } else {
        (!kind.is_file() && metadata.rdev() != NULL).then_some("a device")
    };
    if let Some(other) = other {
        return Err(refused(other));
    }
    // The command at the other end of a pipe may ask for a passphrase first. A file of `/proc` may wait without end.
    if kind.is_fifo() {
        fcntl(&file, FcntlArg::F_SETFL(OFlag::empty()))?;
    }
    Ok((file, metadata))
}

fn refused(kind: &str) -> io::Error {
    io::Error::other(format!("it is {kind}; give a regular file or <(COMMAND)"))
}

/// The number of an open file of this process that this path stands for, as `/dev/stdin` and `/dev/fd/0` do.
fn descriptor(path: &Path) -> Option<RawFd> {
    let open_files = fs::canonicalize("/proc/self/fd").ok()?;
    let number = |path: &Path| {
        let is_here = fs::canonicalize(path.parent()?).is_ok_and(|directory| directory == open_files);
        path.file_name().filter(|_| is_here)?.to_str()?.parse().ok()
    };
    number(path).or_else(|| number(&fs::read_link(path).ok()?))
}

/// The device number of `/dev/null`.
const NULL: u64 = makedev(1, 3);

/// Whether this pipe has no name: `<(COMMAND)`, or stdin in a pipeline. It ends when the command ends.
fn is_of_a_shell(pipe: &File) -> io::Result<bool> {
    /// The file system of all pipes without a name (`PIPEFS_MAGIC`).
    const PIPES: FsType = FsType(0x5049_5045);
    Ok(fstatfs(pipe)?.filesystem_type() == PIPES)
}

fn read(path: &Path, file: File, longest: u64) -> Result<String> {
    let mut bytes = Vec::new();
    let read = file.take(longest + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("can't read {}", path.display()))?;
    if bytes.len() as u64 > longest {
        bail!("{} is longer than {} KiB: is it the right file?", path.display(), longest / 1024);
    }
    // Certificates may have comments in old encodings. The parser rejects content that must be text and isn't.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
