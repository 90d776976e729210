//! Reads the history line by line, and knows at each whether it can be true. Pure.
//!
//! A section lasts from its `begin` to the last line with its name: a job that was killed leaves no `end`, and
//! any later sign of life shows that it wasn't dead. So whenever a line makes a section longer, whoever began in the
//! time that this adds is looked at: did all who lived then have a right to live together?

use crate::section::{Mode, Place, Section, may_live_together};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

/// How long the last process of a command may be seen after the end of its zklock: that is no time, but machines are busy.
const AFTER_THE_END: Duration = Duration::from_secs(3);

/// Of so many sections on a lock the last ones may still get longer.
const MOST_AT_ONCE: usize = 100;

/// What is known of the sections up to now.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    lines: usize,
    /// For each lock the sections in the order in which they began.
    at: HashMap<String, Vec<String>>,
    sections: HashMap<String, Section>,
    /// Those whose node an administrator deletes, or the servers forget: nobody can promise that they hold alone.
    evicted: HashSet<String>,
    /// The last success that was recorded, and for how long it counts.
    recorded: Option<(String, Duration)>,
    pub(crate) numbers: Numbers,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct Numbers {
    pub(crate) sections: usize,
    pub(crate) ended: usize,
    /// A section that followed another on the same lock.
    pub(crate) handoffs: usize,
    /// Sections whose node the servers had confirmed, and forgot: they promise that this never happens.
    pub(crate) forgotten: usize,
    /// The longest time between two sections of writers in which the second was waiting.
    pub(crate) longest_pause: Range<Duration>,
}

/// A contender's section, as its story needs to know it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) begun: bool,
    pub(crate) ended: bool,
}

/// A section's last sign of life, and the nodes that it was under.
#[derive(Debug, Clone)]
pub(crate) struct LastSeen {
    pub(crate) at: Duration,
    pub(crate) nodes: Vec<String>,
}

