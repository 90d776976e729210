//! The time between a command's last sign of life and the deletion of its node.

use crate::checker::LastSeen;
use crate::support::clock;
use crate::transaction_log::Removal;
use std::collections::HashMap;
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

/// How many nodes a server deleted with their session, and the least time to spare of these. Where zklock itself deletes
/// the node, it does so as soon as the command is gone.
pub(crate) fn told(slack: &HashMap<String, Slack>) -> String {
    let with_session: Vec<_> = slack.values().filter(|slack| slack.with_session).collect();
    let least = with_session.iter().map(|slack| slack.millis).min();
    let least = least.map_or(String::new(), |least| {
        format!(", at least {least} ms after the command's last sign of life")
    });
    format!("{} sessions of holders ended{least}", with_session.len())
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
