//! Unit tests of the wait until a lock is free: single answers, and every order of them.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsStr;

use super::*;
use crate::protocol::Node;
use crate::queue::order::QueueError;
use crate::queue::other_recipes::Recipe;

fn lock() -> LockPath {
    LockPath::parse(OsStr::new("/a")).unwrap()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// A node of a session, or of none.
fn node(owner: i64) -> ReadNode {
    Node { owner, ..Node::default() }.into()
}

fn get(name: &str) -> Request {
    Request::Get(lock().child(name))
}

fn watch(name: &str) -> Request {
    Request::Watch(lock().child(name))
}

fn read(name: &str, result: Result<ReadNode, RequestError>) -> Reply {
    Reply::Read(lock().child(name), result)
}

/// A wait that has begun with these children.
fn begun(children: &[&str]) -> (UntilFree, UntilFreeStep) {
    let mut wait = UntilFree::new(lock());
    assert_eq!(wait.begin(), UntilFreeStep::Ask(vec![Request::CatchUpAndList("/a".into())]));
    let step = wait.take(Reply::Listed(Ok(names(children)))).unwrap();
    (wait, step)
}

/// A wait that watches the last of these children.
fn waiting(children: &[&str]) -> UntilFree {
    let (mut wait, step) = begun(children);
    assert_eq!(step, UntilFreeStep::Busy);
    let UntilFreeStep::Ask(requests) = wait.approach() else { panic!("nothing to ask for") };
    for request in requests {
        let (Request::Watch(path) | Request::Get(path)) = request else { panic!("{request:?}") };
        wait.take(Reply::Read(path, Ok(node(7))));
    }
    assert!(wait.watched.is_some());
    wait
}

/// Looks again, and finds these children.
fn looked(wait: &mut UntilFree, children: &[&str]) -> UntilFreeStep {
    assert_eq!(wait.look(), UntilFreeStep::Ask(vec![Request::List("/a".into())]));
    wait.take(Reply::Listed(Ok(names(children)))).unwrap()
}

#[test]
fn a_lock_without_contenders_is_free_whether_it_exists_or_not() {
    assert_eq!(begun(&[]).1, UntilFreeStep::Free);
    assert_eq!(begun(&["config", "leases-of-life"]).1, UntilFreeStep::Free);
    let mut wait = UntilFree::new(lock());
    wait.begin();
    assert_eq!(wait.take(Reply::Listed(Err(RequestError::NoNode))), Some(UntilFreeStep::Free));
}

#[test]
fn only_the_last_is_watched_and_the_holder_is_read() {
    let (mut wait, _) = begun(&["lock-0000000003", "lock-0000000001", "lock-0000000002"]);
    assert_eq!(wait.approach(), UntilFreeStep::Ask(vec![watch("lock-0000000003"), get("lock-0000000001")]));
    assert_eq!(wait.take(read("lock-0000000001", Ok(node(7)))), None);
    let last = ("lock-0000000003".to_owned(), ReadNode::Hidden);
    let holder = Some(("lock-0000000001".to_owned(), node(7)));
    let waits = UntilFreeStep::Waits(Awaited { count: 3, last, holder });
    assert_eq!(wait.take(read("lock-0000000003", Ok(ReadNode::Hidden))), Some(waits));
}

#[test]
fn a_last_that_is_still_there_is_not_watched_twice() {
    let mut wait = waiting(&["lock-0000000001", "lock-0000000002", "lock-0000000003"]);
    let step = looked(&mut wait, &["lock-0000000002", "lock-0000000003", "lock-0000000004"]);
    assert_eq!(step, UntilFreeStep::Ask(vec![get("lock-0000000002")]));
    let step = looked(&mut wait, &["lock-0000000003", "lock-0000000004"]);
    assert!(matches!(step, UntilFreeStep::Waits(Awaited { count: 1, .. })), "{step:?}");
    wait.unwatched();
    let step = looked(&mut wait, &["lock-0000000003", "lock-0000000004"]);
    assert_eq!(step, UntilFreeStep::Ask(vec![watch("lock-0000000003")]));
}

#[test]
fn contenders_that_came_later_never_count() {
    let mut wait = waiting(&["lock-0000000001"]);
    assert_eq!(looked(&mut wait, &["lock-0000000002"]), UntilFreeStep::Free);
    // The lock's node was deleted and created again, which restarts the numbers.
    let mut wait = waiting(&["_c_9a2c3f60-7a5e-4d5b-8a67-0123456789ab-lock-0000000005"]);
    let again = "_c_9a2c3f60-7a5e-4d5b-8a67-0123456789ac-lock-0000000005";
    assert_eq!(looked(&mut wait, &["lock-0000000000", again]), UntilFreeStep::Free);
    let mut wait = waiting(&["lock-0000000001"]);
    wait.look();
    assert_eq!(wait.take(Reply::Listed(Err(RequestError::NoNode))), Some(UntilFreeStep::Free));
}

#[test]
fn each_holder_of_slots_and_each_reader_must_go() {
    for (one, other) in [
        ("slots2-lock-0000000001", "slots2-lock-0000000002"),
        ("read-lock-0000000001", "read-lock-0000000002"),
    ] {
        for (first, left) in [(one, other), (other, one)] {
            let mut wait = waiting(&[one, other]);
            assert_eq!(wait.holders(), [lock().child(one), lock().child(other)]);
            if first == other {
                wait.unwatched();
            }
            assert_ne!(looked(&mut wait, &[left]), UntilFreeStep::Free, "{first} went first");
            assert_eq!(looked(&mut wait, &[]), UntilFreeStep::Free);
        }
    }
}

#[test]
fn contenders_of_every_naming_count() {
    let kazoo = "9a2c3f607a5e4d5b8a670123456789ab__lock__0000000001";
    let mut wait = waiting(&[kazoo, "__WRIT__0000000002", "lock-0000000003"]);
    assert_ne!(looked(&mut wait, &[kazoo]), UntilFreeStep::Free);
}

/// Curator 5.5 and later give the reader the writer's number.
#[test]
fn a_curator_writer_that_steps_down_is_awaited_as_a_reader() {
    let mut wait = waiting(&["__WRIT__0000000003"]);
    wait.unwatched();
    let step = looked(&mut wait, &["__READ__0000000003", "__READ__0000000004"]);
    assert_eq!(step, UntilFreeStep::Ask(vec![watch("__READ__0000000003")]));
    let mut wait = waiting(&["__READ__0000000003"]);
    assert_eq!(looked(&mut wait, &["__READ__0000000004"]), UntilFreeStep::Free);
    // The numbers have begun again.
    let mut wait = waiting(&["lock-0000000003"]);
    assert_eq!(looked(&mut wait, &["__READ__0000000003"]), UntilFreeStep::Free);
}

#[test]
fn an_answer_about_another_node_is_ignored() {
    let (mut wait, _) = begun(&["lock-0000000001", "lock-0000000002", "lock-0000000003"]);
    wait.approach();
    wait.take(read("lock-0000000001", Ok(node(7))));
    assert_eq!(wait.take(read("lock-0000000002", Ok(node(7)))), None, "it isn't watched");
    let step = wait.take(read("lock-0000000003", Ok(node(7)))).unwrap();
    assert!(matches!(step, UntilFreeStep::Waits(Awaited { count: 3, .. })), "{step:?}");
}

#[test]
fn a_node_that_no_session_owns_is_refused_wherever_it_is_read() {
    for persistent in ["lock-0000000001", "lock-0000000002"] {
        let (mut wait, _) = begun(&["lock-0000000001", "lock-0000000002"]);
        wait.approach();
        let why = ContentionError::NotEphemeral(format!("/a/{persistent}"));
        assert_eq!(wait.take(read(persistent, Ok(node(0)))), Some(UntilFreeStep::Failed(why)));
    }
}

#[test]
fn a_queue_whose_numbers_say_nothing_is_refused_as_by_a_contender() {
    for children in
        [&["lock-2147483640"][..], &["lock--000000005"], &["lock-0000000001", "read-lock-0000000001"]]
    {
        let refused =
            |error: &QueueError| matches!(error, QueueError::CounterEnd { .. } | QueueError::Tie { .. });
        let (_, step) = begun(children);
        assert!(
            matches!(&step, UntilFreeStep::Failed(ContentionError::Refused(error)) if refused(error)),
            "{step:?}"
        );
    }
}

#[test]
fn another_recipe_is_refused_if_its_owner_is_alive() {
    const LATCH: &str = "_c_9a2c3f60-7a5e-4d5b-8a67-0123456789ab-latch-0000000001";
    for (owner, children) in [(7, &[LATCH][..]), (0, &[LATCH]), (0, &[LATCH, "lock-0000000002"])] {
        let (mut wait, step) = begun(children);
        assert_eq!(step, UntilFreeStep::Ask(vec![get(LATCH)]));
        let step = wait.take(read(LATCH, Ok(node(owner)))).unwrap();
        if owner == 0 {
            let expected = if children.len() == 1 { UntilFreeStep::Free } else { UntilFreeStep::Busy };
            assert_eq!(step, expected);
        } else {
            let why = QueueError::OtherRecipe { node: LATCH.to_owned(), recipe: Recipe::CuratorLatch };
            assert_eq!(step, UntilFreeStep::Failed(why.into()));
        }
    }
}

#[test]
fn a_wait_that_begins_again_during_the_inspection_counts_no_later_contender() {
    const LATCH: &str = "_c_9a2c3f60-7a5e-4d5b-8a67-0123456789ab-latch-0000000002";
    let (mut wait, _) = begun(&["lock-0000000001", LATCH]);
    wait.begin();
    let step = wait.take(Reply::Listed(Ok(names(&["lock-0000000001", "lock-0000000003"]))));
    assert_eq!(step, Some(UntilFreeStep::Busy));
    assert_eq!(looked(&mut wait, &["lock-0000000003"]), UntilFreeStep::Free);
}

#[test]
fn a_missing_permission_is_named() {
    let mut wait = UntilFree::new(lock());
    wait.begin();
    let step = wait.take(Reply::Listed(Err(RequestError::NoAuth))).unwrap();
    let UntilFreeStep::Failed(ContentionError::Permission { permission, node, .. }) = step else {
        panic!("{step:?}");
    };
    assert_eq!((permission, node.as_str()), ("READ", "/a"));
}

#[test]
fn requests_unanswered_when_the_connection_was_lost_are_retried() {
    let lost = || RequestError::ConnectionLost;
    let mut wait = UntilFree::new(lock());
    let begin = wait.begin();
    assert_eq!(wait.take(Reply::Listed(Err(lost()))), Some(begin));
    let (mut wait, _) = begun(&["lock-0000000001"]);
    wait.approach();
    let again = UntilFreeStep::Ask(vec![watch("lock-0000000001")]);
    assert_eq!(wait.take(read("lock-0000000001", Err(lost()))), Some(again));
    let look = wait.look();
    assert_eq!(wait.take(Reply::Listed(Err(lost()))), Some(look));
}

#[test]
fn a_holder_that_is_gone_before_it_is_read_is_not_looked_for() {
    let (mut wait, _) = begun(&["lock-0000000001", "lock-0000000002"]);
    wait.approach();
    assert_eq!(wait.take(read("lock-0000000001", Err(RequestError::NoNode))), None);
    let step = wait.take(read("lock-0000000002", Ok(node(7)))).unwrap();
    assert!(matches!(step, UntilFreeStep::Waits(Awaited { holder: None, count: 2, .. })), "{step:?}");
}

/// Servers and connection, which act in every order between the steps of one wait.
#[derive(Clone, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct World {
    wait: UntilFree,
    asked: VecDeque<Request>,
    children: Vec<String>,
    /// Those that were there when the first listing was made.
    awaited: Option<Vec<String>>,
    /// The nodes with a watch.
    watches: Vec<String>,
    fired: bool,
    can_arrive: bool,
    can_disconnect: bool,
    is_free: bool,
}

