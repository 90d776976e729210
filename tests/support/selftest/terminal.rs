use crate::support::{Case, SOON, Terminal};
use nix::sys::signal::Signal;
use pty_process::blocking::Command;
use std::os::unix::process::ExitStatusExt;

#[test]
fn a_shell_has_job_control() {
    let case = Case::new("shell");
    let mut shell = case.shell();
    assert_eq!(shell.run("tty | cut -c1-8; echo $((6*7))", SOON), "/dev/pts\n42\n");
    shell.enter("cat", SOON);
    // The answer shows that `cat` has the terminal. Before that, the key would go to the shell, which ignores it.
    shell.terminal().send(b"first\n");
    shell.terminal().expect("first\r\nfirst\r\n", SOON);
    shell.terminal().send(b"\x1a");
    shell.terminal().expect("Stopped", SOON);
    shell.prompt(SOON);
    assert_eq!(shell.code(SOON), 128 + Signal::SIGTSTP as i32);
    shell.enter("fg", SOON);
    shell.terminal().expect("cat", SOON);
    shell.terminal().send(b"hello\n");
    shell.terminal().expect("hello\r\nhello\r\n", SOON);
    shell.terminal().send(b"\x03");
    shell.prompt(SOON);
    assert_eq!(shell.code(SOON), 128 + Signal::SIGINT as i32);
}

#[test]
fn a_terminal_can_be_resized() {
    let case = Case::new("resize");
    let mut shell = case.shell();
    assert_eq!(shell.run("stty size", SOON), "24 80\n");
    shell.terminal().resize(40, 100);
    assert_eq!(shell.run("stty size", SOON), "40 100\n");
}

#[test]
fn the_session_leader_gets_ctrl_c() {
    let mut terminal = Terminal::spawn(Command::new("sh").args(["-c", "echo up; exec sleep 60"]));
    terminal.expect("up", SOON);
    terminal.send(b"\x03");
    assert_eq!(terminal.wait(SOON).signal(), Some(Signal::SIGINT as i32));
}

#[test]
fn a_closed_window_hangs_up() {
    let mut terminal = Terminal::spawn(Command::new("sh").args(["-c", "echo up; exec sleep 60"]));
    terminal.expect("up", SOON);
    terminal.hang_up();
    assert_eq!(terminal.wait(SOON).signal(), Some(Signal::SIGHUP as i32));
}
