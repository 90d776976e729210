//! Checks the history line by line: each line must be possible under a correct lock. Pure.
//!
//! A section lasts from its `begin` to the last line with its name. A killed job leaves no `end`, and any later sign of
//! life shows that it was still alive. When a line extends a section, the checker looks at every section that began in
//! the added time: were all sections that were active then allowed to overlap?

use crate::section::{Mode, Place, Section, may_coexist};
use crate::support::Line;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

/// Only this many newest sections of a lock can still be extended.
const MOST_EXTENDABLE: usize = 100;

/// The sections that the history shows so far.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    lines: usize,
    /// For each lock the sections in the order in which they began.
    at: HashMap<String, Vec<String>>,
    sections: HashMap<String, Section>,
    /// Contenders whose node was deleted by an administrator or lost by the servers: exclusion is no longer guaranteed
    /// for them.
    evicted: HashSet<String>,
    /// The last recorded success, and the period for which it counts.
    recorded: Option<(String, Duration)>,
    /// When all faults were healed.
    healed: Option<Duration>,
    pub(crate) numbers: Numbers,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct Numbers {
    pub(crate) sections: usize,
    pub(crate) ended: usize,
    /// Sections that followed another on the same lock.
    pub(crate) handoffs: usize,
    /// Sections whose node the servers had confirmed and then lost, which servers promise never to do.
    pub(crate) lost_nodes: usize,
    /// The longest time between two sections of writers during which the second was waiting.
    pub(crate) longest_pause: Range<Duration>,
    /// The same of the time after all faults were healed.
    pub(crate) longest_pause_since_healing: Duration,
}

/// The part of a contender's section that its exit is checked against.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) begun: bool,
    pub(crate) ended: bool,
}

/// A section's first and last sign of life, and its nodes.
#[derive(Debug, Clone)]
pub(crate) struct LastSeen {
    pub(crate) began: Duration,
    pub(crate) at: Duration,
    pub(crate) nodes: Vec<String>,
}

