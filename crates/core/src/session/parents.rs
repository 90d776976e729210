//! Creating the nodes of a path.

use super::call::{Call, NodeKind, Refusal};
use super::step::FollowUp;
use crate::path::NodePath;
use crate::protocol::{Reply, RequestError};

/// The creation of a path: of the last node first, and of those above it only if they are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parents {
    path: String,
    /// The node of this step ends here in the path.
    end: usize,
    kind: NodeKind,
}

/// The reply.
fn parents_made(result: Result<(), RequestError>) -> FollowUp {
    FollowUp::Reply(Reply::ParentsMade(result))
}

/// The path above; empty at the root.
fn above(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

impl Parents {
    pub(super) fn new(path: NodePath, kind: NodeKind) -> Self {
        let path = String::from(path);
        Self { end: path.len(), path, kind }
    }

    fn node(&self) -> &str {
        &self.path[..self.end]
    }

    pub(super) fn call(&self) -> Call<'_> {
        Call::Create { path: self.node(), data: &[], kind: self.kind }
    }

    /// The node exists: the next one below it is created, if any.
    pub(super) fn exists(self) -> FollowUp {
        if self.end >= self.path.len() {
            return parents_made(Ok(()));
        }
        let below = &self.path[self.end + 1..];
        let end = below.find('/').map_or(self.path.len(), |slash| self.end + 1 + slash);
        FollowUp::Send(Self { end, ..self }.into())
    }

    pub(super) fn refused(self, refusal: Refusal, why: RequestError) -> FollowUp {
        match (refusal, why) {
            (Refusal::NodeExists, _) => self.exists(),
            (_, RequestError::NoNode) if !above(self.node()).is_empty() => {
                let end = above(self.node()).len();
                FollowUp::Send(Self { end, ..self }.into())
            }
            // A server that denies the create has found the parent.
            (_, RequestError::NoAuth) => {
                let parent = Some(above(self.node())).filter(|parent| !parent.is_empty());
                parents_made(Err(RequestError::NoCreate(parent.unwrap_or("/").to_owned())))
            }
            // Servers before 3.5 have no containers.
            (_, RequestError::Unsupported) if self.kind == NodeKind::Container => {
                let (end, kind) = (self.path.len(), NodeKind::Persistent);
                FollowUp::Send(Self { end, kind, ..self }.into())
            }
            (_, why) => parents_made(Err(why)),
        }
    }
}
