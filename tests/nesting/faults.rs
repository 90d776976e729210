//! Faults around an inner zklock: it must never wait for itself, and it ends when the outer lock is lost.

use super::{HOLD, go, inner, outer, shell, start, until_go, words};
use crate::support::{
    At, Case, DEADLINE, Proxy, STEADY, Server, Zklock, end, op, shared, signal_printer, try_rows, wait_until,
};
use nix::sys::signal::Signal;

/// An outer zklock on the server, and an inner one behind the proxy with the fault.
fn run(proxy: &Proxy, options: &[&str], case: &Case) -> Zklock {
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

/// The locks of an inner zklock, whether it waits for the last of them, and the lock whose node is deleted.
const LOST: &[(&str, bool, &str)] =
    &[("A", false, "A"), ("B", false, "A"), ("A B", false, "A"), ("A B", false, "B"), ("B", true, "A")];

/// The case checks that nothing of the inner command is left.
#[test]
fn an_inner_zklock_ends_with_123_when_a_lock_is_lost() {
    try_rows(LOST.iter().copied(), |(locks, waits, lost)| {
        let case = Case::new("lost");
        let b = format!("{}-b", case.path());
        let path = |lock: &str| if lock == "A" { case.path() } else { b.as_str() };
        let holder = waits.then(|| start(case.zklock().args([&b, "--", "sh", "-c", HOLD])));
        let paths: Vec<&str> = locks.split(' ').map(path).collect();
        let within = words(case.hosts(), &["-v", "--session-timeout", STEADY], &paths);
        let zklock = outer(&case, &[], &[within, shell("echo inside; while :; do sleep 0.01; done")]);
        let running = if waits { zklock.spawn() } else { start(zklock) };
        if waits {
            running.wait_for_line(": position ", DEADLINE);
        }
        case.observer().delete(&format!("{}/{}", path(lost), case.observer().children(path(lost))[0]));
        let output = running.wait(DEADLINE);
        output.assert_code(123).assert_stderr("its node was deleted by another client");
        assert_eq!(output.stdout, if waits { "" } else { "inside\n" });
        assert_eq!(case.observer().children(&b).len(), usize::from(waits), "only the holder's");
        holder.into_iter().for_each(end);
    });
}

#[test]
fn the_innermost_command_gets_each_signal_once() {
    let case = Case::new("nested-signals");
    let printer = signal_printer(&["TERM=3"]);
    let running = outer(&case, &[], &[inner(&case, &[]), inner(&case, &[]), printer]).spawn();
    running.wait_for_stdout("ready", DEADLINE);
    running.signal(Signal::SIGUSR1);
    running.wait_for_stdout("got USR1", DEADLINE);
    running.signal(Signal::SIGTERM);
    let output = running.wait(DEADLINE);
    output.assert_code(3);
    assert_eq!(output.stdout.matches("got TERM").count(), 1);
}

/// The inner reader shares the outer one's node, and doesn't queue behind the waiting writer.
#[test]
fn a_reader_inside_a_reader_runs_although_a_writer_waits() {
    let case = Case::new("writer-between");
    let wait = format!("echo inside; {}; exec \"$@\"", until_go(&case));
    let wait = ["sh", "-c", &wait, "sh"].map(str::to_owned).to_vec();
    let reader = start(outer(&case, &["-s"], &[wait, inner(&case, &["-s"]), shell("echo ran")]));
    let writer = case.lock(&["-v"], ["true"]).spawn();
    writer.wait_for_line(": position ", DEADLINE);
    go(&case);
    reader.wait_for_stdout("ran", DEADLINE);
    reader.wait(DEADLINE).assert_code(0);
    writer.wait(DEADLINE).assert_code(0);
}
