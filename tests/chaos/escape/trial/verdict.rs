//! The rules for the result of a trial.

use super::history::{FIRST, History, Phase};
use crate::support::Fault;
use std::process::ExitStatus;
use std::time::Duration;

/// The command's exit code if nothing interrupts it.
const DONE: i32 = 7;
const LOST: i32 = 123;
const FAILURE: i32 = 125;

/// The kinds that leave the command's process group; `su -c` starts a session.
const LEAVE_THE_GROUP: [&str; 5] = ["setsid", "daemon", "chain", "reaped", "user"];

/// The observations that aren't in the history.
pub(super) struct Evidence {
    pub(super) fault: Fault,
    /// Whether the fault hit its target.
    pub(super) met: bool,
    pub(super) hangs: bool,
    pub(super) first: Option<ExitStatus>,
    pub(super) next: Option<ExitStatus>,
    /// The processes that are left at the end.
    pub(super) processes: Vec<String>,
    pub(super) nodes: Vec<String>,
}

/// The result of a trial.
pub(crate) struct Report {
    pub(crate) phase: Phase,
    /// How the first zklock ended.
    pub(crate) end: String,
    /// The time from the fault to the last sign of life of the first command, and to the first one of the next.
    pub(crate) last_beat: Option<Duration>,
    pub(crate) next_beat: Option<Duration>,
    /// The kinds of processes that lived too long.
    pub(crate) escaped: Vec<String>,
    /// All violated rules.
    pub(crate) wrong: Vec<String>,
    /// Everything that is known about the trial, for the analysis of a violation.
    pub(crate) story: String,
}

/// Checks a trial. Returns `None` if the fault hit nothing and nothing is wrong.
pub(super) fn judge(
    history: &History,
    seen: &Evidence,
    plan: &str,
    said: &(String, String),
) -> Option<Report> {
    let phase = history.phase().unwrap_or(Phase::After);
    let (mut wrong, mut escaped) = (vec![], vec![]);
    // A holder whose node an operator deletes loses the lock immediately. zklock can only promise to end the command.
    if seen.fault != Fault::DeleteNode {
        escaped.extend(history.overlapping());
    }
    // The command may outlive a monitor that is killed.
    if !seen.fault.kills_the_monitor() {
        escaped.extend(history.outliving());
    }
    // No process of zklock is left, and the kernel ends only the command's process group.
    if seen.fault == Fault::KillBoth && seen.met {
        escaped.retain(|kind| !LEAVE_THE_GROUP.contains(&kind.as_str()));
    }
    escaped.sort();
    escaped.dedup();
    if !escaped.is_empty() {
        wrong.push(format!("ESCAPED: {}", escaped.join(", ")));
    }
    // If zklock was starved, any exit code is accepted. Even then, no process may escape or be left behind.
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

/// Whether the machine was so busy that a lease ran out without any fault. The command is then stopped as it should be.
fn is_starved(seen: &Evidence, said: &(String, String)) -> bool {
    let is_meant = seen.met && matches!(seen.fault, Fault::Blackhole | Fault::StopWorker);
    // For the first zklock, this is the intended effect of such a fault.
    [(&said.0, is_meant), (&said.1, false)].into_iter().any(|(said, is_meant)| {
        !is_meant
            && ["no connection for", "no answer for", " hung ", "the session is over"]
                .iter()
                .any(|word| said.contains(word))
    })
}

fn is_plausible(seen: &Evidence, phase: Phase, ended: bool, status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code();
    // zklock must have seen the command's end to exit with this code.
    let done = code == Some(DONE) && ended;
    match (seen.fault, phase) {
        _ if !seen.met => done,
        // zklock may have ended between the last check and the fault.
        // The search takes longer than a short command.
        (Fault::KillFound, _) => status.signal() == Some(9) || done,
        (Fault::KillMonitor | Fault::KillBoth | Fault::KillCommand, _) => {
            status.signal() == Some(9) || (phase == Phase::After && done)
        }
        (Fault::StopMonitor, _) => done,
        // The command starts before it writes its first word, and ends after it has written its last.
        // A command that is started all the same inherits the limit, and ends with any code.
        (Fault::FailWorker, Phase::Before) => true,
        (Fault::KillWorker, Phase::Before) => [LOST, FAILURE].contains(&code.unwrap_or_default()),
        (_, Phase::Before) => done || [LOST, FAILURE].contains(&code.unwrap_or_default()),
        (_, Phase::While | Phase::After) => done || code == Some(LOST),
    }
}

fn told(status: Option<ExitStatus>) -> String {
    let text = status.map_or("nothing".to_owned(), |status| status.to_string());
    text.replace("exit status: ", "").replace(" (SIGKILL)", "")
}
