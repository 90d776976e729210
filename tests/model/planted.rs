//! Leases with a mistake in them, for the model of the lease to find.
//!
//! Each keeps all confirmations and looks for those that count, so that none shares a line with the real lease.

use std::time::Duration;

use zklock::core::time::BootTime;

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mistake {
    /// None: a second lease that does what the real one does. Shows that it is the mistakes that are found.
    Nothing,
    /// It counts from a confirmation that was answered only a sixth of the timeout before the next was sent.
    SpacedBySixth,
    /// It counts from the third confirmation before the newest, which was right at half this pace.
    ByCount,
    /// It counts from the answer and not from the sending.
    FromAnswer,
    /// It counts from the newest.
    FromNewest,
    /// An answer that comes after its end prolongs it.
    Revived,
}

/// A lease that is wrong in one way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Planted {
    mistake: Mistake,
    timeout: Duration,
    began: Option<BootTime>,
    confirmed: Vec<Confirmed>,
    over: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Confirmed {
    sent: BootTime,
    answered: BootTime,
}

impl Planted {
    pub fn new(mistake: Mistake, began: BootTime, timeout: Duration) -> Self {
        Self { mistake, timeout, began: Some(began), confirmed: vec![], over: false }
    }

    pub fn confirm(&mut self, sent: BootTime, now: BootTime) {
        if !self.is_over(now) || self.mistake == Mistake::Revived {
            self.confirmed.push(Confirmed { sent, answered: now });
        }
    }

    fn is_over(&mut self, now: BootTime) -> bool {
        self.over |= self.counts_from().is_some() && self.end() <= now;
        self.over
    }

    /// As for a session under which nothing runs.
    pub fn revive(&mut self, now: BootTime) {
        if self.is_over(now) && self.mistake != Mistake::Revived {
            (self.began, self.over) = (None, false);
            self.confirmed.clear();
        }
    }

    pub fn end(&self) -> BootTime {
        self.counts_from().map_or(BootTime::from_nanos(0), |from| from + self.timeout)
    }

    fn counts_from(&self) -> Option<BootTime> {
        let spacing = self.timeout / if self.mistake == Mistake::SpacedBySixth { 6 } else { 3 };
        let (newest, others) = self.confirmed.split_last().unzip();
        let counted = match self.mistake {
            Mistake::FromNewest => newest.copied(),
            Mistake::ByCount => self.confirmed.iter().rev().nth(3).copied(),
            _ => newest.zip(others).and_then(|(d, others)| {
                let c = others.iter().rfind(|c| c.answered <= d.sent)?;
                others.iter().rfind(|a| a.answered + spacing <= c.sent).copied()
            }),
        };
        let dated = |confirmed: Confirmed| match self.mistake {
            Mistake::FromAnswer => confirmed.answered,
            _ => confirmed.sent,
        };
        counted.map(dated).or(self.began)
    }
}
