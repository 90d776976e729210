//! The table of signals in docs/signals.md says what a run does.

use super::script::{Script, plan};
use crate::exit::Exit;
use crate::protocol::{RequestError, SessionChange};
use crate::run::JobEffect::{Kill, Reap, SignalAll, SignalGroup};
use crate::run::{Effect, End, Input};
use crate::signal::{
    SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH, name,
};

const PAGE: &str = include_str!("../../../../../docs/signals.md");

const SIGNALS: [i32; 10] =
    [SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH];

/// What a run does on this signal, in the table's words.
fn reaction(script: &mut Script, signal: i32) -> &'static str {
    let mut effects = script.effects(Input::Signal(signal));
    effects.extend(script.effects(Input::Tick));
    let words = effects.iter().find_map(|effect| match effect {
        Effect::Release(_) => Some("leaves the queue"),
        Effect::Finish(End::ExitNow(exit, _)) if *exit == Exit::Signal(signal) => Some("ends at once"),
        Effect::Job(SignalGroup(sent)) if *sent == signal => Some("forwarded"),
        Effect::Job(Kill { .. }) => Some("KILL to the job immediately"),
        Effect::Suspend(_) => Some("stops the monitor"),
        Effect::Job(SignalGroup(_) | SignalAll(_) | Reap) | Effect::Finish(_) => Some("does something else"),
        _ => None,
    });
    words.unwrap_or("ignored")
}

fn waiting() -> Script {
    let mut script = Script::of(plan());
    script.behind(&[8], "web2");
    script
}

fn running() -> Script {
    let mut script = Script::of(plan());
    script.running();
    script
}

fn stopping() -> Script {
    let mut script = running();
    script.session(SessionChange::Lost(RequestError::Expired)).tick();
    script
}

fn releasing_the_lock() -> Script {
    let mut script = running();
    script.reaped(Exit::Code(0));
    script
}

fn releasing_the_place() -> Script {
    let mut script = waiting();
    script.signal(SIGINT);
    script
}

/// The cells of the table's rows, from the row of INT to that of CONT.
fn rows() -> Vec<Vec<&'static str>> {
    let table = PAGE.split("| signal to the monitor |").nth(1).expect("the table has this heading");
    let rows = table.lines().skip(2).take(5);
    rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

#[test]
fn the_table_of_signals_is_what_a_run_does() {
    let rows = rows();
    let mut tried = vec![];
    for row in &rows {
        let [signals, waits, runs, is_stopped, releases] = row[..] else { panic!("{row:?}") };
        let is_meant = |signal: &&i32| {
            signals.split([' ', ',', '(']).any(|word| name(**signal).strip_prefix("SIG") == Some(word))
        };
        for &signal in SIGNALS.iter().filter(is_meant) {
            let about = name(signal);
            let as_int = |cell, column: usize| if cell == "as INT" { rows[0][column] } else { cell };
            let says =
                |cell: &str, did: &str| assert!(cell.contains(did), "{about}: {did}; the page: {cell}");
            match signal {
                // The run waits on anyhow, unless it has stopped: see the transcripts.
                SIGCONT => says("ignored", reaction(&mut waiting(), signal)),
                _ => says(as_int(waits, 1), reaction(&mut waiting(), signal)),
            }
            says(runs, reaction(&mut running(), signal));
            says(is_stopped, reaction(&mut stopping(), signal));
            let release = as_int(releases, 4);
            let (after_a_command, after_waiting) = release.split_once(';').unwrap_or((release, release));
            says(after_a_command, reaction(&mut releasing_the_lock(), signal));
            says(after_waiting, reaction(&mut releasing_the_place(), signal));
            tried.push(signal);
        }
    }
    tried.sort_unstable();
    let mut all = SIGNALS;
    all.sort_unstable();
    assert_eq!(tried, all, "each signal has its row");
}
