use proptest::prelude::*;
use zklock_core::queue::name::Family;

use super::*;
use crate::subcommands::owner::Owner;

fn contender(host: String, pid: u32, label: String) -> ListedContender {
    let owner = Owner { host: Some(host), pid: Some(pid), label: Some(label), user: None, program: None };
    ListedContender {
        position: 1,
        state: State::Waiting,
        stopped: false,
        mode: Mode::Exclusive,
        owner,
        since: Some(ServerTime(0)),
        held_since: None,
        fencing_token: Some(7),
        session: None,
        node: "/locks/job/lock-0000000001".into(),
        family: Family::Curator,
        asked_to_stop: false,
        revoked_by: None,
    }
}

fn table(contender: ListedContender, width: Option<usize>) -> String {
    let contenders = Some(vec![contender]);
    let path = "/locks/job".to_owned();
    let lock = Lock { path, contenders, last_success: None, busy_below: 0 };
    text(&[lock], &Style { width, height: None, colour: false })
}

fn titles(table: &str) -> Vec<&str> {
    let titles = table.lines().next().unwrap_or_default().split("  ").map(str::trim);
    titles.filter(|title| !title.is_empty()).collect()
}

proptest! {
    #[test]
    fn columns_go_from_the_right_and_a_process_id_is_never_cut(
        host in "[a-z日-]{1,60}",
        pid in 1_u32..4_194_304,
        label in "[a-z日 :]{0,80}",
        width in 0_usize..300,
    ) {
        let contender = contender(host, pid, label);
        let (all, table) = (table(contender.clone(), None), table(contender, Some(width)));
        let (all, shown) = (titles(&all), titles(&table));
        prop_assert!(table.lines().all(|line| measure_text_width(line) <= width.max(1)), "{table}");
        prop_assert!(all.starts_with(&shown), "{table}");
        prop_assert!(!shown.contains(&"HOST:PID") || table.contains(&format!(":{pid}")), "{table}");
        prop_assert!(shown.contains(&"HOST:PID") || width < 40, "{table}");
    }
}
