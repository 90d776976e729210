//! The guard's life: listen, and act when zklock can't.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::socket::{MsgFlags, recv, send};
use nix::unistd::{Pid, setsid};

use super::NAME;
use super::clean::clean;
use super::duty::{Duty, Task};
use super::gate::{GO, STAY};
use super::order::Order;
use crate::alarm::Alarm;
use crate::clock::BootTime;
use crate::job::descendants;
use crate::memory;
use crate::sys;

/// Far more than an order with a hundred nodes.
const LONGEST_ORDER: usize = 256 * 1024;

/// Is the guard until there is nothing left to guard. Standard input is the line to zklock, standard output
/// the gate.
pub fn stand_guard() -> io::Result<()> {
    settle()?;
    let control = io::stdin().as_fd().try_clone_to_owned()?;
    let gate = io::stdout().as_fd().try_clone_to_owned()?;
    let alarm = Alarm::new()?;
    let (mut duty, mut message) = (Duty::default(), vec![0; LONGEST_ORDER]);
    loop {
        match duty.task(BootTime::now()) {
            Task::Watch(until) => {
                alarm.wait([control.as_fd(), gate.as_fd()], until)?;
                // zklock's words first: a child is let through only by what zklock said last, and only if it
                // lives.
                obey_all(&mut duty, &control, &mut message)?;
                answer_child(&mut duty, &gate)?;
            }
            Task::Kill(group) if kill_all(Pid::from_raw(group)) => duty.group_is_gone(),
            Task::Kill(_) => duty.give_up(),
            Task::Clean => {
                clean(duty.security(), duty.nodes());
                return Ok(());
            }
            Task::End => return Ok(()),
        }
    }
}

/// Takes its place, before anything else.
fn settle() -> io::Result<()> {
    // A session of its own: whoever signals zklock's group or terminal doesn't mean the guard.
    setsid()?;
    // Service managers send TERM to every process; the guard's work is done when zklock's is. They were blocked
    // when it was started.
    SigSet::all().thread_set_mask()?;
    sys::close_from(3);
    // Else it would be called "exe", after the link by which it was started.
    let name = CString::new(NAME)?;
    prctl::set_name(&name)?;
    Ok(())
}

fn obey_all(duty: &mut Duty, control: &OwnedFd, message: &mut [u8]) -> io::Result<()> {
    loop {
        match recv(control.as_raw_fd(), message, MsgFlags::MSG_DONTWAIT) {
            Ok(0) | Err(Errno::ECONNRESET) => {
                duty.abandon();
                return Ok(());
            }
            Ok(length) => {
                // What isn't understood doesn't come from a zklock of this version, which can't be.
                if let Ok(order) = serde_json::from_slice(message.get(..length).unwrap_or_default()) {
                    if matches!(&order, Order::Security(security) if security.has_secrets()) {
                        memory::hide();
                    }
                    duty.obey(order);
                }
            }
            Err(Errno::EAGAIN) => return Ok(()),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn answer_child(duty: &mut Duty, gate: &OwnedFd) -> io::Result<()> {
    let mut leader = [0; 4];
    match recv(gate.as_raw_fd(), &mut leader, MsgFlags::MSG_DONTWAIT) {
        Ok(4) => {
            let answer = if duty.admit(i32::from_ne_bytes(leader), BootTime::now()) { GO } else { STAY };
            let _ = send(gate.as_raw_fd(), &[answer], MsgFlags::MSG_NOSIGNAL);
            Ok(())
        }
        Ok(_) | Err(Errno::EAGAIN | Errno::EINTR | Errno::ECONNRESET) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Kills the group until nobody in it lives. Who is forked while the signal is sent is met by the next.
/// `false`: somebody in it lives and has become another user, whom we may not signal.
fn kill_all(group: Pid) -> bool {
    loop {
        let sent = killpg(group, Signal::SIGKILL);
        match (has_living_member(group), sent) {
            (false, _) => return true,
            (true, Err(Errno::EPERM)) => return false,
            (true, _) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Zombies stay members until somebody reaps them, which not every PID 1 does.
fn has_living_member(group: Pid) -> bool {
    descendants::all()
        .is_none_or(|all| all.iter().any(|process| process.group == group.as_raw() && !process.dead))
}
