//! Rolling upgrades: zklocks of two versions share queues, each ahead of the other.
//!
//! The variable `ZKLOCK_OTHER` names the other version's program, which `scripts/versions --zklock REV` builds. If it isn't
//! set, these tests are skipped. Versions may word their messages differently, so these tests look at queues, exit codes
//! and JSON.

mod credentials;
mod nested;
mod once_per;
mod order;
mod readers;
mod revoke;
mod several;
mod slots;
mod soak;
mod status;
mod wait;

use crate::support::{Case, DEADLINE, Running, Zklock, end, shared, skip, wait_until};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// One of the two versions.
#[derive(Clone, Copy, Debug)]
enum Version {
    /// The program under test.
    This,
    /// The program that `ZKLOCK_OTHER` names.
    Other,
}

use Version::{Other, This};

static OTHER: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let program = std::env::var_os("ZKLOCK_OTHER").filter(|name| !name.is_empty()).map(PathBuf::from)?;
    assert!(program.is_file(), "ZKLOCK_OTHER names no program: {}", program.display());
    Some(program)
});

impl Version {
    fn program(self) -> &'static Path {
        match self {
            This => Path::new(env!("CARGO_BIN_EXE_zklock")),
            Other => OTHER.as_deref().expect("checked by in_both_orders"),
        }
    }

    /// zklock of this version with `-z` and no other argument.
    fn zklock(self, case: &Case) -> Zklock {
        case.zklock().program(self.program())
    }

    /// zklock of this version with these options, the case's lock path, and a shell script.
    fn lock(self, case: &Case, options: &[&str], script: &str) -> Zklock {
        case.lock(options, ["sh", "-c", script]).program(self.program())
    }

    /// Starts a contender at this position in the queue. Its command prints `running` and waits for a signal.
    #[track_caller]
    fn queue(self, case: &Case, options: &[&str], place: usize) -> Running {
        let contender = self.lock(case, options, "echo running; exec sleep 60").spawn();
        case.wait_for_contenders(place);
        contender
    }

    /// The same with the first position, when its command runs.
    #[track_caller]
    fn hold(self, case: &Case, options: &[&str]) -> Running {
        let holder = self.queue(case, options, 1);
        wait_until_it_runs(&holder);
        holder
    }
}

/// Runs `test` with each version in either role.
fn in_both_orders(test: impl Fn(Version, Version)) {
    if OTHER.is_none() {
        return skip("ZKLOCK_OTHER names no zklock of another version");
    }
    test(This, Other);
    test(Other, This);
}

#[track_caller]
fn wait_until_it_runs(contender: &Running) {
    contender.wait_for_stdout("running", DEADLINE);
}

/// Waits until each of the waiters watches another contender, besides everyone's watch on their own node, and asserts
/// that none of them runs.
#[track_caller]
fn assert_they_wait(case: &Case, waiters: &[&Running]) {
    wait_until("the waiters to watch", DEADLINE, || {
        let contenders = case.contenders();
        let watches = |name: &String| shared().watchers_of(&format!("{}/{name}", case.path()));
        contenders.iter().map(watches).sum::<usize>() >= contenders.len() + waiters.len()
    });
    for waiter in waiters {
        assert_eq!(waiter.stdout().count("running"), 0);
    }
}
