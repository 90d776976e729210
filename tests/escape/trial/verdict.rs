//! What must be true of a trial.

use super::fault::Fault;
use super::history::{FIRST, History, Phase};
use std::process::ExitStatus;
use std::time::Duration;

/// How the command ends if nothing comes between.
const DONE: i32 = 7;
const LOST: i32 = 123;
const FAILURE: i32 = 125;

/// What is seen beside the history.
pub(super) struct Evidence {
    pub(super) fault: Fault,
    /// Whether it met anybody.
    pub(super) met: bool,
    pub(super) hangs: bool,
    pub(super) first: Option<ExitStatus>,
    pub(super) next: Option<ExitStatus>,
    /// Who is left at the end.
    pub(super) processes: Vec<String>,
    pub(super) nodes: Vec<String>,
}

/// What a trial has found.
pub(crate) struct Report {
    pub(crate) phase: Phase,
    /// How the first zklock ended.
    pub(crate) end: String,
    /// From the fault to the last sign of life of the first command, and to the first one of the next.
    pub(crate) last_beat: Option<Duration>,
    pub(crate) next_beat: Option<Duration>,
    /// Which kinds of process lived too long.
    pub(crate) escaped: Vec<String>,
    /// Everything that must not be.
    pub(crate) wrong: Vec<String>,
    /// All that is known, for whoever has to find out why.
    pub(crate) story: String,
}

/// `None`: the fault met nobody, and nothing is wrong.
pub(super) fn judge(
    history: &History,
    seen: &Evidence,
    plan: &str,
    said: &(String, String),
) -> Option<Report> {
    let phase = history.phase().unwrap_or(Phase::After);
    let (mut wrong, mut escaped) = (vec![], vec![]);
    // Who has lost its node by an operator's hand has lost the lock at once: nobody can promise more than an end.
    if seen.fault != Fault::DeleteNode {
        escaped.extend(history.overlapping());
    }
    // A monitor that is killed can answer for nothing.
    if seen.fault != Fault::KillMonitor {
        escaped.extend(history.outliving());
    }
    escaped.sort();
    escaped.dedup();
    if !escaped.is_empty() {
        wrong.push(format!("ESCAPED: {}", escaped.join(", ")));
    }
    // Whoever is starved is excused for how it ends. Nobody may escape then either, or be left.
    if seen.hangs {
        wrong.push("it hangs".to_owned());
    } else if !is_starved(seen, said) {
        let plausible =
            seen.first.is_some_and(|status| is_plausible(seen, phase, history.has_ended(FIRST), status));
        if !plausible {
            wrong.push(format!("hit {phase:?}, and the first ends with {}", told(seen.first)));
        }
        if seen.next.and_then(|status| status.code()) != Some(DONE) {
            wrong.push(format!("the next ends with {}", told(seen.next)));
        }
    }
    if !seen.processes.is_empty() {
        wrong.push(format!("left behind:\n    {}", seen.processes.join("\n    ")));
    }
    if !seen.nodes.is_empty() {
        wrong.push(format!("lock nodes left behind: {}", seen.nodes.join(", ")));
    }
    let (one, two) = (&said.0, &said.1);
    let story = format!(
        "{plan}\n{}\nthe first ended with {} and said:\n{one}the next ended with {} and said:\n{two}",
        history.told(),
        told(seen.first),
        told(seen.next),
    );
    let (last_beat, next_beat) = (history.last_beat(), history.next_beat());
    let report = Report { phase, end: told(seen.first), last_beat, next_beat, escaped, wrong, story };
    (seen.met || !report.wrong.is_empty()).then_some(report)
}

/// On a machine that is busy enough a lease runs out without any fault, and the command is stopped as it should be.
fn is_starved(seen: &Evidence, said: &(String, String)) -> bool {
    let is_meant = seen.met && matches!(seen.fault, Fault::Blackhole | Fault::StopWorker);
    // Of the first one this is what the fault was to bring about.
    [(&said.0, is_meant), (&said.1, false)].into_iter().any(|(said, is_meant)| {
        !is_meant
            && ["confirmed nothing", "stood still", "its lease ran out", "the session is over"]
                .iter()
                .any(|word| said.contains(word))
    })
}

fn is_plausible(seen: &Evidence, phase: Phase, ended: bool, status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code();
    // Whoever says so must have seen the command's end.
    let done = code == Some(DONE) && ended;
    match (seen.fault, phase) {
        _ if !seen.met => done,
        // It may have ended between our look and the fault.
        (Fault::KillMonitor, _) => status.signal() == Some(9) || (phase == Phase::After && done),
        (Fault::StopMonitor, _) => done,
        // The start of the command and its first word aren't the same moment, nor are its last word and its end.
        (Fault::KillWorker, Phase::Before) => [LOST, FAILURE].contains(&code.unwrap_or_default()),
        (_, Phase::Before) => done || [LOST, FAILURE].contains(&code.unwrap_or_default()),
        (_, Phase::While | Phase::After) => done || code == Some(LOST),
    }
}

fn told(status: Option<ExitStatus>) -> String {
    let text = status.map_or("nothing".to_owned(), |status| status.to_string());
    text.replace("exit status: ", "").replace(" (SIGKILL)", "")
}
