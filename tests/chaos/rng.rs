//! What a run draws besides numbers: everything comes from its seed.

use crate::support::Rng;
use std::time::Duration;

impl Rng {
    /// A separate generator: the draws of one thread don't depend on the speed of the others.
    pub(crate) fn fork(&mut self) -> Self {
        Self::new(self.next())
    }

    /// A position in a list of this length.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        let length = u64::try_from(length.max(1)).expect("64 bits");
        usize::try_from(self.below(length)).expect("below a usize")
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below((to - from).max(1)))
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }

    /// One of `from`, with a probability proportional to its weight.
    pub(crate) fn weighted<T: Copy>(&mut self, from: &[(usize, T)]) -> T {
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
