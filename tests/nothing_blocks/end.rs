//! The end comes, and says what it has to say with its code.

use super::{SAYING, Silence, in_every_silence};
use crate::support::{Case, Running, SOON, Zklock, end, free_port};
use nix::sys::signal::Signal;
use std::time::Duration;

in_every_silence! {
    the_command_s_end_is_zklock_s
    an_unread_error_keeps_its_exit_code
}

/// What is not written within a moment is lost, and nobody waits for longer.
const AT_MOST: Duration = Duration::from_secs(8);

fn the_command_s_end_is_zklock_s(silence: Silence) {
    for saying in SAYING {
        let case = Case::new("unheard-end");
        let job = silence.start(&case, saying, "sleep 0.3; exit 9");
        assert_eq!(job.end(AT_MOST), Ok(9), "{saying:?}");
        let job = silence.start(&case, saying, "sleep 0.3; kill -USR1 $$");
        assert_eq!(job.end(AT_MOST), Err(Signal::SIGUSR1), "{saying:?}");
    }
}

fn an_unread_error_keeps_its_exit_code(silence: Silence) {
    for saying in SAYING {
        let case = Case::new("unheard-error");
        let holder: Running = case.holder();
        let busy = case.lock(&[saying, &["-n", "-E", "77"]].concat(), ["echo", "must not run"]);
        assert_eq!(silence.begin(&case, busy).end(AT_MOST), Ok(77), "{saying:?}");
        end(holder);
        let missing = case.lock(saying, ["/no/such/program"]);
        assert_eq!(silence.begin(&case, missing).end(AT_MOST), Ok(127), "{saying:?}");
        let nowhere = Zklock::at(&format!("127.0.0.1:{}", free_port()), case.marker()).args(saying).args([
            "--connect-timeout",
            "1",
            case.path(),
            "--",
            "echo",
            "must not run",
        ]);
        assert_eq!(silence.begin(&case, nowhere).end(SOON), Ok(125), "{saying:?}");
    }
}
