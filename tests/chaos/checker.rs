//! Reads the history line by line, and knows at each whether it can be true. Pure.
//!
//! A section lasts from its `begin` to the last line with its name: a job that was killed leaves no `end`, and
//! any later sign of life shows that it wasn't dead. So two sections overlap exactly if a line of the earlier
//! one comes behind the `begin` of the later one.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

/// What is known of the sections up to now.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    /// For each lock the section that began last.
    newest: HashMap<String, Place>,
    sections: HashMap<String, Section>,
    /// Those whose node an administrator deletes: nobody can promise that they hold alone.
    evicted: HashSet<String>,
    pub(crate) numbers: Numbers,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct Numbers {
    pub(crate) sections: usize,
    pub(crate) ended: usize,
    /// A section that followed another on the same lock.
    pub(crate) handovers: usize,
    /// The longest time between two sections in which the second was waiting.
    pub(crate) longest_pause: Range<Duration>,
}

#[derive(Debug)]
struct Place {
    name: String,
    token: u64,
    sequence: u64,
}

#[derive(Debug)]
struct Section {
    locks: Vec<String>,
    last: Duration,
    ended: bool,
}

/// A contender's section, as its story needs to know it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) begun: bool,
    pub(crate) ended: bool,
}

impl Checker {
    /// Takes in a line: `MILLIS begin|alive|end NAME [BORN LOCK=TOKEN:SEQUENCE,...]`.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), String> {
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

    /// What there is of this contender's section.
    pub(crate) fn seen(&self, name: &str) -> Seen {
        let section = self.sections.get(name);
        Seen { begun: section.is_some(), ended: section.is_some_and(|section| section.ended) }
    }

    /// Who has `lock` now, or had it last.
    pub(crate) fn holder(&self, lock: &str) -> Option<&str> {
        self.newest.get(lock).map(|place| place.name.as_str())
    }

    fn begin(&mut self, waited: Range<Duration>, name: &str, locks: &str) -> Result<(), String> {
        if self.sections.contains_key(name) {
            return Err(format!("{name} begins for the second time"));
        }
        let mut paths = Vec::new();
        for lock in locks.split(',') {
            let (path, place) = parse(name, lock).ok_or_else(|| format!("not a lock: {lock}"))?;
            self.take(&waited, &path, place)?;
            paths.push(path);
        }
        self.numbers.sections += 1;
        self.sections.insert(name.to_owned(), Section { locks: paths, last: waited.end, ended: false });
        Ok(())
    }

    fn take(&mut self, waited: &Range<Duration>, path: &str, place: Place) -> Result<(), String> {
        let Some(before) = self.newest.get(path) else {
            self.newest.insert(path.to_owned(), place);
            return Ok(());
        };
        // It may come late, when the next one already runs.
        if self.evicted.contains(&place.name) && before.token >= place.token {
            return Ok(());
        }
        if before.token >= place.token {
            return Err(format!("the fencing token of {path} doesn't grow: {before:?}, then {place:?}"));
        }
        // Nobody removes the lock's parent here, so the numbers of the nodes are their order in the queue.
        if before.sequence >= place.sequence {
            return Err(format!("not in the order of the queue at {path}: {before:?}, then {place:?}"));
        }
        // Only while somebody wanted it.
        let free = waited.start.max(self.sections[&before.name].last);
        let longest = &mut self.numbers.longest_pause;
        if waited.end.saturating_sub(free) > longest.end.saturating_sub(longest.start) {
            *longest = free..waited.end;
        }
        self.numbers.handovers += 1;
        self.newest.insert(path.to_owned(), place);
        Ok(())
    }

    fn goes_on(&mut self, time: Duration, name: &str, ends: bool) -> Result<(), String> {
        let section = self.sections.get_mut(name).ok_or_else(|| format!("{name} never began"))?;
        for path in &section.locks {
            let newest = &self.newest[path].name;
            if newest != name && !self.evicted.contains(name) {
                return Err(format!("OVERLAP: {newest} has begun under {path}, and {name} still lives"));
            }
        }
        if section.ended {
            return Err(format!("{name} goes on after its end"));
        }
        section.last = time;
        section.ended = ends;
        self.numbers.ended += usize::from(ends);
        Ok(())
    }
}

fn millis(text: &str) -> Option<Duration> {
    text.parse().ok().map(Duration::from_millis)
}

fn parse(name: &str, lock: &str) -> Option<(String, Place)> {
    let (path, place) = lock.split_once('=')?;
    let (token, sequence) = place.split_once(':')?;
    let (token, sequence) = (token.parse().ok()?, sequence.parse().ok()?);
    Some((path.to_owned(), Place { name: name.to_owned(), token, sequence }))
}
