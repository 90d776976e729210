//! The names of lock nodes. They contain the kind of lock, so the list of children alone decides which contender holds
//! the lock.
//!
//! Only the patterns of known families count as contenders. Other children are ignored: a stray node must neither block
//! a lock forever nor be taken for a holder.

use std::fmt;

use uuid::Uuid;

/// The naming scheme that a lock node follows. Families don't see each other's nodes, so a path belongs to one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Curator's `InterProcessMutex`: the number follows the last `lock-`. Go's and Rust's clients use it too.
    Curator,
    /// Curator's `InterProcessReadWriteLock`: `__READ__N` and `__WRIT__N`.
    CuratorRw,
    /// kazoo's locks: `<hex>__lock__N` and `<hex>__rlock__N`.
    Kazoo,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Curator => "curator",
            Self::CuratorRw => "curator-rw",
            Self::Kazoo => "kazoo",
        })
    }
}

/// What a contender asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The only holder.
    Exclusive,
    /// Any number of readers, and no writer.
    Shared,
    /// At most this many holders.
    Slots(u32),
}

impl Mode {
    /// The mode as a single word for scripts.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::Shared => "shared",
            Self::Slots(_) => "slots",
        }
    }

    /// What a contender of this mode asks for, in a sentence.
    pub fn asked(self) -> String {
        match self {
            Self::Exclusive => "an exclusive lock".to_owned(),
            Self::Shared => "a shared lock".to_owned(),
            Self::Slots(1) => "the only slot".to_owned(),
            Self::Slots(slots) => format!("one of {slots} slots"),
        }
    }

    /// How many contenders may hold at the same time. For shared it is 1, although any number of readers may hold: that
    /// is what shared means.
    pub fn slots(self) -> u32 {
        if let Self::Slots(slots) = self { slots } else { 1 }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exclusive => f.write_str("exclusive"),
            Self::Shared => f.write_str("shared"),
            Self::Slots(1) => f.write_str("1 slot"),
            Self::Slots(slots) => write!(f, "{slots} slots"),
        }
    }
}

/// A parsed lock node name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name<'a> {
    /// The whole name, as the server lists it.
    pub text: &'a str,
    /// Its naming scheme.
    pub family: Family,
    /// What its owner asks for.
    pub mode: Mode,
    /// The number that the server appended. Negative once the counter of a ZooKeeper 3.5 server has wrapped.
    pub sequence: i32,
}

impl<'a> Name<'a> {
    /// Parses `text`; `None` if it follows no known pattern and so isn't a contender.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (stem, sequence) = split_sequence(text)?;
        let (family, mode) = curator(stem).or_else(|| curator_rw(stem)).or_else(|| kazoo(stem))?;
        Some(Self { text, family, mode, sequence })
    }

    /// Whether this is the node that was created with `prefix`.
    pub fn is_from(&self, prefix: &str) -> bool {
        self.text.starts_with(prefix)
    }
}

/// The prefix with which zklock creates a node: the whole name except the number, which the server appends.
///
/// The uuid is new for each attempt, so it identifies a node whose create lost its reply. Only Curator's mutex has a
/// name for slots. In the other families, a mode without a name is written as exclusive.
pub fn prefix(family: Family, mode: Mode, attempt: Uuid) -> String {
    match (family, mode) {
        (Family::Curator, Mode::Exclusive) => format!("_c_{attempt}-lock-"),
        (Family::Curator, Mode::Shared) => format!("_c_{attempt}-read-lock-"),
        (Family::Curator, Mode::Slots(slots)) => format!("_c_{attempt}-slots{slots}-lock-"),
        (Family::CuratorRw, Mode::Shared) => format!("_c_{attempt}-__READ__"),
        (Family::CuratorRw, _) => format!("_c_{attempt}-__WRIT__"),
        (Family::Kazoo, Mode::Shared) => format!("{}__rlock__", attempt.simple()),
        (Family::Kazoo, _) => format!("{}__lock__", attempt.simple()),
    }
}

