//! Encodes a scene's requests and decodes the packets of real servers.

use crate::ensemble::wire::{Answer, Code, Happened, Mode, Op, Stat, ToClient, WireError};
use crate::support::jute::{Bytes, Reader};

const ALL_PERMISSIONS: i32 = 31;

/// The operation code of a request.
pub(super) fn code(op: &Op) -> i32 {
    match op {
        Op::Create { mode: Mode::Container, .. } => 19,
        Op::Create { .. } => 15,
        Op::Delete { .. } => 2,
        Op::Exists { .. } => 3,
        Op::GetData { .. } => 4,
        Op::SetData { .. } => 5,
        Op::Sync => 9,
        Op::Ping => 11,
        Op::GetChildren { .. } => 12,
        Op::Check { .. } => 13,
        Op::Multi(_) => 14,
        Op::Close => -11,
    }
}

pub(super) fn encode(to: Bytes, op: &Op) -> Bytes {
    match op {
        Op::Create { path, data, mode } => {
            let flags = match mode {
                Mode::Persistent => 0,
                Mode::Ephemeral => 1,
                Mode::EphemeralSequential => 3,
                Mode::Container => 4,
            };
            let node = to.buffer(path.as_bytes()).buffer(data).int(1).int(ALL_PERMISSIONS);
            node.buffer(b"world").buffer(b"anyone").int(flags)
        }
        Op::Delete { path, version } | Op::Check { path, version } => {
            to.buffer(path.as_bytes()).int(*version)
        }
        Op::SetData { path, data, version } => to.buffer(path.as_bytes()).buffer(data).int(*version),
        Op::Multi(ops) => {
            let each = |to: Bytes, op| encode(to.int(code(op)).bool(false).int(-1), op);
            ops.iter().fold(to, each).int(-1).bool(true).int(-1)
        }
        Op::Exists { path } => to.buffer(path.as_bytes()).bool(false),
        Op::GetData { path, watch } | Op::GetChildren { path, watch } => {
            to.buffer(path.as_bytes()).bool(*watch)
        }
        Op::Sync => to.buffer(b"/"),
        Op::Ping | Op::Close => to,
    }
}

fn error(number: i32) -> Code {
    match number {
        -2 => Code::RuntimeInconsistency,
        -8 => Code::BadArguments,
        -101 => Code::NoNode,
        -103 => Code::BadVersion,
        -108 => Code::NoChildrenForEphemerals,
        -110 => Code::NodeExists,
        -111 => Code::NotEmpty,
        -112 => Code::SessionExpired,
        -118 => Code::SessionMoved,
        other => panic!("an error {other} that no scene should meet"),
    }
}

/// Decodes a packet from the server. `asked` returns the operation code of the request that an answer is for.
pub(super) fn decode(packet: &[u8], asked: impl FnOnce() -> i32) -> Option<ToClient> {
    let mut reader = Reader(packet);
    let (xid, _zxid, failed) = (reader.int()?, reader.long()?, reader.int()?);
    if xid == -1 {
        let (kind, _state, path) = (reader.int()?, reader.int()?, reader.text()?.into());
        let happened = match kind {
            1 => Happened::Created,
            2 => Happened::Deleted,
            3 => Happened::DataChanged,
            4 => Happened::ChildrenChanged,
            other => panic!("an event {other} that no scene should meet"),
        };
        return Some(ToClient::Event { path, happened });
    }
    let result = match (failed, asked()) {
        (0, 14) => several(&mut reader)?,
        (0, asked) => Ok(answer(&mut reader, asked)?),
        _ => Err(error(failed).into()),
    };
    Some(ToClient::Answer { xid, result })
}

fn answer(reader: &mut Reader<'_>, asked: i32) -> Option<Answer> {
    Some(match asked {
        1 => Answer::Created(reader.text()?.into(), Stat::default()),
        15 | 19 => Answer::Created(reader.text()?.into(), stat(reader)?),
        3 | 5 => Answer::Stat(stat(reader)?),
        4 => Answer::Data(reader.buffer()?.into(), stat(reader)?),
        12 => {
            let names: Option<_> = (0..reader.int()?).map(|_| reader.text().map(Into::into)).collect();
            Answer::Children(names?, stat(reader)?)
        }
        _ => Answer::Done,
    })
}

fn stat(reader: &mut Reader<'_>) -> Option<Stat> {
    let (czxid, mzxid, ctime, mtime) = (reader.long()?, reader.long()?, reader.long()?, reader.long()?);
    let (version, cversion, _acl_version) = (reader.int()?, reader.int()?, reader.int()?);
    let (owner, data_length, children, pzxid) =
        (reader.long()?, reader.int()?, reader.int()?, reader.long()?);
    Some(Stat { czxid, mzxid, pzxid, ctime, mtime, version, cversion, owner, data_length, children })
}

/// The answer to a transaction.
fn several(reader: &mut Reader<'_>) -> Option<Result<Answer, WireError>> {
    let (mut answers, mut refusal) = (vec![], None);
    loop {
        let (kind, is_done, _) = (reader.int()?, reader.bool()?, reader.int()?);
        if is_done {
            return Some(refusal.map_or(Ok(Answer::Multi(answers)), Err));
        }
        if kind == -1 {
            let failed = reader.int()?;
            if failed != 0 && refusal.is_none() {
                refusal = Some(WireError { code: error(failed), index: answers.len() });
            }
            answers.push(Answer::Done);
        } else {
            answers.push(answer(reader, kind)?);
        }
    }
}
