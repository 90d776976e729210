//! The same path on another ensemble is another lock, and another path below a chroot may be the same lock.

use super::{HOLD, end, inner, outer, shell, start, value, words};
use crate::support::{Case, Server};

#[test]
fn the_same_path_on_another_ensemble_is_another_lock() {
    let other = Server::start();
    let case = Case::new("ensembles");
    let there = Case::on(&other, "unused");
    let hosts = other.connect_string();
    let on_other = |options: &[&str]| words(&hosts, options, &[case.path()]);
    let running = start(outer(&case, &[], &[on_other(&[]), shell(HOLD)]));
    assert_eq!(case.contenders().len(), 1);
    assert_eq!(there.observer().children(case.path()).len(), 1, "a node of its own");
    outer(&there, &[], &[on_other(&["-n"]), shell("true")]).run().assert_code(124);
    end(running);
    assert_eq!(there.observer().children(case.path()).len(), 0);
}

/// The nearest lock with this path is on the other ensemble; the wanted one is further out.
#[test]
fn an_outer_lock_is_found_beyond_the_same_path_on_another_ensemble() {
    let other = Server::start();
    let case = Case::new("sandwich");
    let middle = words(&other.connect_string(), &[], &[case.path()]);
    let parts = [middle, inner(&case, &["-w", "10"]), shell("echo ran; exit 6")];
    let output = outer(&case, &[], &parts).run();
    output.assert_code(6);
    assert_eq!(output.stdout, "ran\n");
}

#[test]
fn a_path_below_a_chroot_and_its_full_path_are_the_same_lock() {
    let case = Case::new("chroot");
    let chroot = format!("{}-root", case.path());
    case.observer().mkdirs(&chroot);
    let below = format!("{}{chroot}", case.hosts());
    let full = format!("{chroot}/job");
    for (around, within, seen) in [
        (words(&below, &[], &["/job"]), words(case.hosts(), &["-n"], &[&full]), full.as_str()),
        (words(case.hosts(), &[], &[&full]), words(&below, &["-n"], &["/job"]), "/job"),
        (words(&below, &[], &["/job"]), words(&below, &["-n"], &["/job"]), "/job"),
    ] {
        let words = [around[1..].to_vec(), within, shell("env; exit 8")].concat();
        let output = crate::support::Zklock::bare(case.marker()).args(words).run();
        output.assert_code(8);
        assert_eq!(value(&output.stdout, "ZKLOCK_PATH"), seen, "as its own connect string names it");
        assert!(value(&output.stdout, "ZKLOCK_NODE").starts_with(&format!("{seen}/_c_")));
    }
    assert_eq!(case.observer().children(&full).len(), 0);
}

#[test]
fn the_same_path_below_another_chroot_is_another_lock() {
    let case = Case::new("chroots");
    let chroot = |name: &str| {
        let path = format!("{}-{name}", case.path());
        case.observer().mkdirs(&path);
        (format!("{}{path}", case.hosts()), path)
    };
    let ((one, one_path), (two, two_path)) = (chroot("one"), chroot("two"));
    let parts = [words(&one, &[], &["/job"])[1..].to_vec(), words(&two, &[], &["/job"]), shell(HOLD)];
    let running = start(crate::support::Zklock::bare(case.marker()).args(parts.concat()));
    for path in [one_path, two_path] {
        assert_eq!(case.observer().children(&format!("{path}/job")).len(), 1, "{path}");
    }
    end(running);
}