/// Splits off the number, printed as Java prints an `int` with `%010d`: ten characters, including a sign.
pub(super) fn split_sequence(text: &str) -> Option<(&str, i32)> {
    let (stem, digits) = text.split_at_checked(text.len().checked_sub(10)?)?;
    let (stem, digits) = match stem.strip_suffix('-') {
        // `lock--000000005`: the sign may come before the last ten characters if the value has ten digits.
        Some(shorter) if shorter.ends_with(['-', '_']) => (shorter, text.get(shorter.len()..)?),
        _ => (stem, digits),
    };
    let (unsigned, is_negative) = digits.strip_prefix('-').map_or((digits, false), |rest| (rest, true));
    let number = unsigned.bytes().try_fold(0, |number: i64, digit| {
        digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
    })?;
    let number = i32::try_from(if is_negative { -number } else { number }).ok()?;
    // Java prints no negative zero, and no eleventh character unless it is needed. A queue may have 100,000 names, so
    // nothing is formatted here to compare it.
    let is_java_s = !is_negative || number < 0 && !(unsigned.len() == 10 && unsigned.starts_with('0'));
    is_java_s.then_some((stem, number))
}

/// `lock-`, `read-lock-` or `slots<N>-lock-`, with or without Curator's protection `_c_<id>-` in front.
fn curator(stem: &str) -> Option<(Family, Mode)> {
    let mode = match unprotected(stem).strip_suffix("lock-")? {
        "" => Mode::Exclusive,
        "read-" => Mode::Shared,
        other => Mode::Slots(slots(other.strip_prefix("slots")?.strip_suffix('-')?)?),
    };
    Some((Family::Curator, mode))
}

fn curator_rw(stem: &str) -> Option<(Family, Mode)> {
    let mode = match unprotected(stem) {
        "__READ__" => Mode::Shared,
        "__WRIT__" => Mode::Exclusive,
        _ => return None,
    };
    Some((Family::CuratorRw, mode))
}

fn kazoo(stem: &str) -> Option<(Family, Mode)> {
    let (id, rest) = stem.split_at_checked(32)?;
    let mode = match rest {
        "__lock__" => Mode::Exclusive,
        "__rlock__" => Mode::Shared,
        _ => return None,
    };
    is_hex(id).then_some((Family::Kazoo, mode))
}

/// Strips Curator's protection: `_c_` and a uuid, which Go's client writes without dashes.
pub(super) fn unprotected(stem: &str) -> &str {
    let strip = |rest: &'_ str, length: usize| -> Option<usize> {
        let (id, rest) = rest.split_at_checked(length)?;
        let dashes = id.bytes().filter(|&b| b == b'-').count();
        let is_id = dashes + 32 == length && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
        (is_id && rest.starts_with('-')).then_some(3 + length + 1)
    };
    stem.strip_prefix("_c_")
        .and_then(|rest| strip(rest, 36).or_else(|| strip(rest, 32)))
        .map_or(stem, |length| stem.get(length..).unwrap_or(stem))
}

