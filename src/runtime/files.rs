//! Short files named by the user, some of which hold secrets.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result, bail};

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
