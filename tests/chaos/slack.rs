//! The time between a command's last sign of life and the deletion of its node.

use crate::checker::LastSeen;
use crate::support::clock;
use crate::transaction_log::Removal;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::time::Duration;

/// The history and the servers' logs have milliseconds of two clocks.
const ROUNDING: i64 = 3;

/// The time to spare.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slack {
    millis: i64,
    /// The server deleted the node with its session, whether the command had ended or not.
    with_session: bool,
}

/// The slack of each section whose node is known to be deleted.
pub(crate) fn slack(
    sections: &HashMap<String, LastSeen>,
    removals: &HashMap<String, Removal>,
) -> HashMap<String, Slack> {
    let epoch = clock::epoch();
    let slack_of = |last: &LastSeen| {
        let first = last.nodes.iter().filter_map(|node| removals.get(node)).min()?;
        let millis = millis(first.time.checked_sub(epoch)?) - millis(last.at);
        Some(Slack { millis, with_session: first.with_session })
    };
    sections.iter().filter_map(|(name, last)| Some((name.clone(), slack_of(last)?))).collect()
}

/// A section that continued after its node was deleted.
pub(crate) fn outlived(slack: &HashMap<String, Slack>) -> Option<String> {
    let (name, worst) = slack.iter().min_by_key(|(_, slack)| slack.millis)?;
    (worst.millis < -ROUNDING).then(|| {
        format!("OUTLIVED: {name} gave a sign of life {} ms after its node was deleted", -worst.millis)
    })
}

/// Contenders that lost the lock, and the fault that caused it.
#[derive(Default)]
pub(crate) struct Losses(Vec<(String, String)>);

impl Losses {
    pub(crate) fn add(&mut self, name: &str, cause: String) {
        self.0.push((name.to_owned(), cause));
    }

    /// For each fault: how often it cost the lock, how often the node was then deleted with its session, and the least
    /// and the median slack of those. Where zklock itself deletes the node, it does so as soon as the command is gone.
    pub(crate) fn table(&self, slack: &HashMap<String, Slack>) -> String {
        let mut rows: BTreeMap<&str, (usize, Vec<i64>)> = BTreeMap::new();
        for (name, cause) in &self.0 {
            let with_session = slack.get(name).filter(|slack| slack.with_session);
            for row in ["all", cause] {
                let (losses, millis) = rows.entry(row).or_default();
                *losses += 1;
                millis.extend(with_session.map(|slack| slack.millis));
            }
        }
        let mut text = String::from("fault            losses  sessions ended  least slack (ms)  median\n");
        for (cause, (losses, mut millis)) in rows {
            millis.sort_unstable();
            let format_millis = |millis: Option<&i64>| millis.map_or("-".to_owned(), ToString::to_string);
            let (least, median) =
                (format_millis(millis.first()), format_millis(millis.get(millis.len() / 2)));
            writeln!(text, "{cause:<16} {losses:>6} {:>15} {least:>17} {median:>7}", millis.len())
                .expect("a string");
        }
        text
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
