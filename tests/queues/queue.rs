//! A queue of parties.

use super::party::{Kind, Party, Spec};
use crate::support::{Case, DEADLINE, Proxy, Running, Version, Zklock, curator, host, shared, try_for};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::time::Duration;

/// How long the next contender may take when zklock was killed. Its session would last longer.
const HAND_OFF: Duration = Duration::from_secs(20);

/// Why a party leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cause {
    /// TERM, or as its library does.
    End,
    /// TERM while the proxy's connections are cut.
    EndCutOff,
    Kill,
    /// Its node is deleted.
    Delete,
    Revoke,
    /// `revoke --all`, of all that are named.
    RevokeAll,
    /// `revoke --force`.
    Force,
    /// Curator's `Revoker` asks it.
    CuratorRevokes,
    /// By itself, because of its `-w`.
    GiveUp,
    /// Its proxy passes nothing more.
    Lose,
    /// By itself, because it found another recipe's node.
    Refuse,
}

/// A party in its place.
pub(super) struct Member {
    pub(super) spec: Spec,
    pub(super) party: Box<dyn Party>,
    /// Its first node; empty for a `wait`.
    pub(super) node: String,
    /// Whether its command is known to run.
    is_known: bool,
}

/// Parties that contend, in the order in which they came. The first has the number 1.
pub(crate) struct Queue {
    // Declared before the case, which checks that nothing of them is left.
    members: Vec<Option<Member>>,
    pub(crate) case: Case,
    /// Who comes first, third and so on, and who comes second.
    pub(super) versions: [Version; 2],
    /// More options of every zklock.
    options: Vec<String>,
    paths: BTreeSet<String>,
    proxy: OnceCell<Proxy>,
    /// The commands of holders whose node was deleted: the next one may run before they have been stopped.
    deposed: Vec<String>,
    /// Whether those behind the proxy can't do anything.
    pub(super) is_cut_off: bool,
}

impl Queue {
    pub(crate) fn new(versions: [Version; 2]) -> Self {
        Self::of(Case::new("queue"), versions, &[])
    }

    /// A queue for the case's lock, with more options for every zklock.
    pub(crate) fn of(case: Case, versions: [Version; 2], options: &[&str]) -> Self {
        let options = options.iter().copied().map(str::to_owned).collect();
        let (members, paths, proxy) = (Vec::new(), BTreeSet::new(), OnceCell::new());
        Self { members, case, versions, options, paths, proxy, deposed: vec![], is_cut_off: false }
    }

    /// Lets this party come, and returns when it holds the lock or waits.
    #[track_caller]
    pub(crate) fn add(&mut self, text: &str) {
        let spec = Spec::new(text);
        let mut options = self.options.clone();
        if spec.by_proxy {
            options.extend(["-z".to_owned(), self.proxy().connect_string()]);
        }
        let version = self.versions[self.members.len() % 2];
        self.add_started(spec.clone(), |case| spec.start(case, version, &options));
    }

    /// Lets these come, one after the other.
    #[track_caller]
    pub(crate) fn add_all(&mut self, parties: &[&str]) {
        for party in parties {
            self.add(party);
        }
    }

    /// The same as [`Queue::add`] with a party that is started in another way.
    #[track_caller]
    pub(super) fn add_started(&mut self, spec: Spec, start: impl FnOnce(&Case) -> Box<dyn Party>) {
        self.paths.extend(spec.paths(&self.case));
        let before = self.nodes();
        let party = start(&self.case);
        self.members.push(Some(Member { spec, party, node: String::new(), is_known: false }));
        self.settle();
        let node = self.nodes().into_iter().find(|node| !before.contains(node));
        self.members.last_mut().unwrap().as_mut().unwrap().node = node.unwrap_or_default();
    }

    /// A call of a zklock that would come next, which these options and this command's script describe.
    pub(super) fn call(&self, spec: &Spec, options: &[&str], script: &str) -> Zklock {
        let version = self.versions[self.members.len() % 2];
        let options: Vec<&str> =
            self.options.iter().map(String::as_str).chain(options.iter().copied()).collect();
        spec.call(&self.case, version, &options, script)
    }

    /// The proxy of those that have one.
    pub(super) fn proxy(&self) -> &Proxy {
        self.proxy.get_or_init(|| Proxy::to(shared()))
    }

    /// The nodes on all paths.
    pub(super) fn nodes(&self) -> Vec<String> {
        let children = |path: &String| {
            let names = self.case.observer().children(path);
            names.into_iter().map(|name| format!("{path}/{name}")).collect::<Vec<_>>()
        };
        self.paths.iter().flat_map(children).collect()
    }

    pub(super) fn member(&self, number: usize) -> &Member {
        self.members[number - 1].as_ref().expect("one that hasn't left")
    }

