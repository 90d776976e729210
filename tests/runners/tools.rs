//! zklock under stdbuf, script, strace, sudo, cron, timeout, nohup and setsid, and what stdbuf and strace see of its command.

use crate::support::{
    Case, DEADLINE, LATE, Terminal, children_of, end, signal_printer, skip, wait_for, wait_until,
};
use nix::sys::signal::{Signal, kill};
use std::fs;
use std::process::Command;
use std::time::Duration;

/// The words that run a program under this tool, before its command line; `None`, with a skip, if that isn't possible.
fn under(case: &Case, tool: &str) -> Option<String> {
    let words = match tool {
        "stdbuf" => "exec stdbuf -oL".to_owned(),
        "nohup" => "exec nohup".to_owned(),
        "setsid" => "exec setsid --wait".to_owned(),
        // The bare environment of cron.
        "cron" => "exec env -i ZKLOCK_TEST_RUN=\"$ZKLOCK_TEST_RUN\" /bin/sh -c '\"$0\" \"$@\"'".to_owned(),
        _ if tool.starts_with("timeout") => format!("exec {tool}"),
        "strace" => format!("exec strace -f -qq -o {}", case.dir().join("trace").display()),
        // As the same user, who may send it signals.
        "sudo" => "exec sudo -n --user \"$(id -un)\" --preserve-env=ZKLOCK_TEST_RUN".to_owned(),
        // It takes a shell's line.
        "script" => {
            "line=$(printf '%q ' \"$0\" \"$@\"); set -- -qec \"$line\" /dev/null; exec env SHELL=/bin/bash"
                .to_owned()
        }
        _ => unreachable!("{tool}"),
    };
    let prelude = match tool {
        "script" => format!("{words} script \"$@\""),
        _ => format!("{words} \"$0\" \"$@\""),
    };
    let probe = Command::new("bash").args(["-c", &prelude, "true"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        skip(&format!("{tool} isn't installed, or can't run a program here"));
        return None;
    }
    Some(prelude)
}

const TOOLS: [&str; 4] = ["stdbuf", "strace", "sudo", "script"];
const OTHERS: [&str; 4] = ["cron", "timeout 60", "nohup", "setsid"];

#[test]
fn exit_code_input_and_output_pass_through() {
    let case = Case::new("tools");
    for tool in TOOLS.into_iter().chain(OTHERS) {
        let Some(prelude) = under(&case, tool) else { continue };
        let command = ["sh", "-c", "read -r line; echo \"got $line under $ZKLOCK_PATH\"; exit 7"];
        let run = case.lock(&[], command).prelude(&prelude).input(b"input\n").run();
        run.assert_code(7).assert_stdout(&format!("got input under {}", case.path()));
        assert!(TOOLS.contains(&tool) || run.stderr.is_empty(), "{tool}: {run}");
        assert!(run.closed, "{tool}: {run}");
        assert_eq!(case.contenders(), [""; 0], "{tool}");
    }
}

#[test]
fn a_signal_to_zklock_is_forwarded_once() {
    let case = Case::new("tools-signal");
    for tool in TOOLS {
        let Some(prelude) = under(&case, tool) else { continue };
        let running = case.lock(&[], signal_printer(&["TERM=5"])).prelude(&prelude).spawn();
        running.wait_for_stdout("ready", DEADLINE);
        let zklock = wait_for("the process that waits for the lock", DEADLINE, || {
            // What zklock is called with ends with its command; a tool may have started it, or have become it.
            let below = children_of(running.pid()).into_iter().flat_map(|(pid, line)| {
                children_of(pid).into_iter().chain([(pid, line)]).collect::<Vec<_>>()
            });
            let is_zklock = |line: &str| line.starts_with(env!("CARGO_BIN_EXE_zklock"));
            let found = below.into_iter().find(|(_, line)| is_zklock(line)).map(|(pid, _)| pid);
            found.or_else(|| (tool == "stdbuf").then_some(running.pid()))
        });
        kill(zklock, Signal::SIGUSR1).expect("zklock");
        running.wait_for_stdout("got USR1", DEADLINE);
        kill(zklock, Signal::SIGTERM).expect("zklock");
        let output = running.wait(DEADLINE);
        assert_eq!(output.assert_code(5).stdout.matches("got USR1").count(), 1, "{tool}: {output}");
        assert_eq!(case.contenders(), [""; 0], "{tool}");
    }
}

#[test]
fn ctrl_c_ends_the_command_and_zklock_under_a_tool_with_a_terminal() {
    let case = Case::new("tools-keys");
    for tool in TOOLS {
        let Some(prelude) = under(&case, tool) else { continue };
        let script = "trap 'echo got INT; exit 9' INT; echo up; while :; do sleep 0.05; done";
        let mut terminal: Terminal = case.lock(&[], ["bash", "-c", script]).prelude(&prelude).in_terminal();
        terminal.expect("up\r\n", DEADLINE);
        terminal.send(b"\x03");
        terminal.expect("got INT", DEADLINE);
        assert_eq!(terminal.wait(DEADLINE).code(), Some(9), "{tool}: {}", terminal.text());
        assert_eq!(terminal.text().matches("got INT").count(), 1, "{tool}");
        wait_until("the lock to be free", DEADLINE, || case.contenders().is_empty());
    }
}

/// timeout sends TERM twice: to zklock, and to zklock's process group.
#[test]
fn timeout_ends_a_command_and_a_waiter_and_leaves_nothing() {
    let case = Case::new("timeout");
    let pipeline = ["sh", "-c", "sleep 61 | sleep 62"];
    let run = case.lock(&[], pipeline).prelude(&under(&case, "timeout 1").unwrap()).run();
    run.assert_code(124);
    assert!(run.closed && run.elapsed < Duration::from_secs(25), "{run}");
    assert_eq!(case.contenders(), [""; 0]);
    let deaf = ["bash", "-c", "trap '' TERM; while :; do sleep 0.1; done"];
    // The command has six seconds to begin to ignore TERM.
    let run = case.lock(&[], deaf).prelude(&under(&case, "timeout -k 0.5 6").unwrap()).run();
    run.assert_signal(Signal::SIGKILL);
    case.observer().wait_for_contenders(case.path(), 0, LATE);
    let holder = case.holder();
    for _ in 0..5 {
        let run = case.lock(&[], ["echo", "ran"]).prelude(&under(&case, "timeout 0.3").unwrap()).run();
        assert_eq!(run.assert_code(124).stdout, "");
        case.observer().wait_for_contenders(case.path(), 1, LATE);
    }
    end(holder);
}

/// sudo passes TERM on, and dies of it as its command did.
#[test]
fn a_waiter_under_sudo_leaves_the_queue_on_term() {
    let case = Case::new("sudo-waiting");
    let Some(prelude) = under(&case, "sudo") else { return };
    let holder = case.holder();
    let waiter = case.lock(&[], ["true"]).prelude(&prelude).spawn();
    case.wait_for_contenders(2);
    waiter.signal(Signal::SIGTERM);
    waiter.wait(DEADLINE).assert_signal(Signal::SIGTERM);
    case.wait_for_contenders(1);
    end(holder);
}

#[test]
fn a_tool_inside_the_lock_runs_its_program() {
    let case = Case::new("tools-inside");
    for tool in TOOLS {
        let Some(prelude) = under(&case, tool) else { continue };
        let command = ["bash", "-c", &prelude, "sh", "-c", "echo \"$ZKLOCK_PATH\"; exit 4"];
        let run = case.lock(&[], command).run();
        run.assert_code(4);
        // sudo cleans the environment.
        assert!(tool == "sudo" || run.stdout.contains(case.path()), "{tool}: {run}");
    }
    if let Ok(trace) = fs::read_to_string(case.dir().join("trace")) {
        assert!(trace.contains("exit_group(4)"), "{trace}");
    }
}
