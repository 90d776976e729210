//! An ensemble in use, and what an operation costs those who use it.

use crate::support::{Case, DEADLINE, Ensemble, History, Output, Running, Server, end, wait_until};
use std::fmt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long the last commands may take to run after an operation.
const DRAIN: Duration = Duration::from_mins(3);

/// The session timeout, in seconds: long, because a busy machine must not cost the lock.
const SESSION: &str = "30";
/// How many contenders queue for another lock, one running after the other, and for how many seconds each runs.
const CROWD: usize = 5;
const JOB: f64 = 0.5;

/// Three servers and those who use them.
pub(super) struct Scene {
    history: History,
    crowd_history: History,
    case: Case,
    // Dropped after the case, which looks for nodes at the end.
    pub(super) ensemble: Ensemble,
}

/// What an operation cost. All times are from its begin.
pub(super) struct Report {
    ended: Duration,
    /// The end of the holder's command, and its exit.
    pub(super) holder: (Duration, Output),
    /// When the waiter behind it ran.
    waiter: Duration,
    /// A waiter with `-w`.
    pub(super) limited: Output,
    /// The exits of the queue that moves, in the order in which they queued, and the order in which they ran.
    pub(super) crowd: Vec<Option<i32>>,
    pub(super) order: Vec<String>,
    /// The longest time for which none of them ran.
    pause: Duration,
    /// What `status --watch` said beside its documents.
    watch: String,
}

impl Scene {
    pub(super) fn start(name: &str) -> Self {
        let ensemble = Ensemble::builder()
            .tick_ms(500)
            .init_limit(20)
            .config("reconfigEnabled=true")
            .config("standaloneEnabled=false")
            // Anyone may change the members.
            .java_option("-Dzookeeper.skipACL=yes")
            .start();
        let case = Case::at(&ensemble.connect_string(), name);
        let (history, crowd_history) = (case.history(), History::new(case.dir(), "crowd"));
        Self { history, crowd_history, case, ensemble }
    }

    /// Waits until every server that runs follows or leads.
    pub(super) fn is_whole(&self) {
        let running = self.ensemble.members().iter().filter(|member| member.pid().is_some()).count();
        wait_until("all servers", DRAIN, || self.modes().len() == running);
    }

    /// The modes of the servers that serve clients.
    pub(super) fn modes(&self) -> Vec<String> {
        self.ensemble.members().iter().filter_map(Server::mode).collect()
    }

    /// What the operation costs.
    pub(super) fn during(mut self, operation: fn(&mut Self)) -> Report {
        let options = ["-v", "--session-timeout", SESSION];
        let steady = self.history.steady_job("holder");
        let lock = |more: &[&str], command: &[&str]| {
            let contender = self.case.lock(&[&options[..], more].concat(), command).spawn();
            contender.wait_for_line("queued as", DEADLINE);
            contender
        };
        let holder = lock(&[], &["bash", "-c", &steady]);
        let waiter = lock(&[], &["date", "+%s%N"]);
        let watch = self.case.zklock().args(["status", "--watch", "--json", self.case.path()]).spawn();
        watch.wait_for_stdout("\"locks\":[{", DEADLINE);
        let crowd = self.crowd(&options);
        let limited = lock(&["-w", "5"], &["echo", "no"]);
        limited.wait_for_line(": position ", DEADLINE);

        let (began, began_at) = (Instant::now(), SystemTime::now());
        operation(&mut self);
        let ended = began.elapsed();
        let limited = limited.wait(DRAIN);
        self.history.finish("holder");
        let holder = holder.wait(DEADLINE);
        let waiter = waiter.wait(DRAIN);
        let ran_at = waiter.assert_code(0).stdout.trim().parse().map(Duration::from_nanos).expect("a time");
        let crowd = crowd.into_iter().map(|member| member.wait(DRAIN).code).collect();
        assert!(watch.is_running(), "the watch ended: {}", watch.stderr().text());
        let said = watch.stderr().text();
        end(watch);
        let since =
            |time: Duration| time.saturating_sub(began_at.duration_since(UNIX_EPOCH).expect("a time"));
        let last = self.history.sections().expect("a history")[0].last;
        let sections = self.crowd_history.sections().expect("a history");
        assert_eq!(self.crowd_history.most_at_once(), 1, "{sections:#?}");
        let pauses = sections.windows(2).map(|pair| pair[1].begin.saturating_sub(pair[0].last));
        Report {
            ended,
            holder: (since(last), holder),
            waiter: since(ran_at),
            limited,
            crowd,
            pause: pauses.max().unwrap_or_default(),
            order: sections.into_iter().map(|section| section.name).collect(),
            watch: said,
        }
    }

    /// Contenders that queue in a known order.
    fn crowd(&self, options: &[&str]) -> Vec<Running> {
        let path = format!("{}-crowd", self.case.path());
        let start = |number: usize| {
            let job = self.crowd_history.job(&number.to_string(), JOB);
            let member = self.case.zklock().args(options).args([&path, "--", "bash", "-c", &job]).spawn();
            member.wait_for_line("queued as", DEADLINE);
            member
        };
        (0..CROWD).map(start).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (end, holder) = &self.holder;
        writeln!(f, "took {:.1?}; the waiter ran after {:.1?}", self.ended, self.waiter)?;
        writeln!(f, "the holder's command ended after {end:.1?}, {holder}")?;
        writeln!(f, "-w ended {:.1?} after its start, {}", self.limited.elapsed, self.limited)?;
        writeln!(
            f,
            "the queue: {:?} in the order {:?}, longest pause {:.1?}",
            self.crowd, self.order, self.pause
        )?;
        write!(f, "status --watch: {}", self.watch)
    }
}
