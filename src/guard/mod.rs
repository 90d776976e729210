//! The guard: a second, tiny process of the same binary that outlives zklock.
//!
//! zklock can be killed by a signal that nobody can catch, or be frozen while its lease runs out. Then the
//! guard kills the job, and deletes the lock nodes so that the next contender need not wait for the session
//! to end. It holds one end of a socket; that the other end closes without a word is how it knows.

mod clean;
mod duty;
mod gate;
mod order;
mod watch;

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::{env, io};

use nix::sys::signal::{SigSet, SigmaskHow};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::Pid;

pub use self::gate::{Gate, is_refusal};
pub use self::order::{GuardedLease, GuardedNode, Order};
pub use self::watch::stand_guard;
use crate::zk::Security;

/// The name that the guard goes by, and by which the binary knows that it is one.
pub const NAME: &str = "zklock-guard";

/// zklock's side of the guard.
#[derive(Debug)]
pub struct Guard {
    control: OwnedFd,
    /// What the child of the spawn talks to the guard through.
    gate: OwnedFd,
    process: Child,
}

impl Guard {
    /// Starts the guard. It knows how to connect, and has no other orders yet.
    pub fn start(security: &Security) -> io::Result<Self> {
        let (control, guards_control) = pair()?;
        let (gate, guards_gate) = pair()?;
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0(NAME)
            .env_clear()
            .envs(kerberos())
            .current_dir("/")
            .stdin(Stdio::from(guards_control))
            .stdout(Stdio::from(guards_gate))
            .stderr(Stdio::null());
        // Without a hook between fork and exec the child borrows our memory instead of copying it (vfork), which
        // takes half as long. It begins with every signal blocked, and does the rest itself: `settle`.
        let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
        let spawned = command.spawn();
        mask.thread_set_mask()?;
        let mut guard = Self { control, gate, process: spawned? };
        guard.tell(&Order::Security(security.clone()));
        Ok(guard)
    }

    /// Tells the guard something. That it isn't there any more is noticed as the death of a child; one that
    /// has been frozen for so long that the line is full is made to die.
    pub fn tell(&mut self, order: &Order) {
        if let Err(error) = order.send(self.control.as_fd()) {
            log::debug!("the guard doesn't listen: {error}");
            let _ = self.process.kill();
        }
    }

    /// What the child needs to report to the guard and to wait for its go.
    pub fn gate(&self) -> io::Result<Gate<'_>> {
        Gate::new(self.gate.as_fd(), self.control.as_fd())
    }

    /// The guard's process.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.process.id()).unwrap_or_default())
    }

    /// Whether the guard is dead. It is reaped then.
    pub fn is_dead(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Everything is released: the guard ends, and this returns when it has. It is told, in case that it can't be
    /// killed, and killed, in case that it doesn't listen.
    pub fn dismiss(mut self) {
        self.tell(&Order::Dismissed);
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Ends a guard that doesn't do its work. Its orders die with it.
    pub fn replace(&mut self, security: &Security) -> io::Result<()> {
        let _ = self.process.kill();
        let _ = self.process.wait();
        *self = Self::start(security)?;
        Ok(())
    }
}

/// Where Kerberos finds its tickets. These name files; what a guard keeps secret it gets over its socket.
fn kerberos() -> impl Iterator<Item = (&'static str, OsString)> {
    let names: &[_] = if cfg!(feature = "gssapi") { &["KRB5CCNAME", "KRB5_CONFIG"] } else { &[] };
    names.iter().filter_map(|name| Some((*name, env::var_os(name)?)))
}

/// Messages keep their bounds, and the end of one side is told to the other.
fn pair() -> nix::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
}
