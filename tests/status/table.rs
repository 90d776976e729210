//! The table without a terminal.

use super::{cells, end_all, holder, host, status, waiter};
use crate::support::Case;
use nix::unistd::{Uid, User};

fn user() -> String {
    User::from_uid(Uid::current()).unwrap().map_or_else(|| Uid::current().to_string(), |user| user.name)
}

/// The rows of contenders as cells.
fn rows(stdout: &str) -> Vec<Vec<&str>> {
    stdout.lines().skip(2).map(cells).collect()
}

#[test]
fn the_table_shows_each_contender_s_position_and_identity() {
    let case = Case::new("table");
    let contenders = vec![holder(&case, &["--label", "nightly backup"]), waiter(&case, &[], 2)];
    let record = super::parsed(&case.wait_for_held_since(1));
    let output = status(&case, &[case.path()]);
    let text = &output.assert_code(0).stdout;
    assert_eq!(output.stderr, "");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(!text.contains("sleep") && !text.contains("ran"), "no arguments: {text}");
    let titles = "POS|STATE|MODE|HOST:PID|USER|RUNS|SINCE|HELD SINCE|TOKEN|SESSION|NODE";
    assert_eq!(cells(lines[0]).join("|"), titles);
    assert_eq!(lines[1], format!("{}  held by 1, 1 waiting", case.path()));
    for (index, node) in case.contenders().iter().enumerate() {
        let stat = case.observer().stat(&format!("{}/{node}", case.path())).unwrap();
        let time = |millis| jiff::Timestamp::from_millisecond(millis).unwrap().strftime("%Y-%m-%d %H:%M:%SZ");
        let held = time(stat.ctime + record["held_after_ms"].as_i64().unwrap()).to_string();
        assert_eq!(
            rows(text)[index],
            [
                (index + 1).to_string(),
                ["held", "waiting"][index].to_owned(),
                "exclusive".to_owned(),
                format!("{}:{}", host(), contenders[index].pid()),
                user(),
                ["nightly backup", "echo"][index].to_owned(),
                time(stat.ctime).to_string(),
                [held, "-".to_owned()][index].clone(),
                stat.czxid.to_string(),
                format!("{:#x}", stat.ephemeral_owner),
                node.clone(),
            ]
        );
    }
    end_all(contenders);
}

#[test]
fn the_columns_are_aligned() {
    let case = Case::new("aligned");
    let contenders = vec![
        holder(&case, &["--label", "a label that is rather long"]),
        waiter(&case, &["--label", "b"], 2),
        waiter(&case, &["--label", "é日本"], 3),
    ];
    let text = status(&case, &[case.path()]).stdout;
    let nodes = case.contenders();
    let title = text.lines().next().unwrap().find("NODE").unwrap();
    for (line, node) in text.lines().skip(2).zip(&nodes) {
        let (before, _) = line.split_once(node.as_str()).unwrap();
        assert_eq!(console::measure_text_width(before), title, "{text}");
    }
    end_all(contenders);
}

#[test]
fn as_many_contenders_hold_as_the_kind_of_lock_lets() {
    for (options, expected) in [
        (
            ["-s", "-s", "-x", "-s"],
            ["1 held shared", "2 held shared", "3 waiting exclusive", "4 waiting shared"],
        ),
        (["--slots=2"; 4], ["1 held slots 2", "2 held slots 2", "3 waiting slots 2", "4 waiting slots 2"]),
    ] {
        let case = Case::new("kinds");
        let mut contenders = vec![holder(&case, &options[..1]), holder(&case, &options[1..2])];
        contenders.extend([waiter(&case, &options[2..3], 3), waiter(&case, &options[3..], 4)]);
        let text = status(&case, &[case.path()]).stdout;
        let seen: Vec<_> = rows(&text).iter().map(|row| row[..3].join(" ")).collect();
        assert_eq!(seen, expected);
        assert!(text.contains("  held by 2, 2 waiting\n"), "{text}");
        end_all(contenders);
    }
}

#[test]
fn a_lock_without_a_holder_is_free_whether_it_exists_or_not() {
    let case = Case::new("free");
    let free = format!("{}  free\n", case.path());
    assert_eq!(status(&case, &[case.path()]).assert_code(0).stdout, free);
    case.observer().mkdirs(case.path());
    assert_eq!(status(&case, &[case.path()]).assert_code(0).stdout, free);
    assert!(status(&case, &["--quiet", case.path()]).stdout == free, "--quiet doesn't hide the table");
}

#[test]
fn several_locks_are_shown_in_one_table() {
    let (case, other) = (Case::new("several-a"), Case::new("several-b"));
    let contenders = vec![holder(&case, &["--label", "one"]), holder(&other, &["--label", "two"])];
    let text =
        status(&case, &[case.path(), other.path(), "/t/nobody-has-this"]).assert_code(0).stdout.clone();
    for (path, said) in
        [(case.path(), "held by 1"), (other.path(), "held by 1"), ("/t/nobody-has-this", "free")]
    {
        assert!(text.lines().any(|line| line == format!("{path}  {said}")), "{text}");
    }
    let below = |path: &str| text.lines().skip_while(|line| !line.starts_with(path)).nth(1).map(cells);
    assert_eq!(below(case.path()).unwrap()[5], "one");
    assert_eq!(below(other.path()).unwrap()[5], "two");
    assert_eq!(text.matches("POS").count(), 1, "{text}");
    end_all(contenders);
}
