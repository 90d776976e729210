//! zklock as process 1 of its own image, which has no shell: what it runs there is zklock again.

use super::container::{Container, exec, probe, static_zklock};
use crate::support::{
    Case, DEADLINE, Running, children_of, end, first_of, skip, status_of, wait_until, zombies_below,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::geteuid;

const VERSION: &str = concat!("zklock ", env!("CARGO_PKG_VERSION"));

/// Starts a zklock that holds the case's lock in a container. Its command is a zklock that waits for another lock, which
/// is held.
fn hold(case: &Case, other: &Case, container: &Container) -> Running {
    let command = ["/zklock", "-v", "-z", case.hosts(), other.path(), "--", "/zklock", "--version"];
    let running = container.run(case.lock(&["-v"], command)).spawn();
    running.wait_for_line(&format!("{}: position 2", other.path()), DEADLINE);
    running
}

/// Names the test as skipped for the shipped program, though it goes on with the one under test.
fn note_what_is_tried() {
    if static_zklock().is_none() {
        skip("tried without the static zklock of the image: scripts/package static builds it");
    }
}

#[test]
fn exit_codes_in_the_image_are_the_command_s() {
    let Some(container) = Container::new() else { return };
    note_what_is_tried();
    let case = Case::new("image-code");
    let run = |command: &[&str]| container.run(case.lock(&[], command)).run();
    run(&["/zklock", "--version"]).assert_code(0).assert_stdout(VERSION);
    run(&["/zklock", "-z", case.hosts(), "status", "--exit-code", case.path()]).assert_code(1);
    run(&["/absent"]).assert_code(127);
}

/// The probe that is killed is one whose `timeoutSeconds` are over.
#[test]
fn process_1_of_the_image_answers_probes_reaps_orphans_and_stops_on_term() {
    let Some(container) = Container::new() else { return };
    let (case, other) = (Case::new("image"), Case::new("image-other"));
    let holder = other.holder();
    let running = hold(&case, &other, &container);
    let zklock = first_of(&running);
    if geteuid().is_root() {
        assert_eq!(status_of(zklock, "Uid").as_deref(), Some("65532\t65532\t65532\t65532"));
    }
    for (words, code) in [
        (&["--version"][..], 0),
        (&["status", "--exit-code", case.path()], 1),
        (&["status", "--exit-code", "/t/image-probes-free"], 0),
        (&["check", case.path()], 0),
    ] {
        let (status, said) = probe(zklock, &case, words);
        // A single server for tests deserves warnings, which `check` exits with 1 for.
        let is_expected = if words[0] == "check" {
            matches!(status, Some(0 | 1)) && said.contains("ok    permissions")
        } else {
            status == Some(code)
        };
        assert!(is_expected, "{words:?}: {status:?}: {said}");
    }
    let before = children_of(zklock).len();
    // With the host's shell: only the processes are the container's.
    let output = exec(zklock, &["--pid"], &["sh", "-c", "(sleep 0.1 &)"]);
    assert!(output.status.success(), "{output:?}");
    wait_until("the orphan to be reaped", DEADLINE, || {
        zombies_below(zklock) == 0 && children_of(zklock).len() == before
    });
    kill(zklock, Signal::SIGTERM).expect("zklock");
    let output = running.wait(DEADLINE);
    output.assert_code(128 + 15).assert_stderr(&format!("{}: released", case.path()));
    assert_eq!(case.contenders().len() + other.contenders().len(), 1);
    end(holder);
}
