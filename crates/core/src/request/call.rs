//! The calls of ZooKeeper's protocol that a session makes, and their answers.

use crate::path::NodePath;
use crate::protocol::{LockNode, Node, RequestError};

/// The kind of a node to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// It goes with the session, and the server completes its name by a number.
    EphemeralSequential,
    /// The server removes it once it is empty.
    Container,
    /// It stays.
    Persistent,
}

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call<'a> {
    Create {
        path: &'a str,
        data: &'a [u8],
        kind: NodeKind,
    },
    GetData {
        path: &'a str,
        watch: bool,
    },
    GetChildren {
        path: &'a str,
        watch: bool,
    },
    Exists {
        path: &'a str,
    },
    /// Lets the server catch up with the leader.
    Sync {
        path: &'a str,
    },
    SetData {
        path: &'a str,
        data: &'a [u8],
        version: i32,
    },
    Delete {
        path: &'a str,
        version: Option<i32>,
    },
    /// A transaction that writes the record, which exists or is created, and then deletes the node.
    Record {
        record: &'a str,
        data: &'a [u8],
        exists: bool,
        node: &'a str,
    },
    /// A transaction of checks that each of these nodes exists.
    Check {
        paths: &'a [NodePath],
    },
    /// A transaction that creates these nodes, checks the last one, which is ephemeral, `writes` it or not, and deletes them.
    Try {
        nodes: &'a [NodePath],
        data: &'a [u8],
        writes: bool,
    },
}

/// What a call that succeeded returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallAnswer {
    Done,
    Created(LockNode),
    /// A node; without its data if that wasn't asked for.
    Node(Node),
    Children(Vec<String>),
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallError {
    pub refusal: Refusal,
    /// What the request's reply says if nothing else follows.
    pub why: RequestError,
}

/// What a session has to tell apart besides the [`RequestError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The server has too much to do.
    Throttled,
    NodeExists,
    /// An operation of a transaction failed, and not the first.
    Later,
    Other,
}