    /// Those that haven't left, with their numbers.
    pub(super) fn members(&self) -> impl Iterator<Item = (usize, &Member)> {
        self.members.iter().enumerate().filter_map(|(index, member)| Some((index + 1, member.as_ref()?)))
    }

    /// zklock with this number.
    pub(crate) fn zklock(&self, number: usize) -> &Running {
        self.member(number).party.zklock().expect("a zklock")
    }

    pub(super) fn holds(&self, number: usize) -> bool {
        let is_first = self.members().next().is_some_and(|(first, _)| first == number);
        let member = self.member(number);
        if member.spec.kind == Kind::Node { is_first } else { member.party.holds() }
    }

    pub(crate) fn holders(&self) -> Vec<usize> {
        self.members().map(|(number, _)| number).filter(|number| self.holds(*number)).collect()
    }

    /// Waits until everyone holds the lock or waits: watches another node, besides zklock's watches on its own.
    #[track_caller]
    fn settle(&self) {
        let settled = try_for(DEADLINE, || self.is_settled().then_some(()));
        assert!(settled.is_some(), "{:?} hold, of {:#?}", self.holders(), self.nodes());
    }

    fn is_settled(&self) -> bool {
        let (mut nodes, mut watches) = (0, 0);
        for (number, member) in self.members() {
            let (holds, kind) = (self.holds(number), member.spec.kind);
            if member.party.zklock().is_some_and(|zklock| !zklock.is_running()) {
                continue;
            }
            nodes += usize::from(kind != Kind::Wait);
            if self.is_cut_off && member.spec.by_proxy {
                continue;
            }
            if !holds && !member.party.has_said_that_it_waits() {
                return false;
            }
            if kind == Kind::Zklock {
                watches += if holds { member.spec.paths(&self.case).len() } else { 1 };
            }
            watches += usize::from(!holds && kind != Kind::Node);
        }
        self.nodes().len() >= nodes && shared().watches_below(self.case.path()) >= watches
    }

    /// Waits until exactly these hold the lock and all others wait. A command that began meanwhile found no other alive.
    #[track_caller]
    pub(crate) fn assert_holders(&mut self, expected: &[usize]) {
        let all_hold = try_for(DEADLINE, || expected.iter().all(|number| self.holds(*number)).then_some(()));
        assert!(all_hold.is_some(), "{:?} hold, not {expected:?}", self.holders());
        self.settle();
        assert_eq!(self.holders(), expected);
        let mut pids: Vec<String> =
            expected.iter().flat_map(|number| self.printed("running ", *number)).collect();
        pids.extend(self.deposed.iter().cloned());
        for number in expected.iter().filter(|number| !self.member(**number).is_known) {
            let beside = self.printed("beside ", *number);
            let (_, slots, _) = self.member(*number).spec.described();
            // Of several that leave at once, it runs as soon as one has left.
            let is_free = (beside.len() as u64) < slots || beside.iter().all(|pid| pids.contains(pid));
            assert!(is_free, "{number} ran beside {beside:?}, not of {pids:?}");
        }
        for number in expected.iter().filter(|number| self.versions[(**number - 1) % 2] == Version::This) {
            self.wait_acquired(*number);
        }
        for number in expected {
            self.members[number - 1].as_mut().unwrap().is_known = true;
        }
    }

    /// A zklock says that it has acquired its locks, in sorted order.
    #[track_caller]
    fn wait_acquired(&self, number: usize) {
        let Member { party, spec, .. } = self.member(number);
        let Some(zklock) = party.zklock() else { return };
        let mut paths = spec.paths(&self.case);
        paths.sort();
        let path =
            |line: &str| Some(line.strip_prefix("zklock: ")?.split_once(": acquired after ")?.0.to_owned());
        let acquired = || zklock.stderr().text().lines().filter_map(path).collect::<Vec<_>>();
        try_for(DEADLINE, || (acquired().len() == paths.len()).then_some(()));
        assert_eq!(acquired(), paths);
    }

    /// What its command has printed behind this word.
    fn printed(&self, word: &str, number: usize) -> Vec<String> {
        let text = self.member(number).party.zklock().map(|zklock| zklock.stdout().text());
        let text = text.unwrap_or_default();
        text.lines().filter_map(|line| line.strip_prefix(word)).map(str::to_owned).collect()
    }

