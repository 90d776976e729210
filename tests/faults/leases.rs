//! The only server doesn't answer, or answers as a different server. The command is dead before another contender can
//! have the lock, and shorter faults don't stop it.

use super::holder::{
    assert_dead_in_time, confirmations, deaf, now, section, steady, wait_for_job, wait_until_steady,
};
use crate::support::{Case, DEADLINE, History, Observer, Proxy, Running, STEADY, Server, shared, wait_until};
use std::thread;
use std::time::Duration;
use zookeeper::CreateMode;

/// A holder with a steady job, behind a proxy of its own.
struct Stage {
    running: Running,
    history: History,
    case: Case,
    proxy: Proxy,
}

impl Stage {
    /// The job exits with 7 when it is told to finish.
    fn new(name: &str, server: &Server, options: &[&str]) -> Self {
        let proxy = Proxy::to(server);
        let case = Case::on(server, name).through(&proxy.connect_string());
        let history = case.history();
        let running = steady(&case, &history, &[&["-v"], options].concat(), "job", "exit 7").spawn();
        wait_for_job(&running, &history, "job");
        Self { running, history, case, proxy }
    }

    /// Waits for this many more confirmations.
    fn wait_for_confirmations(&self, count: usize) {
        let answered = || confirmations([&self.proxy]);
        let before = answered();
        wait_until("confirmations", DEADLINE, || {
            let stderr = self.running.stderr().text();
            assert!(!stderr.contains("lock is lost"), "{} confirmations: {stderr}", answered() - before);
            answered() >= before + count
        });
    }

    /// Checks that the job ends by itself with its own exit code, and that no loss was reported.
    fn ends_well(self) {
        let Self { running, history, case, proxy } = self;
        assert_eq!(case.contenders().len(), 1);
        history.finish("job");
        let output = running.wait(DEADLINE);
        output.assert_code(7);
        assert!(!output.stderr.contains("lock is lost"), "{output}");
        assert!(section(&history, "job").ended);
        assert!(case.contenders().is_empty());
        drop((case, proxy));
    }

    /// Checks that the job was stopped before its lease ended, seven twelfths of a session timeout after `since`.
    fn ends_in_time(self, since: u128, session_timeout: Duration) {
        let Self { running, history, case, proxy } = self;
        running.wait_for_line("the lock is lost", DEADLINE);
        let job_is_dead = |line: &str| line.contains("was stopped");
        wait_until("the job to be stopped", DEADLINE, || running.stderr().text().lines().any(job_is_dead));
        // Only the release is left to do.
        proxy.pass();
        let output = running.wait(DEADLINE);
        output.assert_code(123).assert_stderr(case.path());
        assert_dead_in_time(&history, "job", since, session_timeout);
        case.wait_for_contenders(0);
        case.lock(&[], ["true"]).run().assert_code(0);
    }
}

/// Calls `act` with all of them at the same time.
fn each<T: Send>(all: impl IntoIterator<Item = T>, act: impl Fn(T) + Sync) {
    thread::scope(|scope| {
        for one in all {
            let act = &act;
            scope.spawn(move || act(one));
        }
    });
}