pub(super) fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A count of slots as zklock writes it: no sign, no leading zero, at least one.
fn slots(digits: &str) -> Option<u32> {
    if digits.starts_with(['0', '+']) { None } else { digits.parse().ok() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UUID: &str = "9a2c3f60-7a5e-4d5b-8a67-0123456789ab";
    const HEX: &str = "9a2c3f607a5e4d5b8a670123456789ab";

    fn parsed(text: &str) -> Option<(Family, Mode, i32)> {
        Name::parse(text).map(|name| (name.family, name.mode, name.sequence))
    }

    #[test]
    fn every_known_pattern_is_parsed() {
        use {Family::*, Mode::*};
        for (text, expected) in [
            (format!("_c_{UUID}-lock-0000000007"), (Curator, Exclusive, 7)),
            (format!("_c_{HEX}-lock-0000000007"), (Curator, Exclusive, 7)),
            ("lock-0000000000".to_owned(), (Curator, Exclusive, 0)),
            ("read-lock-0000000003".to_owned(), (Curator, Shared, 3)),
            (format!("_c_{UUID}-read-lock-0000000008"), (Curator, Shared, 8)),
            (format!("_c_{UUID}-slots12-lock-0000000009"), (Curator, Slots(12), 9)),
            (format!("_c_{UUID}-__READ__0000000001"), (CuratorRw, Shared, 1)),
            (format!("_c_{UUID}-__WRIT__0000000002"), (CuratorRw, Exclusive, 2)),
            (format!("{HEX}__lock__0000000004"), (Kazoo, Exclusive, 4)),
            (format!("{HEX}__rlock__0000000005"), (Kazoo, Shared, 5)),
            (format!("_c_{UUID}-lock-2147483647"), (Curator, Exclusive, i32::MAX)),
            (format!("_c_{UUID}-lock--000000005"), (Curator, Exclusive, -5)),
            (format!("_c_{UUID}-lock--999999999"), (Curator, Exclusive, -999_999_999)),
            (format!("_c_{UUID}-lock--2147483648"), (Curator, Exclusive, i32::MIN)),
            (format!("{HEX}__lock__-2147483648"), (Kazoo, Exclusive, i32::MIN)),
        ] {
            assert_eq!(parsed(&text), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_naming_is_called_as_its_option_is() {
        let names = [Family::Curator, Family::CuratorRw, Family::Kazoo].map(|family| family.to_string());
        assert_eq!(names, ["curator", "curator-rw", "kazoo"]);
    }

    #[test]
    fn other_names_are_not_contenders() {
        for text in [
            "",
            "leases",
            "lock",
            "lock-",
            "lock-7",
            "lock-00000000007",
            "lock-2147483648",
            "lock-+000000007",
            "lock--000000000",
            "lock--0000000052",
            "config-0000000001",
            "unlock-0000000001",
            "_c_zz-lock-0000000001",
            "_c_-lock-0000000001",
            "_c_9a2c3f60-7a5e-4d5b-8a67-0123456789ag-lock-0000000001",
            "_c_9a2c3f607a5e4d5b8a670123456789ab0123-lock-0000000001",
            "_c_9a2c3f60-7a5e-4d5b-8a67-0123456789abxlock-0000000001",
            "slots0-lock-0000000001",
            "slots+2-lock-0000000001",
            "slots-lock-0000000001",
            "xyz__lock__0000000001",
            "lock-000000000é",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn zklock_s_own_names_are_parsed_back(sequence in 0..=i32::MAX, id: u128, slots in 1u32.., kind in 0..7) {
            use {Family::*, Mode::*};
            let kinds = [
                (Curator, Exclusive), (Curator, Shared), (Curator, Slots(slots)),
                (CuratorRw, Exclusive), (CuratorRw, Shared), (Kazoo, Exclusive), (Kazoo, Shared),
            ];
            let (family, mode) = kinds[usize::try_from(kind).unwrap()];
            let prefix = prefix(family, mode, Uuid::from_u128(id));
            let text = format!("{prefix}{sequence:010}");
            prop_assert_eq!(parsed(&text), Some((family, mode, sequence)));
            prop_assert!(Name::parse(&text).is_some_and(|name| name.is_from(&prefix)));
        }

        #[test]
        fn numbers_survive_as_java_prints_them(sequence: i32) {
            // Rust pads a signed number to the same ten characters as Java's %010d.
            let text = format!("lock-{sequence:010}");
            prop_assert_eq!(parsed(&text), Some((Family::Curator, Mode::Exclusive, sequence)));
        }

        #[test]
        fn any_text_is_parsed_or_ignored(text in "\\PC{0,60}") {
            let _ = Name::parse(&text);
        }
    }
}
