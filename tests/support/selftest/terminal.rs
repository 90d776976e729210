use crate::support::{Case, DEADLINE, Terminal};
use nix::sys::signal::Signal;
use pty_process::blocking::Command;
use std::os::unix::process::ExitStatusExt;

#[test]
fn a_shell_has_job_control() {
    let case = Case::new("shell");
    let mut shell = case.shell();
    assert_eq!(shell.run("tty | cut -c1-8; echo $((6*7))", DEADLINE), "/dev/pts\n42\n");
    shell.enter("cat", DEADLINE);
    // The answer shows that `cat` has the terminal. Before that, the key would go to the shell, which ignores it.
    shell.terminal().send(b"first\n");
    shell.terminal().expect("first\r\nfirst\r\n", DEADLINE);
    shell.terminal().send(b"\x1a");
    shell.terminal().expect("Stopped", DEADLINE);
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 128 + Signal::SIGTSTP as i32);
    shell.enter("fg", DEADLINE);
    shell.terminal().expect("cat", DEADLINE);
    shell.terminal().send(b"hello\n");
    shell.terminal().expect("hello\r\nhello\r\n", DEADLINE);
    shell.terminal().send(b"\x03");
    shell.prompt(DEADLINE);
    assert_eq!(shell.code(DEADLINE), 128 + Signal::SIGINT as i32);
}

#[test]
fn a_terminal_can_be_resized() {
    let case = Case::new("resize");
    let mut shell = case.shell();
    assert_eq!(shell.run("stty size", DEADLINE), "24 80\n");
    shell.terminal().resize(40, 100);
    assert_eq!(shell.run("stty size", DEADLINE), "40 100\n");
}

#[test]
fn the_session_leader_gets_ctrl_c() {
    let mut terminal = Terminal::spawn(Command::new("sh").args(["-c", "echo up; exec sleep 60"]));
    terminal.expect("up", DEADLINE);
    terminal.send(b"\x03");
    assert_eq!(terminal.wait(DEADLINE).signal(), Some(Signal::SIGINT as i32));
}

#[test]
fn a_closed_window_hangs_up() {
    let mut terminal = Terminal::spawn(Command::new("sh").args(["-c", "echo up; exec sleep 60"]));
    terminal.expect("up", DEADLINE);
    terminal.hang_up();
    assert_eq!(terminal.wait(DEADLINE).signal(), Some(Signal::SIGHUP as i32));
}