impl World {
    fn begin(children: &[&str]) -> Self {
        let mut world = Self {
            wait: UntilFree::new(lock()),
            asked: VecDeque::new(),
            children: names(children),
            awaited: None,
            watches: vec![],
            fired: false,
            can_arrive: true,
            can_disconnect: true,
            is_free: false,
        };
        let step = world.wait.begin();
        world.follow(step);
        world
    }

    /// What the program does about a step.
    fn follow(&mut self, step: UntilFreeStep) {
        match step {
            UntilFreeStep::Ask(requests) => self.asked = requests.into(),
            UntilFreeStep::Busy => {
                let step = self.wait.approach();
                self.follow(step);
            }
            UntilFreeStep::Waits(awaited) => {
                self.asked.clear();
                assert!(self.watches.contains(&awaited.last.0) || self.fired, "it waits for nothing");
            }
            UntilFreeStep::Free => self.is_free = true,
            UntilFreeStep::Failed(error) => panic!("{error}"),
        }
    }

    fn look(&mut self) {
        self.wait.unwatched();
        let step = if self.awaited.is_some() { self.wait.look() } else { self.wait.begin() };
        self.follow(step);
    }

    fn answer(&mut self) {
        let Some(request) = self.asked.pop_front() else { return };
        let is_there = |path: &NodePath| self.children.iter().any(|child| child == path.name());
        let read = |path: &NodePath| if is_there(path) { Ok(node(7)) } else { Err(RequestError::NoNode) };
        let reply = match request {
            Request::CatchUpAndList(_) => {
                self.awaited = Some(self.children.clone());
                Reply::Listed(Ok(self.children.clone()))
            }
            Request::List(_) => Reply::Listed(Ok(self.children.clone())),
            Request::Watch(path) => {
                if is_there(&path) {
                    self.watches.push(path.name().to_owned());
                }
                assert!(self.watches.len() <= 1, "one watch at a time: {:?}", self.watches);
                Reply::Read(path.clone(), read(&path))
            }
            Request::Get(path) => Reply::Read(path.clone(), read(&path)),
            other => panic!("{other:?} isn't a wait's to ask for"),
        };
        if let Some(step) = self.wait.take(reply) {
            self.follow(step);
        }
    }

