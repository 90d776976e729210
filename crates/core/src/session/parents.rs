//! Creating the nodes of a path.

use super::call::{Call, NodeKind, Refusal};
use super::step::Next;
use crate::path::NodePath;
use crate::protocol::{Reply, RequestError};

/// The creation of a path: of the last node first, and of those above it only if they are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parents {
    path: String,
    /// The node of this step ends here in the path.
    end: usize,
    kind: NodeKind,
    /// The ACL of the new nodes might exclude zklock from them.
    may_hide: bool,
    doing: Doing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Create,
    /// Checks that zklock may read the new node.
    Read,
    /// Checks that zklock may create children of the new node.
    TryChild,
    /// Deletes a new node from which its ACL excludes zklock. Later, zklock may not be able to delete it. Another client may
    /// have created a child meanwhile.
    Delete,
}

/// The reply.
fn parents_made(result: Result<(), RequestError>) -> Next {
    Next::Reply(Reply::ParentsMade(result))
}

/// The path above; empty at the root.
fn above(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

impl Parents {
    pub(super) fn new(path: NodePath, kind: NodeKind, may_hide: bool) -> Self {
        let path = String::from(path);
        Self { end: path.len(), path, kind, may_hide, doing: Doing::Create }
    }

    fn node(&self) -> &str {
        &self.path[..self.end]
    }

    fn doing(self, doing: Doing) -> Next {
        Next::Send(Self { doing, ..self }.into())
    }

    pub(super) fn call(&self) -> Call<'_> {
        let path = self.node();
        match self.doing {
            Doing::Create => Call::Create { path, data: &[], kind: self.kind },
            Doing::Read => Call::GetData { path, watch: false },
            Doing::TryChild => Call::TryChild { path },
            Doing::Delete => Call::Delete { path, version: None },
        }
    }

    pub(super) fn succeeded(self) -> Next {
        match self.doing {
            Doing::Create if self.may_hide => self.doing(Doing::Read),
            Doing::Create | Doing::TryChild => self.exists(),
            Doing::Read => self.doing(Doing::TryChild),
            Doing::Delete => parents_made(Err(RequestError::Excluded)),
        }
    }

    pub(super) fn refused(self, refusal: Refusal, why: RequestError) -> Next {
        match (self.doing, refusal, why) {
            (Doing::Create, Refusal::NodeExists, _) => self.exists(),
            (Doing::Create, _, RequestError::NoNode) if !above(self.node()).is_empty() => {
                let end = above(self.node()).len();
                Next::Send(Self { end, ..self }.into())
            }
            // A server that denies the create has found the parent.
            (Doing::Create, _, RequestError::NoAuth) => {
                let parent = Some(above(self.node())).filter(|parent| !parent.is_empty());
                parents_made(Err(RequestError::NoCreate(parent.unwrap_or("/").to_owned())))
            }
            // Servers before 3.5 have no containers.
            (Doing::Create, _, RequestError::Unsupported) if self.kind == NodeKind::Container => {
                let (end, kind) = (self.path.len(), NodeKind::Persistent);
                Next::Send(Self { end, kind, ..self }.into())
            }
            (Doing::Read | Doing::TryChild, Refusal::Other, RequestError::NoAuth) => {
                self.doing(Doing::Delete)
            }
            (Doing::Read | Doing::TryChild, _, why) if why != RequestError::ConnectionLost => {
                self.succeeded()
            }
            (Doing::Delete, ..) => self.succeeded(),
            (_, _, why) => parents_made(Err(why)),
        }
    }

    /// The node exists: the next one below it is created, if any.
    fn exists(self) -> Next {
        if self.end >= self.path.len() {
            return parents_made(Ok(()));
        }
        let below = &self.path[self.end + 1..];
        let end = below.find('/').map_or(self.path.len(), |slash| self.end + 1 + slash);
        Next::Send(Self { end, doing: Doing::Create, ..self }.into())
    }
}
