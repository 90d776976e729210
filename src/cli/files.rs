//! Files that the command line names.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// No credentials and no key are longer. The guard gets them over a socket, whose messages have an end.
const LONGEST: u64 = 32 * 1024;

/// What is in a file that is to hold a secret. Refused if others could have read it too.
pub(super) fn read_secret(path: &Path) -> Result<String> {
    let (file, metadata) = open(path)?;
    refuse_if_others_can_read(path, &metadata)?;
    read(path, file)
}

/// Refuses a file that its group or others can read. `metadata` is that of the open file: what is looked at is
/// what is read.
pub(crate) fn refuse_if_others_can_read(path: &Path, metadata: &Metadata) -> Result<()> {
    // A pipe, as of `<(pass show zk)`, has no name by which others could open it.
    if metadata.is_file() && metadata.mode() & 0o077 != 0 {
        let (path, mode) = (path.display(), metadata.mode() & 0o777);
        bail!("{path} holds a secret and others may read or change it (mode {mode:03o}): chmod 600 {path}");
    }
    Ok(())
}

fn open(path: &Path) -> Result<(File, Metadata)> {
    let opened = || -> std::io::Result<_> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        Ok((file, metadata))
    };
    opened().with_context(|| format!("can't read {}", path.display()))
}

fn read(path: &Path, file: File) -> Result<String> {
    let mut text = String::new();
    let read = file.take(LONGEST + 1).read_to_string(&mut text);
    read.with_context(|| format!("can't read {}", path.display()))?;
    if text.len() as u64 > LONGEST {
        bail!("{} is longer than {} KiB: is it the right file?", path.display(), LONGEST / 1024);
    }
    Ok(text)
}
