//! A waiter that receives nothing for a while: it runs when its turn has come and never before, or gives up when its
//! time is over.

use super::holder::{deaf, section, steady, wait_for_job, wait_until_steady};
use crate::support::{
    At, Case, DEADLINE, Proxy, Running, Server, Zklock, end, op, pass_time, shared, try_rows, wait_until,
};
use std::time::{Duration, Instant};

/// A waiter and the proxy between it and its server. All other contenders connect directly.
struct Stage {
    case: Case,
    proxy: Proxy,
}

impl Stage {
    fn new(name: &str) -> Self {
        let proxy = Proxy::to(shared());
        Self { case: Case::new(name).through(&proxy.connect_string()), proxy }
    }

    fn direct(&self, options: &[&str], job: &str) -> Running {
        let zklock = Zklock::at(&shared().connect_string(), self.case.marker()).args(options);
        zklock.args([self.case.path(), "--", "bash", "-c", job]).spawn()
    }

    /// Starts a waiter behind the proxy, and returns when it waits.
    fn waiter(&self, options: &[&str], job: &str) -> Running {
        let waiter = self.case.lock(&[&["-vv"], options].concat(), ["bash", "-c", job]).spawn();
        waiter.wait_for_line(": position ", DEADLINE);
        waiter
    }
}

#[test]
fn a_waiter_whose_session_expired_says_so_and_queues_again_at_the_end() {
    let stage = Stage::new("expired");
    let (case, history) = (&stage.case, stage.case.history());
    let holder = stage.case.direct_holder(&[]);
    let unlucky = stage.waiter(&["--session-timeout", "3", "-w", "60"], &history.job("unlucky", 0.1));
    let other = stage.direct(&[], &history.job("other", 0.1));
    let before = case.wait_for_contenders(3);
    stage.proxy.blackhole();
    case.observer().wait_until_gone(&format!("{}/{}", case.path(), before[1]), DEADLINE);
    stage.proxy.pass();
    let line = unlucky.wait_for_line("the session was lost while waiting", DEADLINE);
    assert!(line.contains(case.path()), "{line}");
    let after = case.wait_for_contenders(3);
    assert_eq!(after[..2], [before[0].clone(), before[2].clone()], "it has lost its place");
    assert!(history.sections().unwrap().is_empty(), "nobody's turn yet");
    end(holder);
    other.wait(DEADLINE).assert_code(0);
    unlucky.wait(DEADLINE).assert_code(0);
    assert_eq!(history.exclusive_order(), ["other", "unlucky"]);
}

#[test]
fn with_nonblock_zklock_ends_in_time_although_its_session_was_lost() {
    let stage = Stage::new("nonblock-lost");
    stage.proxy.once(op::GET_CHILDREN, At::Hold);
    let options = ["-n", "--session-timeout", "1", "--connect-timeout", "3"];
    let running = stage.case.lock(&options, ["echo", "ran"]).spawn();
    stage.proxy.wait_fired(1, DEADLINE);
    stage.proxy.blackhole();
    let output = running.wait(Duration::from_secs(30));
    assert_eq!(output.assert_code(125).stdout, "");
    stage.proxy.pass();
}

/// The silence is longer than a lease, and shorter than the session timeout.
#[test]
fn a_waiter_that_outlives_its_lease_keeps_its_place_and_earns_a_new_lease() {
    try_rows([false, true], |becomes_first| {
        let stage = Stage::new("silence");
        let (case, proxy) = (&stage.case, &stage.proxy);
        let mut holder = Some(case.direct_holder(&[]));
        let session_timeout = Duration::from_secs(5);
        let waiter = stage.waiter(&["--session-timeout", "5"], "echo ran");
        let queue = case.wait_for_contenders(2);
        let short =
            (!becomes_first).then(|| stage.waiter(&["--session-timeout", "5", "-w", "9"], "echo ran"));
        wait_until_steady(proxy, 1 + usize::from(short.is_some()));
        let silent_since = Instant::now();
        proxy.blackhole();
        holder.take_if(|_| becomes_first).into_iter().for_each(end);
        pass_time(session_timeout.mul_f64(0.65).saturating_sub(silent_since.elapsed()));
        assert_eq!(waiter.stdout().text(), "", "it can't know");
        let mut since = Instant::now();
        proxy.pass();
        if let (Some(short), Some(holder)) = (short, holder) {
            waiter.wait_for_line("connected again", DEADLINE);
            let short = short.wait(DEADLINE);
            assert_eq!(short.assert_code(124).stdout, "");
            assert!(short.elapsed < Duration::from_secs(15), "{:?}", short.elapsed);
            assert_eq!(case.contenders(), queue, "the same place");
            assert_eq!(waiter.stdout().text(), "");
            end(holder);
            since = Instant::now();
        }
        let output = waiter.wait(DEADLINE);
        assert_eq!(output.assert_code(0).stdout, "ran\n");
        assert!(!output.stderr.contains("queueing again"), "{output}");
        // Six confirmations are needed, each a twelfth of the session timeout after the answer to the one before.
        let least = session_timeout.mul_f64(if becomes_first { 0.4 } else { 0.0 });
        assert!((least..2 * session_timeout).contains(&since.elapsed()), "{:?}", since.elapsed());
    });
}

