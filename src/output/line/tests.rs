use std::time::Duration;

use proptest::prelude::*;
use zklock_core::path::LockPath;
use zklock_core::server_wait::{Awaited, ServerWait};

use super::*;

fn waiting(path: &str, who: &str, waited: u64, left: Option<u64>) -> WaitingLine {
    WaitingLine {
        path: LockPath::parse(path.as_ref()).unwrap(),
        position: 2,
        waited: Duration::from_secs(waited),
        left: left.map(Duration::from_secs),
        silent_for: None,
        is_holder: true,
        who: who.to_owned(),
        details: " for 10 s, queued 4 min 10 s ago".to_owned(),
    }
}

#[track_caller]
fn assert_lines(line: &Line, expected: &[(usize, &str)]) {
    for &(columns, expected) in expected {
        assert_eq!(fit(parts(line), columns), expected, "{columns} columns");
    }
}

#[test]
fn details_label_path_and_times_are_left_out_in_this_order() {
    let line = waiting("/locks/deploy", "vm:27259 (build 1041)", 730, Some(2_870));
    assert_lines(
        &Line::Queue(line),
        &[
            (
                usize::MAX,
                "zklock: /locks/deploy: position 2, waiting 12 min 10 s, 47 min 50 s left; held by vm:27259 \
                 (build 1041) for 10 s, queued 4 min 10 s ago",
            ),
            (
                120,
                "zklock: /locks/deploy: position 2, waiting 12 min 10 s, 47 min 50 s left; held by vm:27259 \
                 (build 1041) for 10 s, queue…",
            ),
            (
                100,
                "zklock: /locks/deploy: position 2, waiting 12 min 10 s, 47 min 50 s left; held by vm:27259 \
                 (build …)",
            ),
            (
                92,
                "zklock: /locks/deploy: position 2, waiting 12 min 10 s, 47 min 50 s left; held by vm:27259",
            ),
            (86, "zklock: /locks/d…: position 2, waiting 12 min 10 s, 47 min 50 s left; held by vm:27259"),
            (80, "zklock: position 2, waiting 12 min 10 s, 47 min 50 s left; held by vm:27259"),
            (70, "position 2, waiting 12 min 10 s, 47 min 50 s left; held by vm:27259"),
            (60, "position 2, 47 min 50 s left; held by vm:27259"),
            (50, "position 2, 47 min 50 s left; held by vm:27259"),
            (40, "position 2, held by vm:27259"),
            (20, "held by vm:27259"),
            (10, "vm:27259"),
            (7, "…:27259"),
        ],
    );
}

#[test]
fn a_silence_of_the_servers_comes_before_what_was_known() {
    let line = WaitingLine {
        silent_for: Some(Duration::from_secs(22)),
        details: " for 22 s; zk1:2181: connection refused".to_owned(),
        ..waiting("/locks/deploy", "vm:27259 (build 1041)", 43, None)
    };
    assert_lines(
        &Line::Queue(line),
        &[
            (
                usize::MAX,
                "zklock: /locks/deploy: position 2, waiting 43 s; no answer from the servers for 22 s, before that \
                 held by vm:27259 (build 1041) for 22 s; zk1:2181: connection refused",
            ),
            (
                95,
                "position 2, waiting 43 s; no answer from the servers for 22 s, before that held by vm:27259",
            ),
            (70, "no answer from the servers for 22 s, before that held by vm:27259"),
            (50, "no answer from the servers for 2… held by vm:27259"),
            (40, "no answer from the ser… held by vm:27259"),
            (20, "held by vm:27259"),
        ],
    );
}

#[test]
fn of_a_wait_for_the_servers_the_times_stay() {
    let path = LockPath::parse("/locks/deploy".as_ref()).unwrap();
    let wait = ServerWait {
        awaited: Awaited::Session,
        waited: Duration::from_secs(3),
        left: Some(Duration::from_secs(7)),
        holds: false,
        hosts: "zk1:2181".to_owned(),
        servers: vec!["zk1:2181: connection refused; nothing listens there".to_owned()],
    };
    assert_lines(
        &Line::Servers { path, wait },
        &[
            (usize::MAX, "zklock: /locks/deploy: connecting for 3 s, 7 s left; zk1:2181: connection refused"),
            (60, "zklock: /locks/deploy: connecting for 3 s, 7 s left; zk1:21…"),
            (45, "zklock: /locks…: connecting for 3 s, 7 s left"),
            (40, "zklock: connecting for 3 s, 7 s left"),
            (30, "connecting for 3 s, 7 s left"),
            (20, "connecting for 3 s,…"),
        ],
    );
    let text = "connecting to zk1:2181 for 3 s, 7 s left";
    assert_eq!(fit(of_wait(None, text), 80), format!("zklock: {text}"));
}

#[test]
fn a_holder_without_a_pid_is_shown_whole_too() {
    let name = "node _c_4d3f89d0-7b59-451a-8a18-0241c87403ba-lock-0000000011";
    let line = waiting("/locks/job", name, 1, None);
    let expected = format!("position 2, held by {name}");
    assert_lines(&Line::Queue(line), &[(80, &expected), (60, name)]);
}

#[test]
fn the_contender_ahead_is_not_called_the_holder() {
    let line =
        Line::Queue(WaitingLine { is_holder: false, ..waiting("/locks/job", "vm:27259 (x)", 1, Some(9)) });
    for columns in [usize::MAX, 60, 40, 20] {
        assert!(fit(parts(&line), columns).contains("behind vm:27259"), "{columns}");
    }
}

prop_compose! {
    /// A line with names that contain none of zklock's own words.
    fn any_line()(
        path in "/[xyz日-]{1,60}",
        host in "[xyz日-]{1,50}",
        pid in 1_u32..4_194_304,
        label in "( \\([xyz日 ()-]{0,60}\\))?",
        waited in 0_u64..100_000,
        left in proptest::option::of(0_u64..100_000),
        silent in proptest::option::of(0_u64..100_000),
        is_holder: bool,
    ) -> (String, u32, WaitingLine) {
        let line = waiting(&path, &format!("{host}:{pid}{label}"), waited, left);
        (host, pid, WaitingLine { silent_for: silent.map(Duration::from_secs), is_holder, ..line })
    }
}

proptest! {
    #[test]
    fn every_line_fits_has_the_pid_and_repeats_nothing((host, pid, line) in any_line(), columns in 0_usize..300) {
        let text = fit(of_queue(&line), columns);
        prop_assert!(measure_text_width(&text) <= columns, "{text:?}");
        let (whole, end) = (format!("{host}:{pid}"), format!(":{pid}"));
        prop_assert!(text.contains(&whole) || columns < measure_text_width(&whole), "{text:?}");
        prop_assert!(text.contains(&end) || columns <= end.len(), "{text:?}");
        for word in ["zklock: ", "position", "waiting", "left", "no answer", "held by", "behind", "queued", &whole] {
            prop_assert!(text.matches(word).count() <= 1, "{word:?} in {text:?}");
        }
    }
}
