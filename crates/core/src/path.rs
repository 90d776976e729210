//! The paths of locks, checked before zklock does anything else, and of other nodes.

use std::ffi::OsStr;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// An absolute path in ZooKeeper that can be the parent of lock nodes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockPath(String);

/// The error in a lock path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PathError {
    /// It doesn't begin with a slash.
    #[error(
        "a lock path begins with '/', as in /locks/job; 'zklock --help' lists the subcommands, and the servers of -z have commas \
         between them"
    )]
    NotAbsolute,
    /// It is the root itself.
    #[error("the root can't be a lock; name a node below it, as in /locks/job")]
    Root,
    /// It ends with a slash.
    #[error("a path doesn't end with '/'")]
    TrailingSlash,
    /// It has two slashes in a row.
    #[error("'//' is an empty name in the middle of the path")]
    EmptyName,
    /// A name in it is `.` or `..`: ZooKeeper has no relative paths.
    #[error("'{0}' isn't a name in ZooKeeper: write the path out in full")]
    Relative(&'static str),
    /// It has a character that ZooKeeper refuses (`PathUtils.validatePath`).
    #[error("the character U+{:04X} isn't allowed in ZooKeeper paths", u32::from(*.0))]
    Character(char),
    /// It is in ZooKeeper's own subtree.
    #[error("/zookeeper belongs to ZooKeeper itself; put locks elsewhere, as in /locks/job")]
    Reserved,
    /// It isn't UTF-8.
    #[error("ZooKeeper paths are UTF-8, and this one isn't")]
    NotUtf8,
}

impl LockPath {
    /// Checks `path` by the rules of ZooKeeper's `PathUtils.validatePath` and by zklock's own: not the root, and not
    /// below `/zookeeper`.
    pub fn parse(path: &OsStr) -> Result<Self, PathError> {
        let path = path.to_str().ok_or(PathError::NotUtf8)?;
        let Some(names) = path.strip_prefix('/') else {
            return Err(PathError::NotAbsolute);
        };
        if names.is_empty() {
            return Err(PathError::Root);
        }
        if let Some(bad) = path.chars().find(|&c| !is_allowed(c)) {
            return Err(PathError::Character(bad));
        }
        if names.starts_with('/') || names.contains("//") {
            return Err(PathError::EmptyName);
        }
        if names.ends_with('/') {
            return Err(PathError::TrailingSlash);
        }
        for name in names.split('/') {
            match name {
                "." => return Err(PathError::Relative(".")),
                ".." => return Err(PathError::Relative("..")),
                _ => {}
            }
        }
        if names == "zookeeper" || names.starts_with("zookeeper/") {
            return Err(PathError::Reserved);
        }
        Ok(Self(path.to_owned()))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The lock's own node, the parent of all lock nodes.
    pub fn node(&self) -> NodePath {
        NodePath(self.0.clone())
    }

    /// The child `name`.
    pub fn child(&self, name: &str) -> NodePath {
        NodePath(format!("{}/{name}", self.0))
    }
}

/// The full path of any node, such as a lock node. It comes from a server or was built from a checked path.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NodePath(String);

impl NodePath {
    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path of the node above, and the node's name.
    pub fn split(&self) -> (&str, &str) {
        self.0.rsplit_once('/').unwrap_or(("", &self.0))
    }

    /// The node's name, without the path.
    pub fn name(&self) -> &str {
        self.split().1
    }

    /// Whether this is a child of the lock's node.
    pub fn is_child_of(&self, lock: &LockPath) -> bool {
        self.split().0 == lock.0
    }
}

impl From<String> for NodePath {
    fn from(path: String) -> Self {
        Self(path)
    }
}

impl From<&str> for NodePath {
    fn from(path: &str) -> Self {
        Self(path.to_owned())
    }
}

impl From<NodePath> for String {
    fn from(path: NodePath) -> Self {
        path.0
    }
}

impl fmt::Debug for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for LockPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `PathUtils.validatePath` refuses control characters, private use, specials, and surrogates. Java represents each
/// character above U+FFFF as two surrogates.
fn is_allowed(c: char) -> bool {
    !matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use proptest::prelude::*;

    use super::*;

    fn parse(path: &str) -> Result<LockPath, PathError> {
        LockPath::parse(OsStr::new(path))
    }

    #[test]
    fn ordinary_paths_are_accepted_unchanged() {
        for path in ["/a", "/locks/job", "/locks/.job", "/a b/ü\u{d7ff}", "/...", "/zookeeperish"] {
            assert_eq!(parse(path).map(|p| p.to_string()), Ok(path.to_owned()));
        }
    }

    #[test]
    fn a_node_is_the_child_of_one_lock() {
        let (lock, above) = (parse("/locks/job").unwrap(), parse("/locks").unwrap());
        let node = lock.child("lock-0000000001");
        assert_eq!(node, NodePath::from("/locks/job/lock-0000000001"));
        assert_eq!(node.split(), ("/locks/job", "lock-0000000001"));
        assert_eq!(node.name(), "lock-0000000001");
        assert!(node.is_child_of(&lock) && !node.is_child_of(&above));
        assert!(lock.node().is_child_of(&above) && !lock.node().is_child_of(&lock));
        assert_eq!(String::from(lock.node()), "/locks/job");
        assert_eq!(format!("{node} {node:?}"), "/locks/job/lock-0000000001 \"/locks/job/lock-0000000001\"");
    }

    #[test]
    fn each_invalid_path_has_its_own_error() {
        for (path, reason) in [
            ("", PathError::NotAbsolute),
            ("locks/job", PathError::NotAbsolute),
            ("/", PathError::Root),
            ("//", PathError::EmptyName),
            ("//a", PathError::EmptyName),
            ("/a//b", PathError::EmptyName),
            ("/a/", PathError::TrailingSlash),
            ("/a/.", PathError::Relative(".")),
            ("/../a", PathError::Relative("..")),
            ("/a\0b", PathError::Character('\0')),
            ("/a\nb", PathError::Character('\n')),
            ("/a\u{e000}", PathError::Character('\u{e000}')),
            ("/a🔒", PathError::Character('🔒')),
            ("/zookeeper", PathError::Reserved),
            ("/zookeeper/config", PathError::Reserved),
        ] {
            assert_eq!(parse(path), Err(reason), "{path:?}");
        }
        assert_eq!(LockPath::parse(OsStr::from_bytes(b"/a\xff")), Err(PathError::NotUtf8));
    }

    proptest! {
        #[test]
        fn an_accepted_path_has_only_valid_names(path in "\\PC{0,30}|(/|\\.|[a-z]){0,12}") {
            if let Ok(path) = parse(&path) {
                let mut names = path.as_str().split('/');
                prop_assert_eq!(names.next(), Some(""));
                prop_assert!(names.clone().count() > 0);
                prop_assert!(names.all(|name| !name.is_empty() && name != "." && name != ".."));
            }
        }
    }
}