    /// Every world that can be next.
    fn next(&self) -> Vec<Self> {
        let mut next = vec![];
        let mut with = |change: &dyn Fn(&mut Self)| {
            let mut world = self.clone();
            change(&mut world);
            next.push(world);
        };
        if !self.asked.is_empty() {
            with(&|world| world.answer());
        } else if self.fired {
            with(&|world| {
                world.fired = false;
                world.look();
            });
        }
        for child in &self.children {
            with(&|world| {
                world.children.retain(|other| other != child);
                world.fired |= world.watches.contains(child);
                world.watches.retain(|other| other != child);
            });
        }
        if self.can_arrive {
            with(&|world| {
                world.children.push("lock-0000000009".to_owned());
                world.can_arrive = false;
            });
        }
        if self.can_disconnect {
            with(&|world| {
                (world.can_disconnect, world.fired) = (false, false);
                world.watches.clear();
                world.look();
            });
        }
        next
    }
}

#[test]
fn in_every_order_a_wait_ends_exactly_when_all_that_were_there_are_gone() {
    let mut ends = 0;
    for children in [
        &["lock-0000000001", "lock-0000000002", "lock-0000000003"][..],
        &["read-lock-0000000001", "read-lock-0000000002", "lock-0000000003"],
        &["slots2-lock-0000000001", "slots2-lock-0000000002", "slots2-lock-0000000003"],
    ] {
        let mut worlds = vec![World::begin(children)];
        let mut seen = HashSet::new();
        while let Some(world) = worlds.pop() {
            if !seen.insert(world.clone()) {
                continue;
            }
            let left = |world: &World| {
                let awaited = world.awaited.iter().flatten();
                awaited.filter(|awaited| world.children.contains(awaited)).count()
            };
            if world.is_free {
                assert_eq!(left(&world), 0, "{:?} is still there", world.children);
                ends += 1;
                continue;
            }
            let is_idle = world.asked.is_empty() && !world.fired;
            assert!(!is_idle || left(&world) > 0, "it waits although all are gone");
            worlds.extend(world.next());
        }
    }
    assert!(ends > 100, "{ends}");
}
