//! Compares the pure decisions, along random event sequences, with the simplest model that can be right.

use proptest::prelude::*;
use std::collections::BTreeSet;
use zklock_core::queue::name::{Family, Mode, Name, prefix};
use zklock_core::queue::order::{Decision, decide};

/// The next event in the queue.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// A contender comes.
    Come(Mode),
    /// A contender leaves, whether it holds or not.
    Leave(prop::sample::Index),
}

/// Contenders that list the queue only when they come and when something that they watch changes.
#[derive(Debug, Default)]
struct World {
    /// In queue order.
    queue: Vec<Contender>,
    came: i32,
}

#[derive(Debug)]
struct Contender {
    name: String,
    mode: Mode,
    /// The nodes that it watches; `None` if it holds.
    watch: Option<Vec<String>>,
}

impl World {
    /// Applies the event. Returns which contenders were woken, and whether the lock was released.
    fn act(&mut self, act: Act, family: Family) -> (Vec<String>, bool) {
        match act {
            Act::Come(mode) => {
                let id =
                    uuid::Uuid::from_u128((u128::MAX / 7).wrapping_mul(u128::from(self.came.unsigned_abs())));
                let name = format!("{}{:010}", prefix(family, mode, id), self.came);
                self.came += 1;
                self.queue.push(Contender { name: name.clone(), mode, watch: Some(vec![]) });
                self.look(&name);
                (vec![], false)
            }
            Act::Leave(_) if self.queue.is_empty() => (vec![], false),
            Act::Leave(index) => {
                let gone = self.queue.remove(index.index(self.queue.len()));
                (self.tell(&gone.name), gone.watch.is_none())
            }
        }
    }

    /// Wakes the contenders that watch this node. A contender that acquires a slot wakes its own watchers in the same
    /// way.
    fn tell(&mut self, node: &String) -> Vec<String> {
        let hears = |one: &&Contender| one.watch.as_ref().is_some_and(|watch| watch.contains(node));
        let mut woken: Vec<String> = self.queue.iter().filter(hears).map(|one| one.name.clone()).collect();
        for name in woken.clone() {
            if self.look(&name) && matches!(Name::parse(&name).unwrap().mode, Mode::Slots(2..)) {
                woken.extend(self.tell(&name));
            }
        }
        woken
    }

    /// Makes a contender list the whole queue, which the server returns in no particular order. Returns whether it
    /// holds.
    fn look(&mut self, name: &str) -> bool {
        let mut children: Vec<String> = self.queue.iter().map(|one| one.name.clone()).collect();
        children.sort();
        let watch = match decide(&children, name) {
            Decision::Hold => None,
            Decision::Wait { watch, .. } => Some(watch),
            other => panic!("{other:?} for {name} in {children:?}"),
        };
        let holds = watch.is_none();
        self.queue.iter_mut().find(|one| one.name == name).unwrap().watch = watch;
        holds
    }

    fn holders(&self) -> BTreeSet<String> {
        self.queue.iter().filter(|one| one.watch.is_none()).map(|one| one.name.clone()).collect()
    }

    /// The contenders that should hold, by definition: a writer if it is the first, a reader if no writer came before
    /// it, and as many contenders for slots as there are slots.
    fn rightful_holders(&self) -> BTreeSet<String> {
        let rightful = self.queue.iter().enumerate().filter(|(place, one)| match one.mode {
            Mode::Exclusive => *place == 0,
            Mode::Shared => self.queue[..*place].iter().all(|before| before.mode == Mode::Shared),
            Mode::Slots(slots) => *place < usize::try_from(slots).unwrap(),
        });
        rightful.map(|(_, one)| one.name.clone()).collect()
    }
}

fn story(mode: impl Strategy<Value = Mode>) -> impl Strategy<Value = Vec<Act>> {
    let leave = any::<prop::sample::Index>().prop_map(Act::Leave);
    let act = prop_oneof![4 => mode.prop_map(Act::Come), 3 => leave];
    prop::collection::vec(act, 1..60)
}

/// No contender holds that shouldn't, and none waits that could hold. A release wakes at most one in vain. (A writer
/// that gives up before its turn may wake more: the readers behind it, which then watch the writer before it.)
fn check(story: &[Act], family: Family) -> Result<(), TestCaseError> {
    let mut world = World::default();
    for act in story {
        let before = world.holders();
        let (woken, is_release) = world.act(*act, family);
        let holders = world.holders();
        prop_assert_eq!(&holders, &world.rightful_holders(), "after {:?} in {:?}", act, &world);
        let in_vain = woken.iter().filter(|name| !holders.contains(*name) || before.contains(*name));
        prop_assert!(!is_release || in_vain.count() <= 1, "{:?} woke {:?} in {:?}", act, &woken, &world);
    }
    Ok(())
}

proptest! {
    #[test]
    fn readers_and_writers_all_run(
        story in story(prop_oneof![Just(Mode::Exclusive), Just(Mode::Shared)]),
        family in prop_oneof![Just(Family::Curator), Just(Family::CuratorRw), Just(Family::Kazoo)],
    ) {
        check(&story, family)?;
    }

    #[test]
    fn slots_are_filled_in_order((_, story) in (1u32..6).prop_flat_map(|slots| (Just(slots), story(Just(Mode::Slots(slots)))))) {
        check(&story, Family::Curator)?;
    }
}
