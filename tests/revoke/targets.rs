//! The contenders that `revoke` chooses: the holder, or the ones that the options name.

use super::{end, holder, revoke};
use crate::support::{At, Case, DEADLINE, Proxy, Running, Zklock, op, shared, try_rows};

/// What the contenders ask for, how many of them hold the lock, the options of `revoke`, whom it asks in which order, its exit
/// code, and what it says of each of them, or at all. `NODE` and `NAME` are the last contender's.
type Row = (&'static [&'static str], usize, &'static str, &'static [usize], i32, &'static str);

const ASKED: &str = ": asked to stop";
const DELETED: &str = ": its node is deleted";
const SEVERAL: &str = "2 hold it; name one with --node, or all with --all";

/// From the end of the queue, so that no waiter runs. To add a row, add a line.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    (&["-x", "-x"],                 1, "",              &[0],       0,   ASKED),
    (&["-x", "-x", "-x"],           1, "--waiting",     &[2, 1],    0,   ASKED),
    (&["-x"],                       1, "--waiting",     &[],        1,   "nobody waits for it"),
    (&["-x", "-x", "-x"],           1, "--all",         &[2, 1, 0], 0,   ASKED),
    (&["-x", "-x", "-x"],           1, "--force --all", &[2, 1, 0], 0,   DELETED),
    (&["-x"],                       1, "--force",       &[0],       0,   DELETED),
    (&["-x", "-x"],                 1, "--node NAME",   &[1],       0,   ASKED),
    (&["-x", "-x"],                 1, "--node NODE",   &[1],       0,   ASKED),
    (&["--slots=2", "--slots=2"],   2, "--all",         &[1, 0],    0,   ASKED),
    (&["-s", "-s"],                 2, "",              &[],        125, SEVERAL),
    (&["-s", "-s"],                 2, "--node NAME",   &[1],       0,   ASKED),
];

#[test]
fn revoke_asks_the_holder_or_whom_its_options_name() {
    try_rows(ROWS.iter().copied(), try_row);
}

fn try_row((kinds, holders, options, asked, code, says): Row) {
    let case = Case::new("revoke-targets");
    let contenders: Vec<Running> = (0..kinds.len())
        .map(|place| {
            let running = case.lock(&[kinds[place]], ["sh", "-c", "echo runs; exec sleep 60"]).spawn();
            case.wait_for_contenders(place + 1);
            if place < holders {
                running.wait_for_stdout("runs", DEADLINE);
            }
            running
        })
        .collect();
    let name = case.contenders().pop().unwrap();
    let options = options.replace("NODE", &format!("{}/{name}", case.path())).replace("NAME", &name);
    let output = revoke(&case, &options.split_whitespace().collect::<Vec<_>>());
    output.assert_code(code);
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert_eq!(lines.len(), asked.len(), "{options}: {output}");
    for (line, place) in lines.iter().zip(asked) {
        assert!(line.contains(&format!(":{} ", contenders[*place].pid())) && line.ends_with(says), "{line}");
    }
    assert!(!asked.is_empty() || output.stderr == format!("zklock: {}: {says}\n", case.path()), "{output}");
    for (place, running) in contenders.into_iter().enumerate().rev() {
        if !asked.contains(&place) {
            assert!(running.is_running(), "{options}: {place}");
            end(running);
            continue;
        }
        let output = running.wait(DEADLINE);
        let (code, reason) = match (place < holders, says) {
            (true, DELETED) => (123, "its node was deleted by another client"),
            (true, _) => (123, "the lock is revoked by"),
            (false, DELETED) => (125, ""),
            (false, _) => (125, "its place in the queue was revoked by"),
        };
        output.assert_code(code).assert_stderr(reason);
        assert_eq!(output.stdout, if place < holders { "runs\n" } else { "" }, "{options}: {place}");
    }
}

#[test]
fn a_contender_that_is_asked_before_it_knows_of_its_own_node_never_runs() {
    let proxy = Proxy::to(shared());
    let case = Case::new("revoke-unknown");
    case.observer().mkdirs(case.path());
    proxy.once(op::CREATE, At::Hold);
    let contender = Zklock::at(&proxy.connect_string(), case.marker());
    let contender = contender.args([case.path(), "--", "echo", "ran"]).spawn();
    proxy.wait_fired(1, DEADLINE);
    proxy.blackhole_to_client();
    proxy.release();
    case.wait_for_contenders(1);
    assert!(revoke(&case, &[]).assert_code(0).stdout.contains("asked to stop"));
    proxy.cut_all();
    proxy.pass();
    let output = contender.wait(DEADLINE);
    output.assert_code(125).assert_stderr("its place in the queue was revoked by");
    assert_eq!(output.stdout, "");
}

#[test]
fn without_a_holder_no_node_is_marked_and_the_code_is_1() {
    let case = Case::new("revoke-nobody");
    for words in [&[][..], &["--all"], &["--force"], &["--all", "--force"]] {
        let output = revoke(&case, words);
        output.assert_code(1).assert_stderr(case.path()).assert_stderr("it is free");
        assert_eq!(output.stdout, "");
    }
    let job = holder(&case, &[]);
    for words in [&["--node", "_c_nosuch-lock-0000000000"][..], &["--node", "nosuch", "--force"]] {
        let output = revoke(&case, words);
        output.assert_code(1).assert_stderr("no contender has the node").assert_stderr("zklock status");
    }
    let blank = case.zklock().args(["revoke", "/t/a b", "--node", "x"]).run();
    blank
        .assert_code(1)
        .assert_stderr("no contender has the node x; 'zklock status \"/t/a b\"' shows who there is\n");
    assert!(job.is_running());
    end(job);
}

/// The name alone would be that of a contender of this lock.
#[test]
fn a_node_elsewhere_is_refused_before_anything_is_touched() {
    let case = Case::new("revoke-elsewhere");
    let job = holder(&case, &[]);
    let name = case.contenders()[0].clone();
    let path = case.path();
    for node in
        [format!("/other/{name}"), format!("{path}/x/{name}"), format!("x/{name}"), format!("{path}x/{name}")]
    {
        for words in [&[][..], &["--force"]] {
            let output = revoke(&case, &[&["--node", &node], words].concat());
            output.assert_code(125).assert_stderr(&format!(
                "'{node}' isn't a node of {path}; give the lock that it belongs to, or its name"
            ));
        }
    }
    assert!(job.is_running());
    revoke(&case, &["--node", &format!("{path}/{name}")]).assert_code(0);
    job.wait(DEADLINE).assert_code(123);
}

#[test]
fn revoke_finds_a_lock_below_a_chroot() {
    let case = Case::new("revoke-chroot");
    let job = holder(&case, &[]);
    let below = case.path().strip_prefix("/t").unwrap();
    let hosts = format!("{}/t", case.hosts());
    Zklock::at(&hosts, case.marker()).args(["revoke", below]).run().assert_code(0);
    job.wait(DEADLINE).assert_code(123);
}
