//! Nodes at a lock path that belong to a recipe with which zklock can't share the path.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use serde::Serialize;
use zklock_core::queue::other_recipes::{self, Recipe};
use zklock_core::text::without_controls;

use super::owner::{Owner, session_id};
use crate::ensemble::{BlockingSession, ReadNode, RequestError, ServerTime};

/// An ephemeral node of another recipe. The fields are those of `status --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct RecipeNode {
    pub(super) recipe: Recipe,
    pub(super) host: Option<String>,
    pub(super) label: Option<String>,
    /// This and the session are unknown for a node that can't be read, since ZooKeeper 3.9.
    pub(super) since: Option<ServerTime>,
    pub(super) session: Option<String>,
    /// The full path of its node.
    pub(super) node: String,
}

impl RecipeNode {
    /// The owner of this node; `None` if no session owns it, so that it only has a name of that recipe.
    fn of(recipe: Recipe, node: String, read: &ReadNode) -> Option<Self> {
        if read.is_permanent() {
            return None;
        }
        let Owner { host, label, .. } = Owner::of(read.data());
        let known = read.seen();
        let (since, session) = (known.map(|read| read.created), known.map(|read| session_id(read.owner)));
        Some(Self { recipe, host, label, since, session, node })
    }
}

/// Whether these children may belong to another recipe. Only reading their nodes shows whether they do.
pub(super) fn may_be_among(children: &[String]) -> bool {
    !other_recipes::containers(children).is_empty()
        || children.iter().any(|child| other_recipes::of_child(child).is_some())
}

/// The nodes of other recipes at some paths.
#[derive(Debug, Default)]
pub(super) struct RecipeNodes {
    /// The nodes of other recipes at each path that has some.
    pub(super) by_path: BTreeMap<String, Vec<RecipeNode>>,
    /// Children of the paths that can't be listed, below which a semaphore may be held.
    pub(super) unlisted: Vec<String>,
}

/// Finds the nodes of other recipes at these paths. `locks` has the children of each path, which were listed just before.
pub(super) fn recipe_nodes(
    session: &mut BlockingSession<'_>,
    locks: &BTreeMap<String, Vec<String>>,
) -> Result<RecipeNodes> {
    let mut found = RecipeNodes::default();
    let mut candidates: Vec<(&String, String, Recipe)> = vec![];
    let mut containers = vec![];
    for (path, children) in locks {
        let base = path.trim_end_matches('/');
        let recipes = children.iter().filter_map(|child| Some((child, other_recipes::of_child(child)?)));
        candidates.extend(recipes.map(|(child, recipe)| (path, format!("{base}/{child}"), recipe)));
        let inside = other_recipes::containers(children).into_iter();
        containers.extend(inside.map(|container| (path, format!("{base}/{container}"), container)));
    }
    let lists = session.list_all(containers.iter().map(|(_, at, _)| at.clone().into()))?;
    for ((path, at, container), answer) in containers.into_iter().zip(lists) {
        let names = match answer {
            Ok(names) => names,
            Err(RequestError::NoNode) => continue,
            Err(RequestError::NoAuth) => {
                found.unlisted.push(at);
                continue;
            }
            Err(failure) => bail!("{at}: {failure}"),
        };
        let recipes =
            names.iter().filter_map(|name| Some((name, other_recipes::of_grandchild(container, name)?)));
        candidates.extend(recipes.map(|(name, recipe)| (path, format!("{at}/{name}"), recipe)));
    }
    let reads = session.get_all(candidates.iter().map(|(_, node, _)| node.clone().into()))?;
    for ((path, node, recipe), (_, answer)) in candidates.into_iter().zip(reads) {
        match answer {
            Ok(read) => {
                if let Some(recipe_node) = RecipeNode::of(recipe, node, &read) {
                    found.by_path.entry(path.clone()).or_default().push(recipe_node);
                }
            }
            Err(RequestError::NoNode) => {}
            Err(failure) => bail!("{node}: {failure}"),
        }
    }
    Ok(found)
}

/// The warning about a child of a lock path that can't be listed.
pub(super) fn unlisted(path: &str) -> String {
    let path = without_controls(path);
    format!("{path}: no permission to look there (READ); {} would not be shown", other_recipes::IN_CONTAINERS)
}

/// The recipes of these nodes of other recipes, each with the number of its nodes, for messages.
pub(super) fn summary(other_recipes: &[RecipeNode]) -> String {
    let mut counts: BTreeMap<Recipe, usize> = BTreeMap::new();
    for recipe_node in other_recipes {
        *counts.entry(recipe_node.recipe).or_default() += 1;
    }
    let parts = counts.into_iter().map(|(recipe, count)| match count {
        1 => recipe.to_string(),
        count => format!("{recipe} ({count} nodes)"),
    });
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ensemble::{Node, ServerTime};

    #[test]
    fn only_a_session_s_node_or_a_hidden_one_is_a_neighbour() {
        let then = ServerTime(1);
        let owned_by = |owner| {
            let (data, czxid, version) = (vec![], 1, 0);
            ReadNode::from(Node { data, owner, czxid, version, created: then, modified: then })
        };
        // An early 3.5 shows a container as owned by the least number.
        for (read, is_other_recipe) in
            [(owned_by(7), true), (ReadNode::Hidden, true), (owned_by(0), false), (owned_by(i64::MIN), false)]
        {
            let found = RecipeNode::of(Recipe::KazooSemaphore, "/app/node".to_owned(), &read);
            assert_eq!(found.is_some(), is_other_recipe, "{read:?}");
        }
    }
}
