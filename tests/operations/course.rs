//! What operators do to servers, and what happens to those.

use super::scene::Scene;
use crate::support::{DEADLINE, Server, wait_until};

/// Restarts one server after the other, each when the one before serves clients again.
pub(super) fn restart_each(scene: &mut Scene) {
    for server in scene.ensemble.members() {
        server.relaunch();
        scene.is_whole();
    }
}

/// The same, and each server has lost its data.
pub(super) fn replace_each_by_an_empty_one(scene: &mut Scene) {
    for server in scene.ensemble.members() {
        server.relaunch_empty();
        scene.is_whole();
    }
}

/// Adds a fourth member and removes the leader, which is stopped then.
pub(super) fn another_joins_and_one_leaves(scene: &mut Scene) {
    let specification = scene.ensemble.launch_another();
    scene.ensemble.reconfigure(&["-add", &specification]);
    scene.is_whole();
    let leader = scene.ensemble.leader();
    let position = scene.ensemble.members().iter().position(|member| member.port() == leader.port());
    scene.ensemble.reconfigure(&["-remove", &(position.expect("a member") + 1).to_string()]);
    scene.ensemble.members()[position.expect("a member")].kill();
    wait_until("another leader", DEADLINE, || scene.modes().iter().any(|mode| mode == "leader"));
}

/// All servers are stopped, and come back without any data.
pub(super) fn the_ensemble_is_emptied(scene: &mut Scene) {
    scene.ensemble.members().iter().for_each(Server::kill);
    scene.ensemble.members().iter().for_each(Server::relaunch_empty);
    scene.is_whole();
}