impl Checker {
    /// Adds a line. After `begin` it says when the contender was started, and `LOCK=TOKEN:NODE:MODE,...`.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), String> {
        self.lines += 1;
        let words: Vec<_> = line.split(' ').collect();
        let Line { word, name, time, more, .. } = Line::of(&words).map_err(|why| format!("{why}: {line}"))?;
        let time = Duration::from_nanos_u128(time);
        match (word, more) {
            ("begin", [started, locks]) => {
                let started = started.parse().map_err(|_| format!("no time: {line}"))?;
                self.begin(Duration::from_nanos_u128(started)..time, name, locks)
            }
            ("alive", []) => self.extend(time, name, false),
            ("end", []) => self.extend(time, name, true),
            _ => Err(format!("not a line of a job: {line}")),
        }
    }

    /// From now on this contender's section may overlap the next one.
    pub(crate) fn evict(&mut self, name: &str) {
        self.evicted.insert(name.to_owned());
    }

    /// All faults are healed.
    pub(crate) fn healed(&mut self, time: Duration) {
        self.healed = Some(time);
    }

    /// Its success is recorded: no other contender may begin under the same lock within the period.
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

    /// From this time on, no process of this contender's command may give a sign of life.
    pub(crate) fn must_be_gone(&mut self, name: &str, time: Duration) {
        if let Some(section) = self.sections.get_mut(name) {
            section.gone = Some(time);
        }
    }

    pub(crate) fn seen(&self, name: &str) -> Seen {
        let section = self.sections.get(name);
        Seen { begun: section.is_some(), ended: section.is_some_and(|section| section.ended) }
    }

    /// The last sign of life of every section whose nodes stayed until zklock's own deletion or the end of the session.
    pub(crate) fn last_seen(&self) -> HashMap<String, LastSeen> {
        let not_evicted = self.sections.iter().filter(|(name, _)| !self.evicted.contains(*name));
        let last_seen = |section: &Section| LastSeen {
            began: section.began_at,
            at: section.last_at,
            nodes: section.places.iter().map(|place| place.node.clone()).collect(),
        };
        not_evicted.map(|(name, section)| (name.clone(), last_seen(section))).collect()
    }

    /// The contender that holds `lock` now, or held it last.
    pub(crate) fn holder(&self, lock: &str) -> Option<&str> {
        self.at.get(lock)?.last().map(String::as_str)
    }

    fn begin(&mut self, waited: Range<Duration>, name: &str, locks: &str) -> Result<(), String> {
        if self.sections.contains_key(name) {
            return Err(format!("{name} begins a second time"));
        }
        let parse = |lock| Place::parse(lock).ok_or_else(|| format!("not a lock: {lock}"));
        let places = locks.split(',').map(parse).collect::<Result<Vec<_>, _>>()?;
        for place in &places {
            self.add_place(&waited, name, place)?;
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
            gone: None,
        };
        self.sections.insert(name.to_owned(), section);
        self.check_sections_begun_since(line - 1, name)
    }

    fn add_place(&mut self, waited: &Range<Duration>, name: &str, place: &Place) -> Result<(), String> {
        let path = &place.path;
        let earlier = self.at.entry(path.clone()).or_default();
        if earlier.len() > MOST_EXTENDABLE {
            earlier.drain(..MOST_EXTENDABLE / 2);
        }
        // An evicted contender may begin late, when the next one already runs.
        let others =
            earlier.iter().filter(|other| !self.evicted.contains(name) && !self.evicted.contains(*other));
        let others = others.filter_map(|other| Some((other.clone(), self.sections[other].place(path)?)));
        let mut lost_nodes = Vec::new();
        for (other, theirs) in others {
            if theirs.token == place.token {
                return Err(format!("{other} and {name} have the same fencing token: {theirs:?}, {place:?}"));
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
                // Servers of a later epoch have assigned a number twice: they lost a node that they had confirmed.
                (false, Ordering::Less) => lost_nodes.push(other),
                (false, Ordering::Greater) => lost_nodes.push(name.to_owned()),
            }
        }
        self.numbers.lost_nodes += lost_nodes.len();
        self.evicted.extend(lost_nodes);
        if let Some(newest) = earlier.last().map(|newest| &self.sections[newest]) {
            self.numbers.handoffs += 1;
            // Only the time in which the contender was waiting counts.
            let waiting_from = waited.start.max(newest.last_at);
            let longest = &mut self.numbers.longest_pause;
            let pause = waited.end.saturating_sub(waiting_from);
            if place.mode == Mode::Exclusive && pause > longest.end.saturating_sub(longest.start) {
                *longest = waiting_from..waited.end;
            }
            if let Some(healed) = self.healed.filter(|_| place.mode == Mode::Exclusive) {
                let pause = waited.end.saturating_sub(waiting_from.max(healed));
                let longest = &mut self.numbers.longest_pause_since_healing;
                *longest = pause.max(*longest);
            }
        }
        earlier.push(name.to_owned());
        Ok(())
    }

    fn extend(&mut self, time: Duration, name: &str, ends: bool) -> Result<(), String> {
        let line = self.lines;
        let section = self.sections.get_mut(name).ok_or_else(|| format!("{name} never began"))?;
        if section.ended {
            return Err(format!("{name} continues after its end"));
        }
        if section.gone.is_some_and(|gone| time > gone) {
            return Err(format!("LEFT: {name} is still running after the end of its zklock"));
        }
        let earlier = section.last;
        (section.last, section.last_at, section.ended) = (line, time, ends);
        self.numbers.ended += usize::from(ends);
        self.check_sections_begun_since(earlier, name)
    }

    /// This section is now known to have been active since `line`: checks the sections that it overlaps.
    fn check_sections_begun_since(&self, line: usize, name: &str) -> Result<(), String> {
        if self.evicted.contains(name) {
            return Ok(());
        }
        for place in &self.sections[name].places {
            let current = || self.at[&place.path].iter().filter(|other| !self.evicted.contains(*other));
            for newcomer in current().filter(|other| self.sections[*other].begun > line) {
                let began = self.sections[newcomer].begun;
                let running = current().filter(|other| self.sections[*other].active_at(began));
                let modes: Vec<_> = running
                    .clone()
                    .filter_map(|other| Some(self.sections[other].place(&place.path)?.mode))
                    .collect();
                if !may_coexist(&modes) {
                    let running: Vec<_> = running.map(String::as_str).collect();
                    let running = running.join(" and ");
                    return Err(format!(
                        "OVERLAP: {running} held {} when {newcomer} began; {name} has just given a sign of life",
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
                "AGAIN: {name} runs {:?} after the end of {by}, whose success counts for {period:?}",
                began.saturating_sub(self.sections[by].last_at)
            )),
            _ => Ok(()),
        }
    }
}
