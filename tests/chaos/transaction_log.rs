//! The times at which nodes were deleted, from the servers' own transaction logs. Each entry has the time at which the
//! leader proposed it, and no client can see the deletion earlier.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The length of a file's header: a magic number, a version, and the number of the database.
const HEADER: usize = 16;
const MAGIC: &[u8] = b"ZKLG";

const DELETE: i32 = 2;
const MULTI: i32 = 14;
const DELETE_CONTAINER: i32 = 20;
const CLOSE_SESSION: i32 = -11;

/// A deletion in a log: the path, and the number of the transaction (zxid).
type Deletion = (String, i64);

/// How a node was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Removal {
    /// Since the epoch of the servers' clock.
    pub(crate) time: Duration,
    /// With its session, not by a delete request.
    pub(crate) with_session: bool,
}

/// How each deleted node was deleted. `data`: the directories of the servers.
pub(crate) fn removals<'a>(data: impl Iterator<Item = &'a Path>) -> HashMap<String, Removal> {
    let mut logged: BTreeMap<Deletion, (Removal, usize)> = BTreeMap::new();
    let mut servers = 0;
    for directory in data {
        servers += 1;
        let mut seen = HashSet::new();
        for (path, zxid, removal) in files(directory).iter().flat_map(|bytes| deletions(bytes)) {
            let key = (path, zxid);
            if seen.insert(key.clone()) {
                logged.entry(key).or_insert((removal, 0)).1 += 1;
            }
        }
    }
    // A proposal of a leader that was deposed meanwhile is in no other log: it never took effect.
    let happened = logged.into_iter().filter(|(_, (_, logs))| logs * 2 > servers);
    let mut removed = HashMap::new();
    for ((path, _), (removal, _)) in happened {
        let first = removed.entry(path).or_insert(removal);
        *first = removal.min(*first);
    }
    removed
}

fn files(data: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(data.join("version-2")).into_iter().flatten().flatten();
    let logs = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("log."));
    logs.filter_map(|log| fs::read(log.path()).ok()).filter(|bytes| bytes.starts_with(MAGIC)).collect()
}

/// The nodes that each transaction of a log deletes. An entry that isn't written completely, or the preallocated rest,
/// ends the log.
fn deletions(bytes: &[u8]) -> Vec<(String, i64, Removal)> {
    let mut log = Reader(bytes.get(HEADER..).unwrap_or_default());
    let mut found = Vec::new();
    while let Some((zxid, removal, paths)) = transaction(&mut log) {
        found.extend(paths.into_iter().map(|path| (path, zxid, removal)));
    }
    found
}

fn transaction(log: &mut Reader<'_>) -> Option<(i64, Removal, Vec<String>)> {
    let checksum = log.long()?;
    let entry = log.buffer().filter(|entry| checksum != 0 && !entry.is_empty())?;
    let _end_of_record = log.take(1)?;
    let mut entry = Reader(entry);
    let (_client, _cxid) = (entry.long()?, entry.int()?);
    let (zxid, time, kind) = (entry.long()?, entry.long()?, entry.int()?);
    let time = Duration::from_millis(u64::try_from(time).ok()?);
    let removal = Removal { time, with_session: kind == CLOSE_SESSION };
    Some((zxid, removal, deleted(kind, &mut entry).unwrap_or_default()))
}

fn deleted(kind: i32, record: &mut Reader<'_>) -> Option<Vec<String>> {
    match kind {
        DELETE | DELETE_CONTAINER => Some(vec![record.text()?]),
        CLOSE_SESSION => (0..record.int()?).map(|_| record.text()).collect(),
        MULTI => {
            let mut all = Vec::new();
            for _ in 0..record.int()? {
                let (kind, part) = (record.int()?, record.buffer()?);
                all.extend(deleted(kind, &mut Reader(part)).unwrap_or_default());
            }
            Some(all)
        }
        _ => Some(vec![]),
    }
}

/// A reader for the parts of Jute that are needed.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn int(&mut self) -> Option<i32> {
        Some(i32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn long(&mut self) -> Option<i64> {
        Some(i64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }

    fn buffer(&mut self) -> Option<&'a [u8]> {
        let length = self.int()?;
        self.take(usize::try_from(length).ok()?)
    }

    fn text(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(self.buffer()?).into_owned())
    }
}
