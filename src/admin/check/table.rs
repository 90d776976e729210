//! The findings as people read them: one line for each.

use super::judge::{Finding, Severity, Verdict};
use crate::core::words::without_controls;

/// All findings and the verdict; with `quiet` only what isn't as it should be.
pub(super) fn text(findings: &[Finding], quiet: bool) -> String {
    let shown: Vec<_> = findings.iter().filter(|finding| !quiet || finding.level != Severity::Ok).collect();
    let width = shown.iter().map(|finding| finding.about.chars().count()).max().unwrap_or(0);
    let mut text: String = shown.iter().map(|finding| line(finding, width)).collect();
    if !quiet {
        text.push_str(&verdict(findings));
    }
    text
}

fn line(finding: &Finding, width: usize) -> String {
    let remedy = finding.remedy.as_ref().map(|remedy| format!(": {remedy}")).unwrap_or_default();
    let line = format!("{:<4}  {:<width$}  {}{remedy}", finding.level.word(), finding.about, finding.what);
    without_controls(&line) + "\n"
}

fn verdict(findings: &[Finding]) -> String {
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    match Verdict::of(findings) {
        Verdict::Fit => "fit\n".to_owned(),
        Verdict::Warnings => format!("works, with warnings: {}\n", count(Severity::Warn)),
        Verdict::Unfit => {
            format!("unfit: failures: {}, warnings: {}\n", count(Severity::Fail), count(Severity::Warn))
        }
    }
}
