//! The wire format of real servers: encodes a scene's requests and decodes the servers' packets.

use std::rc::Rc;

use crate::ensemble::wire::{Acl, Answer, Code, Happened, Mode, Op, Stat, ToClient, WireError};

const ANYONE: (&str, &str) = ("world", "anyone");

#[derive(Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn int(&mut self, number: i32) -> &mut Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    pub(super) fn long(&mut self, number: i64) -> &mut Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    pub(super) fn bool(&mut self, flag: bool) -> &mut Self {
        self.0.push(u8::from(flag));
        self
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.int(bytes.len() as i32).0.extend(bytes);
        self
    }

    fn texts(&mut self, texts: &[String]) {
        self.int(texts.len() as i32);
        for text in texts {
            self.bytes(text.as_bytes());
        }
    }

    /// The packet: its length, followed by the contents.
    pub(super) fn packet(&self) -> Vec<u8> {
        let mut packet = (self.0.len() as i32).to_be_bytes().to_vec();
        packet.extend(&self.0);
        packet
    }
}

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
        Op::SetWatches { .. } => 101,
        Op::Close => -11,
    }
}

pub(super) fn encode(writer: &mut Writer, op: &Op) {
    match op {
        Op::Create { path, data, acl: Acl { everyone: permissions }, mode } => {
            let flags = match mode {
                Mode::Persistent => 0,
                Mode::Ephemeral => 1,
                Mode::PersistentSequential => 2,
                Mode::EphemeralSequential => 3,
                Mode::Container => 4,
            };
            writer.bytes(path.as_bytes()).bytes(data).int(1).int(i32::from(*permissions));
            writer.bytes(ANYONE.0.as_bytes()).bytes(ANYONE.1.as_bytes()).int(flags);
        }
        Op::Delete { path, version } | Op::Check { path, version } => {
            writer.bytes(path.as_bytes()).int(*version);
        }
        Op::SetData { path, data, version } => {
            writer.bytes(path.as_bytes()).bytes(data).int(*version);
        }
        Op::Multi(ops) => {
            for op in ops {
                writer.int(code(op)).bool(false).int(-1);
                encode(writer, op);
            }
            writer.int(-1).bool(true).int(-1);
        }
        Op::Exists { path, watch } | Op::GetData { path, watch } | Op::GetChildren { path, watch } => {
            writer.bytes(path.as_bytes()).bool(*watch);
        }
        Op::Sync => {
            writer.bytes(b"/");
        }
        Op::SetWatches { since, data, exist, child } => {
            writer.long(*since);
            for paths in [data, exist, child] {
                writer.texts(paths);
            }
        }
        Op::Ping | Op::Close => {}
    }
}

pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self.0.split_first_chunk::<N>().expect("a whole packet");
        self.0 = rest;
        *taken
    }

    pub(super) fn int(&mut self) -> i32 {
        i32::from_be_bytes(self.take())
    }

    pub(super) fn long(&mut self) -> i64 {
        i64::from_be_bytes(self.take())
    }

    fn bool(&mut self) -> bool {
        self.take::<1>() != [0]
    }

    pub(super) fn bytes(&mut self) -> Vec<u8> {
        let length = usize::try_from(self.int()).unwrap_or(0);
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken.to_vec()
    }

    fn text(&mut self) -> Rc<str> {
        String::from_utf8(self.bytes()).expect("a path").into()
    }

    fn stat(&mut self) -> Stat {
        let (czxid, mzxid, ctime, mtime) = (self.long(), self.long(), self.long(), self.long());
        let (version, cversion, _acl_version) = (self.int(), self.int(), self.int());
        let (owner, data_length, children, pzxid) = (self.long(), self.int(), self.int(), self.long());
        Stat { czxid, mzxid, pzxid, ctime, mtime, version, cversion, owner, data_length, children }
    }
}

fn error(number: i32) -> Code {
    match number {
        -2 => Code::RuntimeInconsistency,
        -8 => Code::BadArguments,
        -101 => Code::NoNode,
        -102 => Code::NoAuth,
        -103 => Code::BadVersion,
        -108 => Code::NoChildrenForEphemerals,
        -110 => Code::NodeExists,
        -111 => Code::NotEmpty,
        -112 => Code::SessionExpired,
        -118 => Code::SessionMoved,
        -127 => Code::Throttled,
        other => panic!("an error {other} that no scene should meet"),
    }
}

/// Decodes a packet from the server. `asked` returns the operation code of the request that an answer is for.
pub(super) fn decode(packet: &[u8], asked: impl FnOnce() -> i32) -> ToClient {
    let mut reader = Reader(packet);
    let (xid, zxid, failed) = (reader.int(), reader.long(), reader.int());
    if xid == -1 {
        let (kind, _state, path) = (reader.int(), reader.int(), reader.text());
        let happened = match kind {
            1 => Happened::Created,
            2 => Happened::Deleted,
            3 => Happened::DataChanged,
            4 => Happened::ChildrenChanged,
            other => panic!("an event {other} that no scene should meet"),
        };
        return ToClient::Event { path, happened };
    }
    let asked = asked();
    let result = if failed == 0 { answer(&mut reader, asked) } else { Err(error(failed).into()) };
    ToClient::Answer { xid, zxid, result }
}

fn answer(reader: &mut Reader<'_>, asked: i32) -> Result<Answer, WireError> {
    Ok(match asked {
        1 => Answer::Created(reader.text(), Stat::default()),
        15 | 19 => Answer::Created(reader.text(), reader.stat()),
        3 | 5 => Answer::Stat(reader.stat()),
        4 => Answer::Data(reader.bytes().into(), reader.stat()),
        12 => {
            let names = (0..reader.int()).map(|_| reader.text()).collect();
            Answer::Children(names, reader.stat())
        }
        14 => return several(reader),
        _ => Answer::Done,
    })
}

fn several(reader: &mut Reader<'_>) -> Result<Answer, WireError> {
    let (mut answers, mut refusal) = (vec![], None);
    loop {
        let (kind, is_done, _) = (reader.int(), reader.bool(), reader.int());
        if is_done {
            return refusal.map_or(Ok(Answer::Multi(answers)), Err);
        }
        if kind == -1 {
            let failed = reader.int();
            if failed != 0 && refusal.is_none() {
                refusal = Some(WireError { code: error(failed), index: answers.len() });
            }
            answers.push(Answer::Done);
        } else {
            answers.push(answer(reader, kind)?);
        }
    }
}
