//! How zklock ends: with the command's own code or signal, or with a code of its own that says why.

use crate::support::{Case, OtherUser, Place, Proxy, shared, try_rows};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Creates a file in the case's directory, with this text and mode.
fn file(case: &Case, name: &str, text: &str, mode: u32) -> String {
    let path = case.dir().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn every_exit_code_of_the_command_is_zklock_s_own() {
    const RUNNERS: i32 = 4;
    let case = Case::new("codes");
    thread::scope(|scope| {
        for runner in 0..RUNNERS {
            // Each runner has a path of its own, so that they don't share one queue.
            let (case, path) = (&case, format!("{}-{runner}", case.path()));
            scope.spawn(move || {
                for code in (0..256).filter(|code| code % RUNNERS == runner) {
                    let exit = format!("exit {code}");
                    let output = case.zklock().args([&path, "-c", &exit]).run();
                    assert_eq!(output.assert_code(code).stderr, "");
                }
            });
        }
    });
}

#[test]
fn zklock_ends_as_its_command_does_after_the_release() {
    // The others are ignored or stop a process by default, and each third of the real-time signals is enough.
    let real_time = (34..65).step_by(3).chain([35]);
    let deadly: Vec<i32> = (1..17).chain(24..28).chain(29..32).chain(real_time).collect();
    let ends_alike = |place: Place| {
        let case = Case::new("ends");
        let run = |line: &str| place.start(case.lock(&[], ["sh", "-c", line])).wait();
        for code in [0, 1, 7, 77, 255] {
            run(&format!("exit {code}")).assert_code(code);
        }
        for &signal in &deadly {
            place.assert_died(&run(&format!("ulimit -c 0; kill -{signal} $$")), signal);
            assert_eq!(case.contenders(), [""; 0], "released before {signal} ended zklock");
        }
    };
    try_rows(Place::possible(), ends_alike);
}

#[test]
fn not_connected_is_125_whatever_the_conflict_code() {
    let proxy = Proxy::to(shared());
    proxy.refuse_new(true);
    let case = Case::new("not-connected").through(&proxy.connect_string());
    for options in [
        &["-w", "0.5", "--connect-timeout", "60"][..],
        &["-w", "0.5", "-E", "0", "--connect-timeout", "60"],
        &["-n", "-E", "0", "--connect-timeout", "0.5"],
        &["-q", "--connect-timeout", "0.5"],
        &["-w", "60", "--connect-timeout", "0.5"],
    ] {
        let output = case.lock(options, ["echo", "ran"]).run();
        output.assert_code(125).assert_stderr(case.path()).assert_stderr("refused");
        assert!(output.elapsed < Duration::from_secs(25), "{:?}", output.elapsed);
        assert_eq!(output.stdout, "");
    }
}

#[test]
fn a_command_that_is_there_and_cannot_run_is_126() {
    let case = Case::new("cannot-run");
    let directory = case.dir().to_str().unwrap().to_owned();
    // Written by another process: a file that is open for writing can't be run, and other tests fork meanwhile.
    let without_loader = format!("{directory}/no-loader");
    let write = format!("sed 's:/ld-:/no-:g' /bin/true >{without_loader} && chmod +x {without_loader}");
    assert!(Command::new("sh").args(["-c", &write]).status().expect("sh").success());
    for (command, why) in [
        (file(&case, "not-executable", "#!/bin/sh\n", 0o644), "it isn't executable; chmod +x makes it so"),
        (file(&case, "no-interpreter", "#!/no/such/interpreter\n", 0o755), "the interpreter that"),
        (file(&case, "crlf", "#!/bin/sh\r\n", 0o755), "its first line ends with a carriage return"),
        (format!("{directory}/"), "it is a directory"),
        (directory, "it is a directory"),
        ("/proc/self/mem".to_owned(), "it isn't executable; chmod +x"),
        // As for a program that was built for another C library.
        (
            without_loader,
            "the interpreter that its first line names, or the dynamic loader that it was built for",
        ),
    ] {
        let output = case.lock(&[], [&command]).run();
        output
            .assert_code(126)
            .assert_stderr(case.path())
            .assert_stderr(&format!("'{command}' can't be run: {why}"));
        assert_eq!(case.contenders(), Vec::<String>::new(), "released");
    }
}

/// flock(1), timeout(1) and every shell run it with sh.
#[test]
fn a_script_without_a_first_line_runs_and_gets_as_much_as_the_system_takes() {
    let case = Case::new("long-script");
    case.lock(&[], [file(&case, "script", "exit 5\n", 0o755)]).run().assert_code(5);
    file(&case, "count-words", "exit $(($# / 1000))\n", 0o755);
    let path = format!("{}:{}:/bin:/usr/bin", "/no/such/directory:".repeat(1_000), case.dir().display());
    let mut command = vec!["count-words".to_owned()];
    command.extend((0..100_000).map(|word| word.to_string()));
    case.lock(&[], command).env("PATH", path).run().assert_code(100);
}

#[test]
fn a_directory_of_path_that_cannot_be_searched_hides_no_program() {
    let Some(user) = OtherUser::new() else { return };
    let case = Case::new("unsearchable-path");
    let closed = user.dir().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    let path = format!("{}:/usr/bin:/bin", closed.display());
    let run = |program| user.zklock(case.hosts(), &[]).env("PATH", &path).args([case.path(), program]).run();
    run("true").assert_code(0);
    let output = run("no-such-program");
    output
        .assert_code(127)
        .assert_stderr("was not found: check its name, and the directories in the variable PATH");
}
