//! The server's own metrics.

use super::server::Server;

impl Server {
    /// How many watches have fired because a node was deleted, since the server started.
    pub fn watches_fired_by_deletions(&self) -> usize {
        self.metric("zk_sum_node_deleted_watch_count")
    }

    /// How many watches have fired because the data of a node changed.
    pub fn watches_fired_by_writes(&self) -> usize {
        self.metric("zk_sum_node_changed_watch_count")
    }

    /// How many watches are set on `path`. Each belongs to a different session.
    pub fn watchers_of(&self, path: &str) -> usize {
        let answer = self.four_letter("wchp");
        let below = answer.lines().skip_while(|line| *line != path).skip(1);
        below.take_while(|line| line.starts_with('\t')).count()
    }

    /// How many watches are set on nodes of the locks whose paths begin with `path`.
    pub fn watches_below(&self, path: &str) -> usize {
        let answer = self.four_letter("wchp");
        let mut is_below = false;
        let is_watch_below = |line: &&str| {
            if !line.starts_with('\t') {
                is_below = line.strip_prefix(path).is_some_and(|rest| rest.contains('/'));
            }
            is_below && line.starts_with('\t')
        };
        answer.lines().filter(is_watch_below).count()
    }

    /// How many sessions the server has.
    pub fn sessions(&self) -> usize {
        let dump = self.four_letter("dump");
        let sets = dump.lines().take_while(|line| !line.starts_with("ephemeral nodes"));
        sets.filter(|line| line.trim_start().starts_with("0x")).count()
    }

    /// How many watches are set on all nodes.
    pub fn watches(&self) -> usize {
        self.metric("zk_watch_count")
    }

    fn metric(&self, name: &str) -> usize {
        let answer = self.four_letter("mntr");
        let value = super::four_letter::field(&answer, &format!("{name}\t")).unwrap_or("none");
        value.parse().unwrap_or_else(|_| panic!("{name} is {value}, in:\n{answer}"))
    }
}
