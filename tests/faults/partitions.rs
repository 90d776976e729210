//! The network between three servers breaks, so that one of them has outdated information. A command whose zklock is
//! connected to that server is stopped before another one on the other side begins.
//!
//! The jobs ignore TERM, so that only KILL ends them. The session timeouts are shorter than the silence that the
//! servers tolerate from each other, so the server that is cut off answers its clients all the time.

use super::holder::{deaf, section, wait_for_job};
use super::loan::Loan;
use crate::support::{Case, DEADLINE, History, Running, Server, Zklock, op, try_for, wait_until};
use std::time::Duration;

const SYNC_LIMIT: u32 = 60;
const SESSION: &str = "7";

/// A server that is elected and has no followers waits `initLimit` ticks before it votes again: 5 s here. That may
/// happen several times in a row.
const ELECTIONS: Duration = Duration::from_mins(1);

/// A holder whose zone has only one server, and the next contender on another server.
struct Stage {
    holder: Running,
    next: Running,
    history: History,
    case: Case,
    network: Loan,
    leader: usize,
    follower: usize,
}

impl Stage {
    fn new(name: &str, on_leader: bool) -> Self {
        let network = Loan::take(SYNC_LIMIT);
        let leader = network.wait_for_leader();
        let (follower, other) = (network.a_follower(), (leader + 2) % network.servers.len());
        network.confine(0, if on_leader { leader } else { follower });
        network.confine(1, other);
        let case =
            Case::at(&network.servers[other].connect_string(), name).through(&network.connect_string(0));
        let history = case.history();
        let options = ["-v", "--session-timeout", SESSION, "--kill-after", "9"];
        let holder = deaf(&case, &history, &options, "holder").spawn();
        wait_for_job(&holder, &history, "holder");
        let next =
            Zklock::at(&network.connect_string(1), case.marker()).args(["-v", "--session-timeout", "20"]);
        let next = next.args([case.path(), "--", "bash", "-c", &history.steady_job("next")]).spawn();
        next.wait_for_line(": position ", DEADLINE);
        network.wait_until_steady();
        Self { holder, next, history, case, network, leader, follower }
    }

    /// The followers notice immediately that they can't reach their leader, and elect a new one. The election messages
    /// of all three still pass, so they may elect the old leader again at first, and have to notice again.
    fn depose_leader(&self) {
        self.network.isolate(self.leader);
        let leads = |(index, server): (usize, &Server)| {
            index != self.leader && server.mode().as_deref() == Some("leader")
        };
        let elected = || self.network.servers.iter().enumerate().any(leads).then_some(());
        wait_until("another leader", ELECTIONS, || {
            self.network.reset_followers_of(self.leader);
            try_for(Duration::from_secs(1), elected).is_some()
        });
    }

    /// Checks that the next command runs while the fault lasts, and that the holder's job was dead by then.
    fn hands_off_in_time(self) {
        let Self { holder, next, history, case, network, .. } = self;
        wait_for_job(&next, &history, "next");
        // A job that is still alive writes a line every 20 ms.
        wait_until("more of the next one", DEADLINE, || {
            let next = section(&history, "next");
            next.last.saturating_sub(next.begin) > Duration::from_millis(300)
        });
        assert_eq!(history.exclusive_order(), ["holder", "next"]);
        holder.wait_for_line("was stopped", DEADLINE);
        network.heal();
        holder.wait(DEADLINE).assert_code(123).assert_stderr("the lock is lost");
        history.finish("next");
        next.wait(DEADLINE).assert_code(0);
        assert_eq!(history.exclusive_order(), ["holder", "next"]);
        assert!(!section(&history, "holder").ended);
        case.wait_for_contenders(0);
    }
}

#[test]
fn no_command_runs_on_behind_a_follower_that_is_cut_off() {
    let stage = Stage::new("follower", false);
    stage.network.isolate(stage.follower);
    stage.hands_off_in_time();
}

#[test]
fn no_command_runs_on_behind_a_deposed_leader_that_is_cut_off() {
    let stage = Stage::new("leader", true);
    stage.depose_leader();
    stage.hands_off_in_time();
}

#[test]
fn a_write_that_comes_through_while_a_follower_is_cut_off_proves_too_little() {
    let stage = Stage::new("pulse", false);
    let link = &stage.network.zone(0)[stage.follower];
    stage.network.isolate(stage.follower);
    // This confirmation is on its way to the leader when the follower is cut off.
    let (asked, answered) = (link.count(op::MULTI), link.answered(op::MULTI));
    wait_until("a confirmation to be asked for", DEADLINE, || link.count(op::MULTI) > asked);
    // The server has the request once the proxy has written it, which takes next to no time.
    std::thread::sleep(Duration::from_millis(50));
    let confirmed = || (link.answered(op::MULTI) > answered).then_some(());
    wait_until("it to be confirmed", DEADLINE, || {
        stage.network.pulse(stage.follower, stage.leader);
        try_for(Duration::from_millis(200), confirmed).is_some()
    });
    stage.hands_off_in_time();
}
