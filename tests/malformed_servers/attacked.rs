//! A zklock at the mercy of somebody's server.

use crate::overload::memory::Memory;
use crate::support::{Output, Running, Zklock, assert_no_processes, new_marker};
use std::time::Duration;

/// How long zklock is given with `-w`.
const DEADLINE: &str = "2.2";

/// What needs this long hangs. Against a flood zklock needs five seconds of a processor, which it may have to share.
const LONGEST: Duration = Duration::from_secs(150);

/// More memory than this is an attack that succeeds.
const MOST_KIB: u64 = 200 << 10;

/// Codes of a zklock that saw through it: before the command ran, or while it did.
pub(super) const FAILED: i32 = 125;
pub(super) const LOST: i32 = 123;

/// One that is being attacked.
pub(super) struct Attacked {
    running: Running,
    memory: Memory,
    most_kib: u64,
    marker: String,
}

impl Attacked {
    /// Starts zklock against this server; it has little more than two seconds.
    pub(super) fn by(hosts: &str) -> Self {
        Self::with(hosts, &["-w", DEADLINE])
    }

    /// Starts zklock against this server with these options.
    pub(super) fn with(hosts: &str, options: &[&str]) -> Self {
        let marker = new_marker();
        let zklock = Zklock::at(hosts, &marker).args(["--session-timeout", "3"]).args(options);
        let running = zklock.args(["/t/hostile", "--", "sh", "-c", "echo ran; exec sleep 60"]).spawn();
        Self { memory: Memory::watch(running.pid()), most_kib: MOST_KIB, running, marker }
    }

    /// However much memory the client library takes: that is nobody's to limit.
    pub(super) fn at_any_cost(self) -> Self {
        Self { most_kib: u64::MAX, ..self }
    }

    /// It ends in time with 125 and a reason, and has not run its command.
    #[track_caller]
    pub(super) fn fails(self) -> Output {
        let output = self.ends();
        output.assert_code(FAILED).assert_stderr("/t/hostile: ");
        assert_eq!(output.stdout, "", "{output}");
        output
    }

    /// It ends in time, however: without a panic, and without having eaten the memory.
    #[track_caller]
    pub(super) fn ends(self) -> Output {
        let output = self.running.wait(LONGEST);
        assert!(!output.stderr.contains("panicked"), "{output}");
        assert!(!output.stderr.contains(|c: char| c.is_control() && c != '\n'), "{output}");
        let peak = self.memory.peak_kib();
        assert!(peak < self.most_kib, "{peak} KiB: {output}");
        assert_no_processes(&self.marker, LONGEST);
        output
    }
}
