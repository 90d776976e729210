//! What happened when, by the servers' own transaction logs. Each entry has the time at which the leader proposed it,
//! and no client can see the change earlier.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The length of a file's header: a magic number, a version, and the number of the database.
const HEADER: usize = 16;
const MAGIC: &[u8] = b"ZKLG";

const CREATE: i32 = 1;
const DELETE: i32 = 2;
const MULTI: i32 = 14;
const CREATE2: i32 = 15;
const CREATE_CONTAINER: i32 = 19;
const DELETE_CONTAINER: i32 = 20;
const CLOSE_SESSION: i32 = -11;

/// A transaction, in the order of the servers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Transaction {
    /// The number that the leader gave it (zxid).
    zxid: i64,
    /// Since the epoch of the servers' clock.
    time: Duration,
    changes: Changes,
}

/// The paths that a transaction creates and deletes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Changes {
    created: Vec<String>,
    deleted: Vec<String>,
}

/// The transactions that a majority of the servers have logged, in their order. `data`: the directories of the servers.
///
/// A proposal of a leader that was deposed meanwhile is in no other log: it never took effect.
pub(crate) fn transactions<'a>(data: impl Iterator<Item = &'a Path>) -> Vec<Transaction> {
    let mut logged: BTreeMap<Transaction, usize> = BTreeMap::new();
    let mut servers = 0;
    for directory in data {
        servers += 1;
        let of_server: HashSet<_> =
            files(directory).iter().flat_map(|bytes| transactions_in(bytes)).collect();
        for transaction in of_server {
            *logged.entry(transaction).or_default() += 1;
        }
    }
    logged.into_iter().filter(|(_, logs)| logs * 2 > servers).map(|(transaction, _)| transaction).collect()
}

/// When each deleted node was deleted first, since the epoch of the servers' clock.
pub(crate) fn deletions(transactions: &[Transaction]) -> HashMap<&str, Duration> {
    let mut deletions = HashMap::new();
    for Transaction { time, changes, .. } in transactions {
        for path in &changes.deleted {
            let first = deletions.entry(path.as_str()).or_insert(*time);
            *first = (*time).min(*first);
        }
    }
    deletions
}

/// Proof that the servers lost transactions that a majority had logged: below a node that is never deleted they gave a
/// new node a number that they had given before. Released servers do that after some elections, those of `ZooKeeper` 3.8.0
/// among them (ZOOKEEPER-4785 and its relatives).
pub(crate) fn lost_transactions(transactions: &[Transaction]) -> Option<String> {
    let mut last: HashMap<&str, (u64, i64)> = HashMap::new();
    for transaction in transactions {
        for (parent, number) in transaction.changes.created.iter().filter_map(|path| numbered(path)) {
            let zxid = transaction.zxid;
            if let Some((given, earlier)) = last.insert(parent, (number, zxid))
                && number <= given
            {
                return Some(format!(
                    "they lost transactions that a majority had logged: below {parent} they gave out number \
                     {given} in transaction {earlier:#x}, and then {number} in {zxid:#x}"
                ));
            }
        }
    }
    None
}

/// The parent and the number of a sequential node.
fn numbered(path: &str) -> Option<(&str, u64)> {
    let (parent, name) = path.rsplit_once('/')?;
    Some((parent, name.get(name.len().checked_sub(10)?..)?.parse().ok()?))
}

fn files(data: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(data.join("version-2")).into_iter().flatten().flatten();
    let logs = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("log."));
    logs.filter_map(|log| fs::read(log.path()).ok()).filter(|bytes| bytes.starts_with(MAGIC)).collect()
}

/// The transactions of a log. An entry that isn't written completely, or the preallocated rest, ends the log.
fn transactions_in(bytes: &[u8]) -> Vec<Transaction> {
    let mut log = Reader(bytes.get(HEADER..).unwrap_or_default());
    std::iter::from_fn(|| transaction(&mut log)).collect()
}

fn transaction(log: &mut Reader<'_>) -> Option<Transaction> {
    let checksum = log.long()?;
    let entry = log.buffer().filter(|entry| checksum != 0 && !entry.is_empty())?;
    let _end_of_record = log.take(1)?;
    let mut entry = Reader(entry);
    let (_client, _cxid) = (entry.long()?, entry.int()?);
    let (zxid, time, kind) = (entry.long()?, entry.long()?, entry.int()?);
    let time = Duration::from_millis(u64::try_from(time).ok()?);
    let changes = changes(kind, &mut entry).unwrap_or_default();
    Some(Transaction { zxid, time, changes })
}

fn changes(kind: i32, record: &mut Reader<'_>) -> Option<Changes> {
    let mut changes = Changes::default();
    match kind {
        CREATE | CREATE2 | CREATE_CONTAINER => changes.created.push(record.text()?),
        DELETE | DELETE_CONTAINER => changes.deleted.push(record.text()?),
        CLOSE_SESSION => {
            changes.deleted = (0..record.int()?).map(|_| record.text()).collect::<Option<_>>()?;
        }
        MULTI => {
            for _ in 0..record.int()? {
                let (kind, part) = (record.int()?, record.buffer()?);
                let part = self::changes(kind, &mut Reader(part)).unwrap_or_default();
                changes.created.extend(part.created);
                changes.deleted.extend(part.deleted);
            }
        }
        _ => {}
    }
    Some(changes)
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
