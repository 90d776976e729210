//! Limits how many contenders of a long queue are shown, so that one queue doesn't push the others off the screen.
//! Pure.

/// The most contenders of a lock that are shown on a terminal.
const MOST: usize = 20;

/// How many contenders of each lock are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    /// All of them.
    Never,
    /// This many. One more is shown too, because the line "1 more" would take the same room.
    After(usize),
}

impl Fold {
    /// The fold that shows as much as possible of queues of these lengths in `height` lines: one for the titles, one
    /// for each lock, and one for each contender.
    pub(super) fn fitting(lengths: &[usize], height: Option<usize>) -> Self {
        let lines = |most: usize| 1 + lengths.iter().map(|&length| 1 + length.min(most + 1)).sum::<usize>();
        let fits = |most: &usize| height.is_none_or(|height| lines(*most) <= height);
        Self::After((0..=MOST).rev().find(fits).unwrap_or(0))
    }

    /// How many contenders of a queue of this length are shown. If not all are, one more line says how many are
    /// missing.
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
    fn folded_queues_fit_into_the_height_if_that_is_possible() {
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
