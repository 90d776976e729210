//! The findings as text, one line for each.

use zklock_core::text::without_controls;

use super::assess::{Finding, Fitness, Severity};

/// All findings and whether the set-up is ready; with `quiet`, only warnings and failures.
pub(super) fn text(findings: &[Finding], quiet: bool) -> String {
    let shown: Vec<_> = findings.iter().filter(|finding| !quiet || finding.level != Severity::Ok).collect();
    let width = shown.iter().map(|finding| finding.about.chars().count()).max().unwrap_or(0);
    let mut text: String = shown.iter().map(|finding| line(finding, width)).collect();
    if !quiet {
        text.push_str(&last_line(findings));
    }
    text
}

fn line(finding: &Finding, width: usize) -> String {
    let remedy = finding.remedy.as_ref().map(|remedy| format!(": {remedy}")).unwrap_or_default();
    let line = format!("{:<4}  {:<width$}  {}{remedy}", finding.level.word(), finding.about, finding.what);
    without_controls(&line) + "\n"
}

fn last_line(findings: &[Finding]) -> String {
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    match Fitness::of(findings) {
        Fitness::Fit => "ready\n".to_owned(),
        Fitness::Warnings => format!("works, with warnings: {}\n", count(Severity::Warn)),
        Fitness::Unfit => {
            format!("not ready: failures: {}, warnings: {}\n", count(Severity::Fail), count(Severity::Warn))
        }
    }
}
