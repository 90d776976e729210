//! The judge of what commands did under their locks: exclusion, order, and no sign of life after an end. It knows nothing
//! of who tells it: `scripts/chaos` and the behaviour tests read a history that real commands wrote, and the simulation
//! tells what its commands do.
//!
//! A section lasts from its beginning to the last sign of life. A command that was killed leaves no end, and any later
//! sign of life shows that it was still alive. When a sign extends a section, the checker looks at every section that
//! began in the added time: were all sections that were active then allowed to overlap?

use std::collections::HashSet;
use std::time::Duration;

/// The number of slots of every semaphore that is judged.
pub const SLOTS: usize = 2;

/// How a command holds a lock, in the words of `ZKLOCK_LOCKS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Exclusive,
    Shared,
    Slots,
}

impl Mode {
    /// Whether the two modes must not be held at the same time.
    fn excludes(self, other: Self) -> bool {
        !matches!((self, other), (Self::Shared, Self::Shared) | (Self::Slots, Self::Slots))
    }
}

/// A lock of a section.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
pub struct Place {
    pub path: String,
    pub node: String,
    #[serde(rename = "fencing_token")]
    pub token: u64,
    pub mode: Mode,
}

impl Place {
    /// The locks in the value of `ZKLOCK_LOCKS`.
    pub fn all(listed: &str) -> Result<Vec<Self>, String> {
        serde_json::from_str(listed).map_err(|why| format!("{why}: {listed}"))
    }

    fn sequence(&self) -> Option<u64> {
        self.node.get(self.node.len().checked_sub(10)?..)?.parse().ok()
    }
}

/// The period in which a command held its locks.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    pub name: String,
    /// That of its first lock.
    pub token: u64,
    pub places: Vec<Place>,
    pub begin: Duration,
    /// The time of its last sign of life.
    pub last: Duration,
    pub ended: bool,
    /// When its last process must be gone.
    gone: Option<Duration>,
    /// The numbers of its first and last sign of life.
    signs: (usize, usize),
}

impl Section {
    /// Whether a sign of one lies between signs of the other.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.signs.0 < other.signs.1 && other.signs.0 < self.signs.1
    }

    /// Whether it lasts for longer than until the other begins.
    pub fn outlasts_begin_of(&self, other: &Self) -> bool {
        self.signs.0 <= other.signs.0 && other.signs.0 < self.signs.1
    }

    fn place(&self, path: &str) -> Option<&Place> {
        self.places.iter().find(|place| place.path == path)
    }

    fn active_at(&self, sign: usize) -> bool {
        (self.signs.0..=self.signs.1).contains(&sign)
    }
}

/// The sections so far.
#[derive(Debug, Default)]
pub struct Checker {
    /// The parents of locks are never removed, so the sequence numbers give the order of the queue.
    parents_stay: bool,
    signs: usize,
    /// In the order in which they began.
    sections: Vec<Section>,
    /// Exclusion isn't guaranteed for them: an administrator has deleted their node. This is the only excuse.
    evicted: HashSet<String>,
    /// The last recorded success, and until when it counts.
    recorded: Option<(String, Duration)>,
}

impl Checker {
    /// A checker of locks whose parents are never removed.
    pub fn of_lasting_parents() -> Self {
        Self { parents_stay: true, ..Self::default() }
    }

    /// A command begins under these locks.
    pub fn begin(&mut self, name: &str, time: Duration, places: Vec<Place>) -> Result<(), String> {
        self.signs += 1;
        let is_known = places.iter().any(|place| !place.node.is_empty());
        if is_known && self.section(name).is_some() {
            return Err(format!("{name} begins a second time"));
        }
        places.iter().try_for_each(|place| self.check_order(name, place))?;
        let signs = (self.signs, self.signs);
        let (name, token) = (name.to_owned(), places[0].token);
        self.sections.push(Section {
            name,
            token,
            places,
            begin: time,
            last: time,
            ended: false,
            gone: None,
            signs,
        });
        self.check_recorded()?;
        self.check_begun_since(self.signs - 1, self.sections.len() - 1)
    }

    /// A command gives a sign of life, perhaps its last. The token, unless it is 0, tells sections of one name apart.
    pub fn alive(&mut self, name: &str, token: u64, time: Duration, ends: bool) -> Result<(), String> {
        self.signs += 1;
        let is_its = |section: &Section| section.name == name && [0, section.token].contains(&token);
        let index = self.sections.iter().rposition(is_its).ok_or_else(|| format!("{name} never began"))?;
        let section = &mut self.sections[index];
        if section.ended {
            return Err(format!("{name} continues after its end"));
        }
        if section.gone.is_some_and(|gone| time > gone) {
            return Err(format!("LEFT: {name} is still running after the end of its zklock"));
        }
        let earlier = section.signs.1;
        (section.signs.1, section.last, section.ended) = (self.signs, time, ends);
        self.check_begun_since(earlier, index)
    }

