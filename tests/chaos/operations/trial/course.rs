//! What operators do to servers, and what happens to those.

use super::scene::Scene;
use crate::support::{DEADLINE, Rng, Server, pass_time, wait_until};
use std::time::Duration;

/// Restarts one server after the other, each when the one before serves clients again.
pub(crate) fn restart_each(scene: &mut Scene) {
    for server in scene.ensemble.members() {
        server.relaunch();
        scene.is_whole();
    }
}

/// The same, and each server has lost its data.
pub(crate) fn replace_each_by_an_empty_one(scene: &mut Scene) {
    for server in scene.ensemble.members() {
        server.relaunch_empty();
        scene.is_whole();
    }
}

/// Adds a fourth member and removes the leader, which is stopped then.
pub(crate) fn another_joins_and_one_leaves(scene: &mut Scene) {
    let specification = scene.ensemble.launch_another();
    scene.ensemble.reconfigure(&["-add", &specification]);
    scene.is_whole();
    let leader = scene.ensemble.leader();
    let position = scene.ensemble.members().iter().position(|member| member.port() == leader.port());
    scene.ensemble.reconfigure(&["-remove", &(position.expect("a member") + 1).to_string()]);
    scene.ensemble.members()[position.expect("a member")].kill();
    wait_until("another leader", DEADLINE, || scene.modes().iter().any(|mode| mode == "leader"));
}

/// Whichever server leads stands still again and again, as in a garbage collection: for 1 to 8 s. In between it serves for
/// long enough to count as steady again.
pub(crate) fn leader_pauses(scene: &mut Scene) {
    let mut rng = Rng::new(7);
    for _ in 0..4 {
        let leader = scene.ensemble.leader();
        leader.freeze();
        pass_time(Duration::from_millis(1000 + rng.below(7000)));
        leader.thaw();
        pass_time(scene.settings.session() * 5 / 12 + Duration::from_secs(1));
    }
    scene.is_whole();
}

/// The leader's disk is full until an operator gives it a new one.
pub(crate) fn one_disk_is_full(scene: &mut Scene) {
    let leader = scene.ensemble.leader();
    let disk =
        format!("/proc/{}/root{}/version-2/filler", leader.pid().expect("a server"), leader.data().display());
    let filled =
        std::fs::File::create(&disk).and_then(|mut file| std::io::copy(&mut std::io::repeat(0), &mut file));
    assert_eq!(filled.expect_err("a small disk").kind(), std::io::ErrorKind::StorageFull);
    wait_until("another leader", DEADLINE, || {
        let leads = |server: &&Server| server.mode().as_deref() == Some("leader");
        scene.ensemble.members().iter().find(leads).is_some_and(|other| other.port() != leader.port())
    });
    pass_time(scene.settings.session() / 2);
    leader.relaunch();
    scene.is_whole();
}

/// All servers are down for longer than a session, and come back.
pub(crate) fn all_are_down(scene: &mut Scene) {
    scene.ensemble.members().iter().for_each(Server::kill);
    pass_time(scene.settings.session() + Duration::from_secs(5));
    scene.ensemble.members().iter().for_each(Server::relaunch);
    scene.is_whole();
}

/// All servers are stopped, and come back without any data.
pub(crate) fn the_ensemble_is_emptied(scene: &mut Scene) {
    scene.ensemble.members().iter().for_each(Server::kill);
    scene.ensemble.members().iter().for_each(Server::relaunch_empty);
    scene.is_whole();
}
