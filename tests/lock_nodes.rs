//! zklock's own lock nodes: their names, their data, and where they are.

use crate::support::{Case, DEADLINE, Server, end};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

#[test]
fn a_node_is_named_by_a_uuid_its_kind_and_its_number() {
    let case = Case::new("name");
    let holder = case.holder();
    let name = case.wait_for_contenders(1).remove(0);
    let (uuid, number) = name.strip_prefix("_c_").unwrap().split_once("-lock-").unwrap();
    let uuid = uuid::Uuid::parse_str(uuid).unwrap();
    assert_eq!(uuid.get_version_num(), 4);
    assert!(number.len() == 10 && number.bytes().all(|byte| byte.is_ascii_digit()), "{name}");
    let node = format!("{}/{name}", case.path());
    assert_ne!(case.observer().stat(&node).unwrap().ephemeral_owner, 0);
    end(holder);
}

#[test]
fn a_node_tells_who_contends_and_never_with_which_arguments() {
    let case = Case::new("data");
    for (label, string) in [(None, false), (Some("nightly backup"), false), (None, true)] {
        let options = label.map(|label| vec!["--label", label]).unwrap_or_default();
        let run = if string {
            case.zklock().args(options).args([case.path(), "-c", "/bin/sleep 60 # secret"])
        } else {
            case.lock(&options, ["/bin/sh", "-c", "exec sleep 60", "secret"])
        };
        let holder = run.env("SECRET", "secret").spawn();
        let name = case.wait_for_contenders(1).remove(0);
        let data = case.observer().data(&format!("{}/{name}", case.path())).unwrap();
        assert!(!data.contains("secret") && !data.contains('\n'), "{data}");
        let record: serde_json::Value = serde_json::from_str(&data).unwrap();
        assert_eq!(record["version"], 1);
        assert_eq!(record["host"].as_str(), nix::unistd::gethostname().unwrap().to_str());
        assert_eq!(record["pid"], holder.pid().as_raw());
        let user = nix::unistd::User::from_uid(nix::unistd::Uid::current()).unwrap();
        assert_eq!(record["user"].as_str(), user.map(|user| user.name).as_deref());
        assert_eq!(record["program"], if string { "sleep" } else { "sh" });
        assert_eq!(record["label"].as_str(), label);
        assert_eq!((&record["mode"], &record["slots"]), (&"exclusive".into(), &1.into()));
        end(holder);
    }
}

#[test]
fn a_label_is_cleaned_and_never_stops_a_run() {
    let case = Case::new("label-cleaned");
    let long = "ü".repeat(101);
    for (label, stored) in [
        ("", None),
        (" \t\n", None),
        ("fix: a\n\n\tlong \x1b[1mtext", Some("fix: a long [1mtext".to_owned())),
        (&long, Some("ü".repeat(98) + "…")),
    ] {
        let print = "echo $ZKLOCK_NODE; exec sleep 60";
        let holder = case.lock(&["--label", label], ["sh", "-c", print]).spawn();
        let node = holder.wait_for_stdout(case.path(), DEADLINE);
        let data = case.observer().data(node.trim()).unwrap();
        let record: serde_json::Value = serde_json::from_str(&data).unwrap();
        assert_eq!(record["label"].as_str(), stored.as_deref(), "{label:?}");
        end(holder);
    }
    case.lock(&["--label"], ["true"]).run().assert_code(125);
    let foreign = OsStr::from_bytes(b"a\xff");
    case.zklock().arg("--label").arg(foreign).args([case.path(), "true"]).run().assert_code(0);
}

#[test]
fn the_label_is_what_others_are_told() {
    let case = Case::new("label");
    let job = ["sh", "-c", "echo holding; exec sleep 60"];
    let holder = case.lock(&["--label", "nightly backup"], job).spawn();
    holder.wait_for_stdout("holding", DEADLINE);
    let output = case.lock(&["-n"], ["true"]).run();
    let who = format!("{}:{} (nightly backup)", nix::unistd::gethostname().unwrap().display(), holder.pid());
    output.assert_code(124).assert_stderr(&who);
    end(holder);
}

#[test]
fn an_empty_lock_path_is_removed_by_the_server() {
    let server = Server::builder().java_option("-Dznode.container.checkIntervalMs=200").start();
    let case = Case::on(&server, "container");
    case.lock(&[], ["true"]).run().assert_code(0);
    case.observer().wait_until_gone(case.path(), DEADLINE);
    case.observer().wait_until_gone("/t", DEADLINE);
    case.lock(&["-n"], ["true"]).run().assert_code(0);
}

#[test]
fn fencing_tokens_grow_even_if_the_lock_node_is_created_again() {
    let case = Case::new("tokens");
    let mut last = 0;
    for round in 0..4 {
        let output = case.lock(&[], ["sh", "-c", "echo $ZKLOCK_FENCING_TOKEN"]).run();
        let token: i64 = output.assert_code(0).stdout.trim().parse().unwrap();
        assert!(token > last, "{token} after {last}");
        last = token;
        if round % 2 == 1 {
            // The sequence numbers of the nodes start at zero again.
            case.observer().delete(case.path());
        }
    }
}

/// docs/operating.md says to reset the store's token then.
#[test]
fn tokens_begin_anew_in_a_new_ensemble() {
    let token = |server: &Server, earlier: usize| {
        let case = Case::on(server, "token");
        (0..earlier).for_each(|number| case.observer().mkdirs(&format!("/t/{number}")));
        let output = case.lock(&[], ["printenv", "ZKLOCK_FENCING_TOKEN"]).run();
        output.assert_code(0).stdout.trim().parse::<i64>().expect("a number")
    };
    let (old, new) = (Server::start(), Server::start());
    let before = token(&old, 30);
    assert!(token(&old, 0) > before);
    assert!(token(&new, 0) < before);
}
