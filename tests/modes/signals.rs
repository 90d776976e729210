//! Signals work the same for every kind. The tests send only signals that are never inherited as ignored: under
//! `nohup`, or in a background job of a shell, the tests themselves ignore others.

use super::{KINDS, end};
use crate::support::{Case, DEADLINE, signal_printer};
use nix::sys::signal::Signal;

#[test]
fn in_every_kind_signals_reach_the_command_and_it_decides() {
    for kind in KINDS {
        let case = Case::new("kinds-signals");
        let string = format!("exec {}", signal_printer(&["TERM=3"]).join(" "));
        let holder = kind.run(&case, &[], &string);
        holder.wait_for_stdout("ready", DEADLINE);
        for (signal, line) in [(Signal::SIGUSR1, "got USR1"), (Signal::SIGALRM, "got ALRM")] {
            holder.signal(signal);
            holder.wait_for_stdout(line, DEADLINE);
        }
        holder.signal(Signal::SIGTERM);
        let output = holder.wait(DEADLINE);
        output.assert_code(3);
        assert_eq!(output.stdout.matches("got TERM").count(), 1, "{output}");
        for path in kind.paths(&case) {
            assert_eq!(case.observer().children(&path).len(), 0, "{path}");
        }
    }
}

#[test]
fn in_every_kind_a_waiter_dies_of_the_signal_and_leaves_the_queue() {
    for kind in KINDS {
        let case = Case::new("kinds-waiter");
        let holders = kind.fill(&case);
        let waiter = kind.run(&case, &["-v"], "echo must not run");
        super::wait_until_it_waits(&waiter);
        end(waiter);
        let queued = kind.paths(&case).iter().map(|path| case.observer().children(path).len()).sum::<usize>();
        assert_eq!(queued, holders.len(), "{:?}", kind.options);
        holders.into_iter().for_each(end);
    }
}
