use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::*;
use crate::core::lock::contender::ContentionError;
use crate::core::lock::name::{Family, Mode};
use crate::core::lock::queue::QueueError;
use crate::core::message::{Holder, Level};
use crate::core::protocol::RequestError;

const PAGE: &str = include_str!("../../../docs/log-json.md");

/// The message after this one in a walk through all messages. The compiler reports a message that is missing here.
fn next(message: &Message) -> Option<Message> {
    use Message as M;
    let (waited, word) = (Duration::from_secs(2), || "x".to_owned());
    Some(match message {
        M::Queued { .. } => M::WaitingFor { who: word(), ahead: 2 },
        M::WaitingFor { .. } => {
            let holder = Some(Holder { who: word(), held_for: Some(waited), queued_for: None });
            M::StillWaiting { waited, ahead: 2, predecessor: word(), holder, silent_for: None }
        }
        M::StillWaiting { .. } => M::Acquired { after: waited, token: 7 },
        M::Acquired { .. } => M::Busy { holder: word() },
        M::Busy { .. } => M::GaveUp { waited, ahead: word() },
        M::GaveUp { .. } => M::GaveUpStopped { waited, seen_busy: true },
        M::GaveUpStopped { seen_busy: true, .. } => M::GaveUpStopped { waited, seen_busy: false },
        M::GaveUpStopped { seen_busy: false, .. } => M::LeftTheQueueStopped,
        M::LeftTheQueueStopped => M::QueueingAgainAfterStop,
        M::QueueingAgainAfterStop => M::QueueingAgain(RequestError::Expired),
        M::QueueingAgain(_) => M::SignalIgnored(10),
        M::SignalIgnored(_) => M::AwaitsLease,
        M::AwaitsLease => M::ConnectionLostWaiting,
        M::ConnectionLostWaiting => M::ConnectedAgainWaiting,
        M::ConnectedAgainWaiting => M::ConfirmationFailed(RequestError::Quota),
        M::ConfirmationFailed(_) => M::Skipped { ago: waited, host: None, period: waited },
        M::Skipped { .. } => M::Unreachable { within: None, servers: vec![word()] },
        M::Unreachable { .. } => M::CredentialsRefused { hosts: word(), given: true },
        M::CredentialsRefused { .. } => M::SessionFailed(RequestError::TooOld),
        M::SessionFailed(_) => M::SessionClosed,
        M::SessionClosed => M::Contender(ContentionError::Deleted),
        M::Contender(_) => M::PlaceRevoked(None),
        M::PlaceRevoked(_) => {
            M::LineTooSlow { hosts: word(), trip: waited, timeout: waited, kill_after: waited }
        }
        M::LineTooSlow { .. } => M::NotConfirmed { waited },
        M::NotConfirmed { .. } => M::LastSeenBusy { waited, silence: waited, ahead: word() },
        M::LastSeenBusy { .. } => M::KeptBusy { hosts: word(), waited },
        M::KeptBusy { .. } => M::NoAnswer { hosts: word(), waited },
        M::NoAnswer { .. } => M::WaitsForItself { pid: 1 },
        M::WaitsForItself { .. } => M::OncePerInside,
        M::OncePerInside => M::HeldInOtherNaming { outer: Family::Kazoo, inner: Family::Curator },
        M::HeldInOtherNaming { .. } => M::HeldTooWeakly { outer: word(), inner: Mode::Shared },
        M::HeldTooWeakly { .. } => M::NotStarted(word()),
        M::NotStarted(_) => M::Started { command: word() },
        M::Started { .. } => M::ConnectionLost,
        M::ConnectionLost => M::ConnectedAgain,
        M::ConnectedAgain => M::LockLost { loss: Loss::Revoked(None), command: word(), stops: true },
        M::LockLost { .. } => {
            M::CommandStopped { loss: Loss::NodeDeleted, command: word(), after: Some(waited) }
        }
        M::CommandStopped { .. } => M::CommandKilled { command: word() },
        M::CommandKilled { .. } => M::Suspended { command: word(), wants_terminal: false, held: true },
        M::Suspended { wants_terminal: false, .. } => {
            M::Suspended { command: word(), wants_terminal: true, held: true }
        }
        M::Suspended { wants_terminal: true, .. } => M::LeftAfterKill(word()),
        M::LeftAfterKill(_) => M::SuccessRecorded,
        M::SuccessRecorded => M::SuccessNotRecorded(word()),
        M::SuccessNotRecorded(_) => M::Released,
        M::Released => M::LeftTheQueue,
        M::LeftTheQueue => M::SessionOver,
        M::SessionOver => M::ReleaseUnconfirmed,
        M::ReleaseUnconfirmed => M::Neighbour(QueueError::CounterEnd { node: word() }),
        M::Neighbour(_) => return None,
    })
}

