//! Random numbers from a seed.

use std::time::Duration;

/// The generator `splitmix64`.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.number() % bound }
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = usize::try_from(self.below(last as u64 + 1)).unwrap_or(0);
            items.swap(last, other);
        }
    }

    /// A separate generator: the draws of one thread don't depend on the speed of the others.
    pub fn fork(&mut self) -> Self {
        Self::new(self.number())
    }

    /// A position in a list of this length.
    pub fn index(&mut self, length: usize) -> usize {
        let length = u64::try_from(length.max(1)).expect("64 bits");
        usize::try_from(self.below(length)).expect("below a usize")
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below((to - from).max(1)))
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }

    /// One of `from`, with a probability proportional to its weight.
    pub fn weighted<T: Copy>(&mut self, from: &[(usize, T)]) -> T {
        let mut left = self.index(from.iter().map(|(weight, _)| weight).sum());
        for &(weight, value) in from {
            if left < weight {
                return value;
            }
            left -= weight;
        }
        unreachable!("the number is below the sum of the weights")
    }
}