impl Checker {
    /// Takes in a line: `MILLIS begin|alive|end NAME [BORN LOCK=TOKEN:NODE:MODE,...]`.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), String> {
        self.lines += 1;
        let words: Vec<_> = line.split(' ').collect();
        let time = words.first().and_then(|time| millis(time));
        match (time, &words[1..]) {
            (Some(time), ["begin", name, born, locks]) => {
                let waited = millis(born).ok_or("no time")?..time;
                self.begin(waited, name, locks)
            }
            (Some(time), ["alive", name]) => self.goes_on(time, name, false),
            (Some(time), ["end", name]) => self.goes_on(time, name, true),
            _ => Err(format!("not a line of a job: {line}")),
        }
    }

    /// From now on its section may overlap the next one.
    pub(crate) fn evict(&mut self, name: &str) {
        self.evicted.insert(name.to_owned());
    }

    /// Its success is recorded: for so long nobody else may begin under the same lock.
    pub(crate) fn recorded(&mut self, name: &str, period: Duration) -> Result<(), String> {
        self.recorded = Some((name.to_owned(), period));
        let Some(section) = self.sections.get(name) else { return Ok(()) };
        let began = |other: &String| self.sections[other].began_at;
        let later = self.at[&section.places[0].path].iter().filter(|&other| began(other) > section.last_at);
        for other in later {
            self.too_soon(other, began(other))?;
        }
        Ok(())
    }

    /// Its zklock has ended.
    pub(crate) fn zklock_ended(&mut self, name: &str, time: Duration) {
        if let Some(section) = self.sections.get_mut(name) {
            section.zklock_ended = Some(time);
        }
    }

    /// What there is of this contender's section.
    pub(crate) fn seen(&self, name: &str) -> Seen {
        let section = self.sections.get(name);
        Seen { begun: section.is_some(), ended: section.is_some_and(|section| section.ended) }
    }

    /// Every section that was under its nodes until somebody else's hand, if not its own end, took them away.
    pub(crate) fn last_seen(&self) -> HashMap<String, LastSeen> {
        let told = self.sections.iter().filter(|(name, _)| !self.evicted.contains(*name));
        let last_seen = |section: &Section| LastSeen {
            at: section.last_at,
            nodes: section.places.iter().map(|place| place.node.clone()).collect(),
        };
        told.map(|(name, section)| (name.clone(), last_seen(section))).collect()
    }

    /// Who has `lock` now, or had it last.
    pub(crate) fn holder(&self, lock: &str) -> Option<&str> {
        self.at.get(lock)?.last().map(String::as_str)
    }

    fn begin(&mut self, waited: Range<Duration>, name: &str, locks: &str) -> Result<(), String> {
        if self.sections.contains_key(name) {
            return Err(format!("{name} begins for the second time"));
        }
        let parse = |lock| Place::parse(lock).ok_or_else(|| format!("not a lock: {lock}"));
        let places = locks.split(',').map(parse).collect::<Result<Vec<_>, _>>()?;
        for place in &places {
            self.take(&waited, name, place)?;
        }
        if self.recorded.as_ref().is_some_and(|(by, _)| self.sections[by].places[0].path == places[0].path) {
            self.too_soon(name, waited.end)?;
        }
        self.numbers.sections += 1;
        let (line, time) = (self.lines, waited.end);
        let section = Section {
            places,
            begun: line,
            last: line,
            began_at: time,
            last_at: time,
            ended: false,
            zklock_ended: None,
        };
        self.sections.insert(name.to_owned(), section);
        self.check_sections_begun_since(line - 1, name)
    }

    fn take(&mut self, waited: &Range<Duration>, name: &str, place: &Place) -> Result<(), String> {
        let path = &place.path;
        let before = self.at.entry(path.clone()).or_default();
        if before.len() > MOST_AT_ONCE {
            before.drain(..MOST_AT_ONCE / 2);
        }
        // One that is evicted may come late, when the next one already runs.
        let others =
            before.iter().filter(|other| !self.evicted.contains(name) && !self.evicted.contains(*other));
        let others = others.filter_map(|other| Some((other.clone(), self.sections[other].place(path)?)));
        let mut forgotten = Vec::new();
        for (other, theirs) in others {
            if theirs.token == place.token {
                return Err(format!("{other} and {name} have one fencing token: {theirs:?}, {place:?}"));
            }
            let in_order = (theirs.token < place.token) == (theirs.sequence() < place.sequence());
            match (in_order, theirs.epoch().cmp(&place.epoch())) {
                (true, _) if theirs.mode.excludes(place.mode) && theirs.token > place.token => {
                    return Err(format!("not in the order of the queue: {theirs:?}, then {place:?}"));
                }
                (true, _) => {}
                (false, Ordering::Equal) => {
                    return Err(format!(
                        "the fencing tokens aren't in the order of the queue: {theirs:?}, {place:?}"
                    ));
                }
                // The servers of a later epoch have given a number again: what they had confirmed they have forgotten.
                (false, Ordering::Less) => forgotten.push(other),
                (false, Ordering::Greater) => forgotten.push(name.to_owned()),
            }
        }
        self.numbers.forgotten += forgotten.len();
        self.evicted.extend(forgotten);
        if let Some(newest) = before.last().map(|newest| &self.sections[newest]) {
            self.numbers.handoffs += 1;
            // Only while somebody wanted it.
            let free = waited.start.max(newest.last_at);
            let longest = &mut self.numbers.longest_pause;
            let pause = waited.end.saturating_sub(free);
            if place.mode == Mode::Exclusive && pause > longest.end.saturating_sub(longest.start) {
                *longest = free..waited.end;
            }
        }
        before.push(name.to_owned());
        Ok(())
    }

    fn goes_on(&mut self, time: Duration, name: &str, ends: bool) -> Result<(), String> {
        let line = self.lines;
        let section = self.sections.get_mut(name).ok_or_else(|| format!("{name} never began"))?;
        if section.ended {
            return Err(format!("{name} goes on after its end"));
        }
        if section.zklock_ended.is_some_and(|end| time > end + AFTER_THE_END) {
            return Err(format!("LEFT: {name} lives on, and its zklock has ended"));
        }
        let before = section.last;
        (section.last, section.last_at, section.ended) = (line, time, ends);
        self.numbers.ended += usize::from(ends);
        self.check_sections_begun_since(before, name)
    }

    /// This section is known now to have lived since that line: with whom?
    fn check_sections_begun_since(&self, line: usize, name: &str) -> Result<(), String> {
        if self.evicted.contains(name) {
            return Ok(());
        }
        for place in &self.sections[name].places {
            let there = || self.at[&place.path].iter().filter(|other| !self.evicted.contains(*other));
            for newcomer in there().filter(|other| self.sections[*other].begun > line) {
                let began = self.sections[newcomer].begun;
                let living = there().filter(|other| self.sections[*other].lived_at(began));
                let modes: Vec<_> = living
                    .clone()
                    .filter_map(|other| Some(self.sections[other].place(&place.path)?.mode))
                    .collect();
                if !may_live_together(&modes) {
                    let living: Vec<_> = living.map(String::as_str).collect();
                    let living = living.join(" and ");
                    return Err(format!(
                        "OVERLAP: {living} lived under {} when {newcomer} began; {name} has just been heard of",
                        place.path
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether this section begins within the period of the last success.
    fn too_soon(&self, name: &str, began: Duration) -> Result<(), String> {
        match &self.recorded {
            Some((by, period)) if name != by && began < self.sections[by].last_at + *period => Err(format!(
                "AGAIN: {name} runs {:?} after the end of {by}, whose success was to count for {period:?}",
                began.saturating_sub(self.sections[by].last_at)
            )),
            _ => Ok(()),
        }
    }
}

fn millis(text: &str) -> Option<Duration> {
    text.parse().ok().map(Duration::from_millis)
}