fn all() -> impl Iterator<Item = Message> {
    std::iter::successors(Some(Message::Queued { node: "/a/n".to_owned() }), next)
}

/// What a row of the page's table says: the levels, and the fields.
type Row = (BTreeSet<String>, BTreeSet<String>);

/// The words in backquotes of a cell.
fn words(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The page's table of events, without those that no message of a run has.
fn table() -> BTreeMap<String, Row> {
    let (_, section) = PAGE.split_once("\n## Events\n").expect("a section on events");
    // The table of fields follows.
    let section = section.split("\n| field |").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        (cells[1].trim_matches('`').to_owned(), (words(cells[2]), words(cells[4])))
    };
    let mut table: BTreeMap<String, Row> = rows.map(row).collect();
    for other in ["info", "debug", "left_out"] {
        assert!(table.remove(other).is_some(), "{other}");
    }
    table
}

#[test]
fn the_page_has_every_event_with_its_levels_and_its_fields() {
    let mut found: BTreeMap<String, Row> = BTreeMap::new();
    for message in all() {
        let (levels, fields) = found.entry(message.event().to_owned()).or_default();
        levels.insert(message.level().word().to_owned());
        fields.extend(message.facts().into_iter().map(|(name, _)| name.to_owned()));
    }
    assert_eq!(table(), found, "docs/log-json.md and the messages differ");
}

#[test]
fn the_page_explains_each_field() {
    let (_, fields) = PAGE.split_once("\n| field | type | value |\n").expect("a table of fields");
    for (name, _) in all().flat_map(|message| message.facts()) {
        // Reasons have a table of their own.
        assert!(name == "reason" || fields.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn an_error_has_a_reason_that_the_page_explains() {
    let (_, reasons) = PAGE.split_once("\n## Reasons\n").expect("a section on reasons");
    for message in all() {
        let facts = message.facts();
        let reason = facts.iter().find(|(name, _)| *name == "reason").map(|(_, fact)| fact);
        assert!(message.event() != "error" || reason.is_some(), "{message:?}");
        let is_error = matches!(message.event(), "error" | "stopped");
        assert_eq!(is_error, message.level() == Level::Error, "{message:?}");
        if let Some(Fact::Text(reason)) = reason {
            assert!(reasons.contains(&format!("| `{reason}` |")), "{reason}");
        }
    }
    for loss in [
        Loss::LeaseOver { silent_for: Duration::ZERO, silence: None },
        Loss::Session(RequestError::Expired, None),
        Loss::NodeDeleted,
        Loss::Revoked(None),
        Loss::Queue(ContentionError::Deleted),
        Loss::MonitorDied,
    ] {
        let facts = lost(&loss, "x");
        let told = facts.iter().any(|(name, fact)| match fact {
            Fact::Text(word) if *name == "reason" => reasons.contains(&format!("| `{word}` |")),
            _ => false,
        });
        assert!(told, "{loss:?}");
    }
}

#[test]
fn the_steps_of_every_run_are_milestones() {
    let events = |is_milestone| -> BTreeSet<&str> {
        all()
            .filter(|message| message.is_milestone() == is_milestone)
            .map(|message| message.event())
            .collect()
    };
    assert_eq!(
        events(true),
        BTreeSet::from(["queued", "waiting", "acquired", "started", "released", "left"])
    );
    assert!(events(false).contains("lost") && events(false).contains("error"));
}