    /// Makes these leave for this cause, all at once, and waits until they have.
    #[track_caller]
    pub(crate) fn leave(&mut self, cause: Cause, numbers: &[usize]) {
        let before: Vec<_> =
            numbers.iter().map(|number| (*number, self.holds(*number), self.nodes_of(*number))).collect();
        if cause == Cause::RevokeAll {
            let zklock = self.case.zklock().program(self.versions[1].program());
            zklock.args(["revoke", self.case.path(), "--all"]).args(&self.options).run().assert_code(0);
        }
        // Backwards: a waiter must be gone before it can follow the one ahead of it.
        for number in numbers.iter().rev() {
            if matches!(cause, Cause::Delete | Cause::Force) {
                self.deposed.extend(self.printed("running ", *number));
            }
            self.cause(cause, *number);
            self.member(*number).party.leave(cause);
        }
        if cause == Cause::EndCutOff {
            self.pass();
        }
        let within = if cause == Cause::Kill { HAND_OFF } else { DEADLINE };
        for (number, held, nodes) in before {
            let Member { party, .. } = self.members[number - 1].take().unwrap();
            party.wait_left(cause, held);
            for node in nodes {
                self.case.observer().wait_until_gone(&node, within);
            }
        }
    }

    /// What somebody else does so that it leaves.
    fn cause(&mut self, cause: Cause, number: usize) {
        let Member { spec, node, .. } = self.member(number);
        match cause {
            Cause::Delete => self.case.observer().delete(node),
            Cause::End if spec.kind == Kind::Node => self.case.observer().delete(node),
            Cause::Revoke => self.revoke(number, &[], "asked to stop"),
            Cause::Force => self.revoke(number, &["--force"], "its node is deleted"),
            Cause::CuratorRevokes => curator().revoke(node),
            Cause::EndCutOff => self.cut_off(),
            Cause::Lose => {
                self.proxy().blackhole();
                self.is_cut_off = true;
            }
            Cause::End | Cause::Kill | Cause::RevokeAll | Cause::GiveUp | Cause::Refuse => {}
        }
    }

    /// A zklock of the other version revokes it.
    fn revoke(&self, number: usize, options: &[&str], says: &str) {
        let (path, node) = self.member(number).node.rsplit_once('/').expect("a node");
        let version = self.versions[number % 2];
        let zklock = self.case.zklock().program(version.program()).args(["revoke", path, "--node", node]);
        let called = self.name(number);
        let output = zklock.args(&self.options).args(options).run();
        output.assert_code(0);
        if version == Version::This {
            assert_eq!(output.stdout, format!("{path}: {called}: {says}\n"));
        }
    }

    /// How zklock names it.
    pub(super) fn name(&self, number: usize) -> String {
        let Member { party, node, .. } = self.member(number);
        if let Some(zklock) = party.zklock() {
            return format!("{}:{} (sh)", host(), zklock.pid());
        }
        let name = node.rsplit('/').next().unwrap_or_default();
        match self.case.observer().data(node).unwrap_or_default().as_str() {
            "" => format!("node {name}"),
            data => format!("{data} (node {name})"),
        }
    }

    /// The nodes of its session or, if others share that, its own.
    fn nodes_of(&self, number: usize) -> Vec<String> {
        let Member { spec, node, .. } = self.member(number);
        let owner = |node: &String| Some(self.case.observer().stat(node)?.ephemeral_owner);
        match spec.kind {
            Kind::Wait => vec![],
            Kind::Zklock => {
                let session = owner(node);
                self.nodes().into_iter().filter(|node| owner(node) == session).collect()
            }
            // Containers of other recipes stay.
            _ => vec![node.clone()].into_iter().filter(|node| owner(node) != Some(0)).collect(),
        }
    }

    /// These have left, as the test knows.
    pub(super) fn forget(&mut self, numbers: &[usize]) {
        for number in numbers {
            self.members[number - 1] = None;
        }
    }

    /// Its node on the path with this ending is deleted, not the first.
    pub(super) fn choose(&mut self, number: usize, ending: &str) {
        let within = format!("{}-{ending}/", self.case.path());
        let node =
            self.nodes_of(number).into_iter().find(|node| node.starts_with(&within)).expect("a node there");
        self.members[number - 1].as_mut().unwrap().node = node;
    }

    /// Cuts all connections by the proxy. New ones pass nothing on until [`Queue::pass`].
    pub(super) fn cut_off(&mut self) {
        self.proxy().blackhole();
        self.proxy().cut_all();
        self.is_cut_off = true;
    }

    pub(super) fn pass(&mut self) {
        self.proxy().pass();
        self.is_cut_off = false;
    }

    /// Ends all: first zklocks, the last of them first, so that no waiter runs.
    #[track_caller]
    pub(crate) fn finish(&mut self) {
        let (ours, theirs): (Vec<usize>, Vec<usize>) = self
            .members()
            .map(|(number, _)| number)
            .partition(|number| self.member(*number).party.zklock().is_some());
        ours.into_iter().rev().for_each(|number| self.leave(Cause::End, &[number]));
        self.leave(Cause::End, &theirs);
    }
}
