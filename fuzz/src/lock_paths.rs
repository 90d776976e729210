//! Lock paths, against the rules of ZooKeeper's own `PathUtils.validatePath`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use zklock_core::path::LockPath;

/// A path is refused with a reason, or the server takes it too and it stays as it is.
pub fn check(data: &[u8]) {
    let given = OsStr::from_bytes(data);
    match LockPath::parse(given) {
        Err(reason) => assert!(!reason.to_string().is_empty()),
        Ok(path) => {
            let text = path.as_str();
            assert_eq!(given, text, "taken as it is");
            assert_eq!(LockPath::parse(OsStr::new(text)).as_ref(), Ok(&path));
            assert_eq!(path.to_string(), text);
            assert_eq!(invalid(text), None, "{text:?}");
            assert_ne!(text, "/");
            assert!(!text.starts_with("/zookeeper/") && text != "/zookeeper", "{text}");
            assert_eq!(path.child("x").as_str(), format!("{text}/x"));
            assert_eq!(invalid(path.child("lock-0000000001").as_str()), None, "{text:?}");
        }
    }
}

/// `PathUtils.validatePath` of ZooKeeper 3.8, on UTF-16 as in Java.
fn invalid(path: &str) -> Option<&'static str> {
    let path: Vec<u16> = path.encode_utf16().collect();
    let is = |at: usize, c: char| path.get(at).is_some_and(|&unit| u32::from(unit) == u32::from(c));
    let ends = |at: usize| at == path.len() || is(at, '/');
    if !is(0, '/') {
        return Some("doesn't begin with a slash");
    }
    if path.len() > 1 && is(path.len() - 1, '/') {
        return Some("ends with a slash");
    }
    for (at, unit) in path.iter().enumerate().skip(1) {
        if is(at, '/') && is(at - 1, '/') {
            return Some("an empty name");
        }
        if is(at, '.') && is(at - 1, '/') && (ends(at + 1) || is(at + 1, '.') && ends(at + 2)) {
            return Some("a relative name");
        }
        if matches!(unit, 0..=0x1f | 0x7f..=0x9f | 0xd800..=0xf8ff | 0xfff0..) {
            return Some("a character");
        }
    }
    None
}