#[test]
fn a_waiter_whose_node_was_deleted_while_it_was_not_connected_never_runs() {
    let Stage { case, proxy } = Stage::new("waiter-deleted");
    let holder = case.direct_holder(&[]);
    let waiter = case.lock(&["-vv"], ["echo", "ran"]).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    case.wait_for_contenders(2);
    proxy.refuse_new(true);
    proxy.cut_all();
    waiter.wait_for_line("connection lost", DEADLINE);
    case.delete_node(1);
    // From now on, the waiter would be first in the queue.
    end(holder);
    proxy.refuse_new(false);
    let output = waiter.wait(DEADLINE);
    assert_eq!(output.assert_code(125).assert_stderr("its lock node was deleted").stdout, "");
}

#[test]
fn a_server_frozen_for_most_of_a_session_passes_the_lock_on_when_it_continues() {
    let server = Server::start();
    let proxy = Proxy::to(&server);
    let case = Case::on(&server, "standstill").through(&proxy.connect_string());
    let (history, session_timeout) = (case.history(), Duration::from_secs(5));
    let options = ["-v", "--session-timeout", "5", "--kill-after", "0.3"];
    let holder = deaf(&case, &history, &options, "holder").spawn();
    wait_for_job(&holder, &history, "holder");
    let next = steady(&case, &history, &options, "next", "exit 3").spawn();
    next.wait_for_line(": position ", DEADLINE);
    wait_until_steady(&proxy, 2);
    server.freeze();
    pass_time(session_timeout.mul_f64(0.75));
    server.thaw();
    let thawed = Instant::now();
    holder.wait(DEADLINE).assert_code(123).assert_stderr("the lock is lost");
    wait_for_job(&next, &history, "next");
    assert!(thawed.elapsed() < 4 * session_timeout, "{:?}", thawed.elapsed());
    history.finish("next");
    next.wait(DEADLINE).assert_code(3);
    assert_eq!(history.exclusive_order(), ["holder", "next"]);
    assert!(!section(&history, "holder").ended);
    wait_until("the queue to be empty", DEADLINE, || case.contenders().is_empty());
}

/// The lock was busy when it was last listed. Whether it still is isn't known after a while, so zklock must not skip the run
/// quietly.
#[test]
fn a_waiter_whose_time_runs_out_is_busy_soon_after_an_answer_and_fails_in_a_silence() {
    let stage = Stage::new("silent-end");
    let holder = stage.case.direct_holder(&[]);
    let options = ["--session-timeout", "8", "-w", "8", "-E", "0"];
    let hears = stage.direct(&options, "echo must not run");
    let long = stage.waiter(&["--session-timeout", "24", "-w", "8"], "echo must not run");
    let over = stage.waiter(&["--session-timeout", "1", "-w", "8"], "echo must not run");
    let waiter = stage.waiter(&options, "echo must not run");
    stage.proxy.blackhole();
    let output = waiter.wait(DEADLINE);
    assert_eq!(output.assert_code(125).stdout, "");
    output.assert_stderr(&format!("{}: gave up after ", stage.case.path()));
    output.assert_stderr(" s: no connection to the servers for ");
    assert_eq!(hears.wait(DEADLINE).assert_code(0).stdout, "");
    let [long, over] = [long, over].map(|running| running.wait(DEADLINE));
    long.assert_code(124).assert_stderr("busy: gave up");
    over.assert_code(125)
        .assert_stderr("queueing again")
        .assert_stderr("no ZooKeeper server could be reached");
    for output in [long, over] {
        assert_eq!(output.stdout, "");
        // It requests the deletion of its node, and doesn't wait for the answer for long.
        assert!(output.elapsed < Duration::from_secs(50), "{output}");
    }
    stage.proxy.pass();
    stage.case.wait_for_contenders(1);
    end(holder);
}
