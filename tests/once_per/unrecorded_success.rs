//! A success that can't be recorded: the command would run again each time, so `-q` doesn't hide the error.

use crate::support::{At, Case, DEADLINE, Proxy, op, shared, worker_of};
use nix::sys::signal::{Signal, kill};
use zookeeper::Permission;

#[test]
fn an_unrecorded_success_is_reported_even_with_quiet() {
    let case = Case::new("once-refused");
    let above = format!("{}-above", case.path());
    let lock = format!("{above}/lock");
    case.observer().mkdirs(&lock);
    // Clients may queue at the lock, but not create a node beside it.
    case.observer().restrict(&above, Permission::READ | Permission::ADMIN);
    for options in [&[][..], &["-q"]] {
        let words = [options, &["--once-per", "3600", &lock, "--", "sh", "-c", "echo ran"]].concat();
        let output = case.zklock().args(words).run();
        output.assert_code(0).assert_stderr("the success could not be recorded").assert_stderr("/lock");
        assert_eq!(output.stdout, "ran\n", "it isn't skipped the next time");
    }
}

/// Nobody knows what the servers did with the transaction.
#[test]
fn a_success_of_a_worker_killed_while_it_records_is_reported_even_with_quiet() {
    let proxy = Proxy::to(shared());
    let case = Case::new("once-killed").through(&proxy.connect_string());
    proxy.once(op::MULTI, At::Hold);
    let running = case.lock(&["-q", "--once-per", "3600"], ["true"]).spawn();
    proxy.wait_fired(1, DEADLINE);
    kill(worker_of(running.pid()), Signal::SIGKILL).expect("a worker");
    proxy.cut_all();
    proxy.release();
    running.wait(DEADLINE).assert_code(0).assert_stderr("the success may not be recorded");
}