    /// From now on this contender's section may overlap the next one.
    pub fn evict(&mut self, name: &str) {
        self.evicted.insert(name.to_owned());
    }

    /// A success under a lock is recorded: no other contender may begin under it within the period.
    pub fn recorded(&mut self, name: &str, period: Duration) -> Result<(), String> {
        let until = self.section(name).map(|section| section.last + period);
        self.recorded = until.map(|until| (name.to_owned(), until));
        self.check_recorded()
    }

    /// From this time on, no process of this contender's command may give a sign of life.
    pub fn must_be_gone(&mut self, name: &str, time: Duration) {
        if let Some(section) = self.sections.iter_mut().rfind(|section| section.name == name) {
            section.gone = Some(time);
        }
    }

    /// The newest section of this name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().rfind(|section| section.name == name)
    }

    /// All sections, in the order in which they began.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Whether its nodes stayed until zklock's own deletion or the end of the session.
    pub fn counts(&self, section: &Section) -> bool {
        !self.evicted.contains(&section.name)
    }

    /// The sections under a lock that exclusion is guaranteed for, each with its place.
    fn under<'a>(&'a self, path: &'a str) -> impl Iterator<Item = (&'a Section, &'a Place)> {
        let counting = self.sections.iter().filter(|section| self.counts(section));
        counting.filter_map(move |section| Some((section, section.place(path)?)))
    }

    /// Checks that tokens grow in the order of the queue, and that the ones that exclude each other begin in that order.
    fn check_order(&self, name: &str, place: &Place) -> Result<(), String> {
        // An evicted contender may begin late, when the next one already runs.
        let others = self.under(&place.path).filter(|_| !self.evicted.contains(name));
        for (_, theirs) in others {
            let tokens = theirs.token.cmp(&place.token);
            if theirs.mode.excludes(place.mode) && tokens.is_ge() {
                return Err(format!("not in the order of the queue: {theirs:?}, then {place:?}"));
            }
            let numbers = theirs.sequence().zip(place.sequence()).map(|(theirs, own)| theirs.cmp(&own));
            if self.parents_stay && numbers.is_some_and(|numbers| numbers != tokens) {
                return Err(format!(
                    "the fencing tokens aren't in the order of the queue: {theirs:?}, {place:?}"
                ));
            }
        }
        Ok(())
    }

    /// This section is now known to have been active since this sign: checks the sections that it overlaps.
    fn check_begun_since(&self, sign: usize, index: usize) -> Result<(), String> {
        let section = &self.sections[index];
        for Place { path, .. } in section.places.iter().filter(|_| self.counts(section)) {
            let from = self.sections.partition_point(|other| other.signs.0 <= sign);
            let is_under = |other: &&Section| self.counts(other) && other.place(path).is_some();
            for newcomer in self.sections[from..].iter().filter(is_under) {
                let running: Vec<_> =
                    self.under(path).filter(|(other, _)| other.active_at(newcomer.signs.0)).collect();
                let mode = |&(_, place): &(_, &Place)| place.mode;
                let excludes = running[1..].iter().any(|other| mode(other).excludes(mode(&running[0])));
                if excludes || mode(&running[0]) == Mode::Slots && running.len() > SLOTS {
                    let running: Vec<_> = running.iter().map(|(section, _)| section.name.as_str()).collect();
                    let (running, newcomer) = (running.join(" and "), &newcomer.name);
                    return Err(format!(
                        "OVERLAP: {running} held {path} when {newcomer} began; {} has just given a sign of life",
                        section.name
                    ));
                }
            }
        }
        Ok(())
    }

    /// Checks that no section began within the period of the last success.
    fn check_recorded(&self) -> Result<(), String> {
        let Some((by, until)) = &self.recorded else { return Ok(()) };
        let Some(success) = self.section(by) else { return Ok(()) };
        let path = &success.places[0].path;
        let is_too_soon = |later: &&Section| {
            later.place(path).is_some() && (success.last..*until).contains(&later.begin) && later.name != *by
        };
        match self.sections.iter().find(is_too_soon) {
            Some(Section { name, begin, .. }) => {
                let after = begin.saturating_sub(success.last);
                Err(format!("AGAIN: {name} runs {after:?} after the end of {by}, whose success counts"))
            }
            None => Ok(()),
        }
    }
}
