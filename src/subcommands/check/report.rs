//! What a check has found: a line for each finding, or JSON, which `docs/json.md` specifies.

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;
use zklock_core::exit::{self, Exit};
use zklock_core::text::without_controls;

use super::super::print;

/// It changes if a field is removed or changes its meaning.
const VERSION: u32 = 2;

/// The exit code if locks work, with warnings.
const WARNINGS: u8 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Ok,
    /// A problem that doesn't prevent locks.
    Warn,
    /// No lock can be taken.
    Fail,
}

/// A line of the report. The fields but the level are those of the JSON.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    #[serde(skip)]
    level: Level,
    /// The subject, in a word or two.
    about: String,
    what: String,
    /// `None` if `what` says it, or none is needed.
    remedy: Option<String>,
}

/// All findings, and the facts for the JSON.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) findings: Vec<Finding>,
    pub(super) facts: Facts,
}

/// Every field is always in the JSON; an unknown value is null.
#[derive(Debug, Default, Serialize)]
pub(super) struct Facts {
    pub(super) servers: Vec<Value>,
    pub(super) session: Value,
    pub(super) lease: Value,
    pub(super) chroot: Value,
    pub(super) permissions: Value,
    pub(super) credentials: Vec<String>,
    pub(super) clock_ahead_ms: Option<i64>,
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    verdict: &'static str,
    #[serde(flatten)]
    facts: &'a Facts,
    warnings: Vec<&'a Finding>,
    failures: Vec<&'a Finding>,
}

impl Report {
    pub(super) fn ok(&mut self, about: &str, what: impl Into<String>) {
        self.note(Level::Ok, about, what.into(), "");
    }

    pub(super) fn warn(&mut self, about: &str, what: impl Into<String>, remedy: &str) {
        self.note(Level::Warn, about, what.into(), remedy);
    }

    pub(super) fn fail(&mut self, about: &str, what: impl Into<String>, remedy: &str) {
        self.note(Level::Fail, about, what.into(), remedy);
    }

    /// Notes a finding, once. An empty remedy is none.
    fn note(&mut self, level: Level, about: &str, what: String, remedy: &str) {
        let remedy = (!remedy.is_empty()).then(|| remedy.to_owned());
        let finding = Finding { level, about: about.to_owned(), what, remedy };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Prints it, and returns how zklock is to exit. With `quiet`, the lines are only warnings and failures.
    pub(super) fn print(&self, as_json: bool, quiet: bool) -> Result<Exit> {
        let of = |level| self.findings.iter().filter(move |finding| finding.level == level);
        let (warnings, failures) = (of(Level::Warn).count(), of(Level::Fail).count());
        let (verdict, code, last) = match (failures, warnings) {
            (0, 0) => ("fit", 0, "ready\n".to_owned()),
            (0, _) => ("warnings", WARNINGS, format!("works, with warnings: {warnings}\n")),
            _ => ("unfit", exit::FAILURE, format!("not ready: failures: {failures}, warnings: {warnings}\n")),
        };
        let text = if as_json {
            let (warnings, failures) = (of(Level::Warn).collect(), of(Level::Fail).collect());
            let document = Document { version: VERSION, verdict, facts: &self.facts, warnings, failures };
            serde_json::to_string_pretty(&document)? + "\n"
        } else if quiet {
            lines(of(Level::Warn).chain(of(Level::Fail)))
        } else {
            lines(self.findings.iter()) + &last
        };
        Ok(match print(text.as_bytes())? {
            Exit::Code(0) => Exit::Code(code),
            exit => exit,
        })
    }
}

fn lines<'a>(findings: impl Iterator<Item = &'a Finding> + Clone) -> String {
    let width = findings.clone().map(|finding| finding.about.chars().count()).max().unwrap_or(0);
    let line = |Finding { level, about, what, remedy }: &Finding| {
        let level = match level {
            Level::Ok => "ok",
            Level::Warn => "warn",
            Level::Fail => "fail",
        };
        let remedy = remedy.as_ref().map(|remedy| format!(": {remedy}")).unwrap_or_default();
        without_controls(&format!("{level:<4}  {about:<width$}  {what}{remedy}")) + "\n"
    };
    findings.map(line).collect()
}
