//! A hasher without random state, for maps that are used only for lookups.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

pub(super) type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<Fast>>;

/// Multiplies and rotates, eight bytes at a time.
#[derive(Default)]
pub(super) struct Fast(u64);

impl Fast {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for Fast {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_ne_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.add(u64::from_ne_bytes(last));
    }

    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    fn write_i64(&mut self, word: i64) {
        self.add(word.cast_unsigned());
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
