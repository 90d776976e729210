//! How much of long queues a terminal shows, so that one queue doesn't push the others off the screen. Pure.

/// More contenders of one lock than this fill a screen and tell nobody anything.
const MOST: usize = 20;

/// How many contenders of each lock are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    /// All of them.
    Never,
    /// So many. One more takes no more room than to say that there is one more.
    After(usize),
}

impl Fold {
    /// The fold that shows most of queues of these lengths in so many lines: one for the titles, one for each lock, and one
    /// for each contender.
    pub(super) fn fitting(lengths: &[usize], height: Option<usize>) -> Self {
        let lines = |most: usize| 1 + lengths.iter().map(|&length| 1 + length.min(most + 1)).sum::<usize>();
        let fits = |most: &usize| height.is_none_or(|height| lines(*most) <= height);
        Self::After((0..=MOST).rev().find(fits).unwrap_or(0))
    }

    /// How many of a queue of this length are shown; if not all, there is a line that says how many more there are.
    pub(super) fn shown(self, length: usize) -> usize {
        match self {
            Self::After(most) if length > most + 1 => most,
            _ => length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_queue_is_folded_and_a_short_one_is_not() {
        let fold = Fold::fitting(&[500, 21, 1], None);
        assert_eq!((fold.shown(500), fold.shown(22), fold.shown(21), fold.shown(1)), (20, 20, 21, 1));
        assert_eq!(Fold::Never.shown(500), 500);
    }

    #[test]
    fn what_is_shown_fits_wherever_that_is_possible() {
        for lengths in [&[500][..], &[500, 300], &[3, 500, 2], &[0, 1], &[]] {
            for height in 0..60 {
                let fold = Fold::fitting(lengths, Some(height));
                let shown =
                    |&length: &usize| 1 + fold.shown(length) + usize::from(fold.shown(length) < length);
                let lines = 1 + lengths.iter().map(shown).sum::<usize>();
                let least = 1 + lengths.iter().map(|&length| 1 + length.min(1)).sum::<usize>();
                assert!(lines <= height.max(least), "{lengths:?} in {height}: {lines}");
            }
        }
    }
}