/// A name, and the fault.
type Break = (&'static str, fn(&Proxy));

const SILENCES: [Break; 4] = [
    ("to-server", Proxy::blackhole_to_server),
    ("to-client", Proxy::blackhole_to_client),
    ("both-ways", Proxy::blackhole),
    ("refused", |proxy| {
        proxy.refuse_new(true);
        proxy.cut_all();
    }),
];

#[test]
fn a_silence_that_is_shorter_than_the_lease_costs_nothing() {
    each(SILENCES, |(name, silence)| {
        let stage = Stage::new(name, shared(), &["--session-timeout", "20"]);
        wait_until_steady(&stage.proxy, 1);
        silence(&stage.proxy);
        // Five twelfths of the session timeout may pass after the last confirmation, including the way back.
        thread::sleep(Duration::from_secs(3));
        stage.proxy.pass();
        stage.wait_for_confirmations(1);
        stage.ends_well();
    });
}

#[test]
fn in_a_longer_silence_the_command_is_dead_before_the_session_can_end() {
    let session_timeout = Duration::from_secs(8);
    each(SILENCES, |(name, silence)| {
        let stage = Stage::new(name, shared(), &["--session-timeout", "8"]);
        wait_until_steady(&stage.proxy, 1);
        let since = now();
        silence(&stage.proxy);
        stage.running.wait_for_line("the lock is lost: no connection for ", DEADLINE);
        stage.ends_in_time(since, session_timeout);
    });
}

#[test]
fn a_slow_network_is_tolerated_unless_it_is_slower_than_the_lease_allows() {
    let slow = |name: &str, delay: Duration, session_timeout: &str| {
        let stage = Stage::new(name, shared(), &["--session-timeout", session_timeout]);
        wait_until_steady(&stage.proxy, 1);
        let since = now();
        stage.proxy.delay(delay);
        (stage, since)
    };
    each([(40, "16"), (750, "6")], |(millis, session_timeout)| {
        let (stage, since) = slow(&format!("slow-{millis}"), Duration::from_millis(millis), session_timeout);
        if millis == 40 {
            stage.wait_for_confirmations(4);
            stage.ends_well();
        } else {
            // Answers that are in flight when the network becomes slow still count, so the lease lasts longer than in a
            // silence.
            let Stage { running, history, case, proxy } = stage;
            running.wait_for_line("was stopped", DEADLINE);
            let lived = section(&history, "job").last.saturating_sub(Duration::from_nanos_u128(since));
            assert!(lived < Duration::from_secs(6), "{lived:?}");
            proxy.pass();
            running.wait(DEADLINE).assert_code(123);
            case.wait_for_contenders(0);
        }
    });
}

#[test]
fn when_the_server_stands_still_the_command_is_dead_before_the_session_can_end() {
    let server = Server::start();
    let session_timeout = Duration::from_secs(4);
    let options = ["--session-timeout", "4"];
    let stage = Stage::new("standstill", &server, &options);
    let proxy = Proxy::to(&server);
    let case = Case::on(&server, "deaf").through(&proxy.connect_string());
    let history = case.history();
    let deaf = deaf(&case, &history, &options, "deaf").spawn();
    wait_for_job(&deaf, &history, "deaf");
    // The other holders began before this one.
    wait_until_steady(&proxy, 1);
    let since = now();
    server.freeze();
    for running in [&stage.running, &deaf] {
        running.wait_for_line("was stopped", DEADLINE);
    }
    server.thaw();
    stage.ends_in_time(since, session_timeout);
    deaf.wait(DEADLINE).assert_code(123).assert_stderr("the lock is lost");
    assert_dead_in_time(&history, "deaf", since, session_timeout);
}

#[test]
fn a_short_standstill_of_the_server_costs_nothing() {
    let server = Server::start();
    let stage = Stage::new("short", &server, &["--session-timeout", "20"]);
    wait_until_steady(&stage.proxy, 1);
    server.freeze();
    thread::sleep(Duration::from_secs(3));
    server.thaw();
    stage.wait_for_confirmations(1);
    stage.ends_well();
}

#[test]
fn a_server_that_comes_back_knows_the_session_and_one_that_forgot_everything_does_not() {
    let server = Server::start();
    let options = ["--session-timeout", STEADY];
    let stopped = Stage::new("stopped", &server, &options);
    let nodes = stopped.case.wait_for_contenders(1);
    server.kill();
    server.restart();
    stopped.running.wait_for_line("connected again", DEADLINE);
    stopped.wait_for_confirmations(1);
    assert_eq!(stopped.case.wait_for_contenders(1), nodes);

    server.restart_empty();
    let observer = Observer::new(&server.connect_string());
    // The server refuses clients that have seen more changes than it has.
    wait_until("the session to be unknown", DEADLINE, || {
        observer.create("/change-", "", CreateMode::EphemeralSequential);
        stopped.running.stderr().count("the lock is lost: the session expired") > 0
    });
    let output = stopped.running.wait(DEADLINE);
    output.assert_code(123).assert_stderr("was stopped");
    assert!(!section(&stopped.history, "job").ended);
    stopped.case.lock(&[], ["true"]).run().assert_code(0);
}
