//! Who waits takes its turn, and ends when it is told to.

use super::{SAYING, Silence, in_every_silence};
use crate::support::{Case, SOON, end};
use nix::sys::signal::Signal;
use std::time::Duration;

in_every_silence! {
    a_waiter_that_becomes_first_runs_its_command
    a_signal_ends_a_waiter
    a_waiter_without_a_server_ends_too
}

fn a_waiter_that_becomes_first_runs_its_command(silence: Silence) {
    for saying in SAYING {
        let case = Case::new("unheard-first");
        let ran = case.dir().join("ran");
        let holder = case.holder();
        let waiter = silence.start(&case, saying, &format!("echo ran >'{}'; exit 5", ran.display()));
        end(holder);
        assert_eq!(waiter.end(SOON), Ok(5), "{saying:?}");
        assert!(ran.exists());
    }
}

fn a_signal_ends_a_waiter(silence: Silence) {
    let case = Case::new("unheard-signal");
    let holder = case.holder();
    for saying in SAYING {
        for signal in [Signal::SIGTERM, Signal::SIGINT] {
            let waiter = silence.start(&case, saying, "echo must not run");
            waiter.signal(signal);
            assert_eq!(waiter.end(Duration::from_secs(5)), Err(signal), "{saying:?}");
            case.wait_for_contenders(1);
        }
    }
    end(holder);
}

/// The client library tells every failure to connect.
fn a_waiter_without_a_server_ends_too(silence: Silence) {
    let proxy = crate::support::Proxy::to(crate::support::shared());
    let case = Case::new("unheard-away").through(&proxy.connect_string());
    let holder = {
        let direct = crate::support::Zklock::at(&crate::support::shared().connect_string(), case.marker());
        let command = ["--", "sh", "-c", "echo holding; exec sleep 60"];
        let holder = direct.arg(case.path()).args(command).spawn();
        holder.wait_for_stdout("holding", SOON);
        holder
    };
    let options = ["-vvvv", "--session-timeout", "2"];
    let waiter = silence.start(&case, &options, "echo must not run");
    proxy.refuse_new(true);
    proxy.cut_all();
    case.observer().wait_for_contenders(case.path(), 1, SOON);
    waiter.signal(Signal::SIGTERM);
    assert_eq!(waiter.end(Duration::from_secs(6)), Err(Signal::SIGTERM));
    end(holder);
}
