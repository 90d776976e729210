//! Starts a process.

use std::ffi::CStr;
use std::{io, ptr};

use nix::libc;
use nix::sched::{CloneFlags, clone};
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::unistd::Pid;

use super::image::Image;

/// Far more than the functions need that the child calls: their largest item is a path of 4 KiB. The C library maps
/// such a large allocation, and only the pages in use are ever touched. A smaller one would come from the heap, and be
/// zeroed page by page.
const STACK: usize = 256 * 1024;

/// A child that was started.
#[derive(Debug)]
pub struct Spawned {
    /// The caller must reap it, even if it failed.
    pub pid: Pid,
    /// Why it didn't become the image. It is dead then, or about to be.
    pub failed: Option<io::Error>,
}

/// Starts `image` in a child that borrows this process's memory until its exec, while the calling thread waits (as
/// after `vfork`): nothing is copied, however much memory there is. Before its exec the child runs `prepare`, and it
/// doesn't exec if that fails.
///
/// The child starts with every signal blocked. For a process that has no handlers, as the worker: one could run in the
/// child when `prepare` unblocks its signal. `prepare` must be async-signal-safe: no allocation, no lock of zklock's,
/// only system calls on captured values.
pub fn spawn(image: &Image, prepare: impl Fn() -> io::Result<()>) -> io::Result<Spawned> {
    let (arguments, environment) = (pointers(image.arguments()), pointers(image.environment()));
    // For a script without an interpreter line, the C library puts all arguments on the stack a second time.
    let mut stack = vec![0; STACK + size_of_val(arguments.as_slice())];
    let mut failed = None;
    let child = Box::new(|| {
        failed = Some(prepare().err().unwrap_or_else(|| {
            // SAFETY: a string, and two arrays that end with a null pointer; all live as long as this function. The
            // call returns only if it fails.
            unsafe { libc::execvpe(image.program().as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
            io::Error::last_os_error()
        }));
        1
    });
    let flags = CloneFlags::CLONE_VM | CloneFlags::CLONE_VFORK;
    let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    // SAFETY: the child has its own stack, with room for what it calls. This thread, whose variables it uses, is
    // suspended until the child has left the shared memory by exec or exit. It doesn't affect the other threads:
    // `prepare` takes no lock and allocates nothing, and there are no handlers that could run in it.
    let spawned = unsafe { clone(child, &mut stack, flags, Some(libc::SIGCHLD)) };
    // Not returned, because the caller must learn about the child.
    if let Err(error) = mask.thread_set_mask() {
        log::debug!("can't restore the signal mask: {error}");
    }
    Ok(Spawned { pid: spawned?, failed })
}

/// An array of C strings, ended by a null pointer.
fn pointers(words: &[impl AsRef<CStr>]) -> Vec<*const libc::c_char> {
    words.iter().map(|word| word.as_ref().as_ptr()).chain([ptr::null()]).collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::process::ExitStatusExt;
    use std::sync::atomic::{AtomicI32, Ordering};

    use nix::errno::Errno;
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::getpid;

    use super::super::children::reap;
    use super::*;

    fn image(program: &str, arguments: &[&str]) -> Image {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        Image::new(&program.into(), &arguments).unwrap()
    }

    #[test]
    fn the_child_exists_when_spawn_returns() -> io::Result<()> {
        let child = spawn(&image("sh", &["-c", "exit 7"]), || Ok(()))?;
        assert!(child.failed.is_none(), "{child:?}");
        assert_eq!(reap(child.pid)?.code(), Some(7));
        Ok(())
    }

    #[test]
    fn a_failure_is_returned_with_the_child_to_reap() -> io::Result<()> {
        for (program, result, expected) in
            [("/no/such/program", Ok(()), Errno::ENOENT), ("true", Err(Errno::ECANCELED), Errno::ECANCELED)]
        {
            let child = AtomicI32::new(0);
            let spawned = spawn(&image(program, &[]), || {
                child.store(getpid().as_raw(), Ordering::SeqCst);
                Ok(result?)
            });
            let Spawned { pid, failed } = spawned?;
            assert_eq!(failed.and_then(|error| error.raw_os_error()), Some(expected as i32));
            assert_eq!(pid.as_raw(), child.into_inner());
            assert_ne!(reap(pid)?.code(), Some(0));
            assert_eq!(kill(pid, None), Err(Errno::ESRCH), "the child must be reaped");
        }
        Ok(())
    }

    #[test]
    fn the_mask_is_restored() -> io::Result<()> {
        let before = SigSet::thread_get_mask()?;
        let child = spawn(&image("true", &[]), || {
            SigSet::empty().thread_set_mask()?;
            Ok(kill(getpid(), Signal::SIGTERM)?)
        })?;
        assert_eq!(reap(child.pid)?.signal(), Some(Signal::SIGTERM as i32));
        assert_eq!(SigSet::thread_get_mask()?, before);
        Ok(())
    }
}
