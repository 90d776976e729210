//! Short files named by the user, some of which hold secrets.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result, bail};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::stat::makedev;
use nix::unistd::{AccessFlags, access};
use zklock_core::text::{shell_word, without_password};

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

/// Reads a configuration file, which may hold a secret, with the metadata of the open file.
pub(crate) fn read_settings(path: &Path) -> Result<(String, Metadata)> {
    let (file, metadata) = open(path)?;
    Ok((read(path, file, 1024 * 1024)?, metadata))
}

/// Refuses a file that its group or others can access. `metadata` is that of the open file, so the checked file is the
/// one that is read.
pub(crate) fn refuse_if_others_can_read(path: &Path, metadata: &Metadata) -> Result<()> {
    // A pipe such as `<(pass show zk)` is its user's alone.
    if metadata.mode() & 0o077 != 0 {
        let (shown, mode) = (path.display(), metadata.mode() & 0o777);
        let typed = shell_word(&shown.to_string());
        bail!("{shown} holds a secret and others may read or change it (mode {mode:03o}): chmod 600 {typed}");
    }
    Ok(())
}

/// Whether there is a file that this user may execute.
pub(crate) fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, AccessFlags::X_OK).is_ok()
}

fn open(path: &Path) -> Result<(File, Metadata)> {
    // The credentials may stand where the name of their file should.
    let shown = || without_password(&path.to_string_lossy());
    open_to_read(path).with_context(|| format!("can't read {}", shown()))
}

/// Opens a regular file, a pipe or `/dev/null`. A terminal or another device could block zklock or never end.
///
/// The file is checked after it is opened, so the checked file is the one that is read. Opening blocks neither at a
/// named pipe nor at a terminal, and takes no controlling terminal.
fn open_to_read(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
    let metadata = file.metadata()?;
    let kind = metadata.file_type();
    if kind.is_fifo() {
        // The command at the other end may ask for a passphrase first.
        fcntl(&file, FcntlArg::F_SETFL(OFlag::empty()))?;
    } else if !kind.is_file() && metadata.rdev() != NULL {
        return Err(io::Error::other("it is neither a regular file nor a pipe"));
    }
    Ok((file, metadata))
}

/// The device number of `/dev/null`.
const NULL: u64 = makedev(1, 3);

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
