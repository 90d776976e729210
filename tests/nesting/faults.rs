//! Faults while an inner zklock looks up the outer lock: it must never wait for itself.

use super::{end, inner, outer, shell, words};
use crate::support::{At, Case, DEADLINE, Proxy, Server, op, shared, wait_until};

/// An outer zklock on the server, and an inner one behind the proxy with the fault.
fn run(proxy: &Proxy, options: &[&str], case: &Case) -> crate::support::Zklock {
    let within = words(&proxy.connect_string(), options, &[case.path()]);
    outer(case, &[], &[within, shell("echo inside; exit 5")])
}

#[test]
fn a_connection_lost_while_looking_up_the_outer_lock_does_not_make_zklock_queue() {
    for at in [At::BeforeServer, At::BeforeReply] {
        let proxy = Proxy::to(shared());
        let case = Case::new("look-cut");
        proxy.once(op::GET_DATA, at);
        let output = run(&proxy, &["-w", "10"], &case).run();
        output.assert_code(5);
        assert_eq!(output.stdout, "inside\n");
    }
}

#[test]
fn a_session_expired_while_looking_up_the_outer_lock_does_not_make_zklock_queue() {
    let server = Server::start();
    let proxy = Proxy::to(&server);
    let case = Case::on(&server, "look-expired");
    proxy.once(op::GET_DATA, At::Hold);
    let options = ["--session-timeout", "1", "-w", "60"];
    let running = run(&proxy, &options, &case).spawn();
    proxy.wait_fired(1, DEADLINE);
    proxy.blackhole();
    wait_until("all sessions but the outer one to end", DEADLINE, || server.sessions() <= 1);
    proxy.pass();
    proxy.release();
    running.wait(DEADLINE).assert_code(5);
}

#[test]
fn an_unreachable_server_is_reported_as_usual_in_a_nested_zklock() {
    let proxy = Proxy::to(shared());
    proxy.refuse_new(true);
    let case = Case::new("look-refused");
    let output = run(&proxy, &["--connect-timeout", "0.5"], &case).run();
    output.assert_code(125).assert_stderr("no ZooKeeper server could be reached");
    assert_eq!(output.stdout, "");
}

#[test]
fn a_signal_ends_the_look_up_of_the_outer_lock() {
    let proxy = Proxy::to(shared());
    let case = Case::new("look-signal");
    proxy.once(op::GET_DATA, At::Hold);
    let running = run(&proxy, &[], &case).spawn();
    proxy.wait_fired(1, DEADLINE);
    end(running);
    proxy.release();
}

/// A process table that hides the zklock outside: without this refusal, the inner one would wait for itself.
#[test]
fn a_hidden_process_table_is_refused() {
    let case = Case::new("look-hidepid");
    let (user, hide) =
        ("sudo -n -u nobody --preserve-env=ZKLOCK_HELD", "mount -t proc -o hidepid=2 proc /proc");
    let inner = inner(&case, &["-w", "5"]).join(" ");
    let script = format!("{hide} && exec {user} {inner} true");
    let output =
        outer(&case, &[], &[["unshare", "-m", "sh", "-c", &script].map(str::to_owned).to_vec()]).run();
    if output.stderr.contains("unshare") || output.stderr.contains("mount:") || output.stderr.contains("sudo")
    {
        return crate::support::skip("no mount namespace or no sudo");
    }
    output.assert_code(125).assert_stderr("/proc hides PID");
}
