//! Program, arguments and environment for an exec, ready for the kernel. Everything is allocated here, because nothing
//! may be allocated between fork and exec.

use std::ffi::{CStr, CString, NulError, OsString, c_char};
use std::io::Write;
use std::os::unix::ffi::OsStringExt;

use nix::libc::pid_t;
use nix::unistd::Pid;

use super::start::environment;

/// systemd's variables that name the process which they are meant for, by its pid: the one that gets the sockets
/// (`sd_listen_fds`(3)), and the one that reports to the watchdog (`sd_watchdog_enabled`(3)).
const MEANT_FOR: [&str; 2] = [LISTEN_PID, "WATCHDOG_PID"];
const LISTEN_PID: &str = "LISTEN_PID";

/// Identifies the process of `LISTEN_PID` a second time, in newer versions of systemd. Without it, the pid alone counts.
const LISTEN_PIDFDID: &str = "LISTEN_PIDFDID";

/// A program with its arguments and its environment.
#[derive(Debug)]
pub struct Image {
    arguments: Vec<CString>,
    environment: Vec<Entry>,
}

/// An entry of the environment.
#[derive(Debug)]
struct Entry {
    text: CString,
    /// The value stands for the pid of the process that becomes the image, and is as long as the longest pid.
    is_own_pid: bool,
}

/// An entry in which the process that becomes the image writes its pid. That process may not allocate.
#[derive(Debug)]
pub(super) struct OwnPid {
    /// Its place in the environment.
    pub(super) place: usize,
    /// `NAME=`, a pid, and at least one zero byte.
    text: Vec<u8>,
    /// Where the pid begins.
    value: usize,
}

impl OwnPid {
    /// The entry for the process with this pid. Allocates nothing.
    pub(super) fn write(&mut self, pid: Pid) -> *const c_char {
        let (_, value) = self.text.split_at_mut(self.value);
        value.fill(0);
        let _ = write!(&mut value[..], "{pid}");
        self.text.as_ptr().cast()
    }
}

impl Image {
    /// The program with the environment that zklock was started with. It is looked up in `PATH` unless it contains a slash.
    pub fn new(program: &OsString, arguments: &[OsString]) -> Result<Self, NulError> {
        let words = [program].into_iter().chain(arguments);
        Ok(Self {
            arguments: words.map(|word| CString::new(word.clone().into_vec())).collect::<Result<_, _>>()?,
            environment: environment().map(|text| Entry { text, is_own_pid: false }).collect(),
        })
    }

    /// Has the process that becomes the image get what systemd meant for the process `old`, which runs it.
    pub fn take_over_from(&mut self, old: Pid) {
        let old = old.to_string();
        let is_meant = |entry: &Entry, name: &str| value_of(&entry.text, name) == Some(old.as_bytes());
        if self.environment.iter().any(|entry| is_meant(entry, LISTEN_PID)) {
            self.environment.retain(|entry| value_of(&entry.text, LISTEN_PIDFDID).is_none());
        }
        for entry in &mut self.environment {
            let name = MEANT_FOR.into_iter().find(|name| is_meant(entry, name));
            if let Some(text) = name.and_then(|name| CString::new(format!("{name}={}", pid_t::MAX)).ok()) {
                *entry = Entry { text, is_own_pid: true };
            }
        }
    }

    /// The entries that name the process that becomes the image.
    pub(super) fn own_pids(&self) -> Vec<OwnPid> {
        let own = self.environment.iter().enumerate().filter(|(_, entry)| entry.is_own_pid);
        let own = own.map(|(place, entry)| {
            let text = entry.text.to_bytes_with_nul().to_vec();
            let value = text.iter().position(|&byte| byte == b'=').map_or(0, |equals| equals + 1);
            OwnPid { place, text, value }
        });
        own.collect()
    }

    /// Adds these variables to the environment, in place of those of the same name.
    pub fn add(&mut self, added: &[(String, String)]) -> Result<(), NulError> {
        self.environment.retain(|kept| !added.iter().any(|(name, _)| value_of(&kept.text, name).is_some()));
        for (name, value) in added {
            let text = variable((name.into(), value.into()))?;
            self.environment.push(Entry { text, is_own_pid: false });
        }
        Ok(())
    }

    /// The program's name, followed by its arguments.
    pub fn arguments(&self) -> &[CString] {
        &self.arguments
    }

    /// The program's name.
    pub fn program(&self) -> &CStr {
        self.arguments.first().map_or(c"", CString::as_c_str)
    }

    /// The entries, usually `NAME=value`.
    pub fn environment(&self) -> Vec<&CStr> {
        self.environment.iter().map(|entry| entry.text.as_c_str()).collect()
    }
}

/// `NAME=value`.
fn variable((name, value): (OsString, OsString)) -> Result<CString, NulError> {
    let mut bytes = name.into_vec();
    bytes.push(b'=');
    bytes.extend(value.into_vec());
    CString::new(bytes)
}

/// The value of the variable, if it has this name.
fn value_of<'a>(variable: &'a CStr, name: &str) -> Option<&'a [u8]> {
    variable.to_bytes().strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    #[test]
    fn an_added_variable_replaces_one_of_the_same_name() {
        let inherited = env::var("PATH").unwrap_or_default();
        let added =
            [("PATH", "/added"), ("ZKLOCK_NEW", "a=b")].map(|(name, value)| (name.into(), value.into()));
        let mut image = Image::new(&"program".into(), &["-x".into()]).unwrap();
        image.add(&added).unwrap();
        assert_eq!(image.program(), c"program");
        assert_eq!(image.arguments(), [c"program".to_owned(), c"-x".to_owned()]);
        let named = |name: &str| -> Vec<&str> {
            let all = image.environment().into_iter().filter_map(|variable| variable.to_str().ok());
            all.filter(|variable| variable.starts_with(name)).collect()
        };
        assert_ne!(inherited, "/added");
        assert_eq!(named("PATH="), ["PATH=/added"]);
        assert_eq!(named("ZKLOCK_NEW="), ["ZKLOCK_NEW=a=b"]);
        assert_eq!(image.environment().len(), env::vars_os().count() + 1);
    }

    #[test]
    fn what_systemd_meant_for_one_process_names_the_one_that_becomes_the_image() {
        let entries = [
            "LISTEN_PID=4711",
            "LISTEN_FDS=1",
            "LISTEN_PIDFDID=99",
            "WATCHDOG_PID=4711",
            "LISTEN_PID=471",
            "X_LISTEN_PID=4711",
            "LISTEN_PID",
            "LISTEN_PID=4711",
        ];
        let image = |old| {
            let entry = |text: &str| Entry { text: CString::new(text).unwrap(), is_own_pid: false };
            let mut image = Image { arguments: vec![], environment: entries.map(entry).into() };
            image.take_over_from(Pid::from_raw(old));
            image
        };
        let written = |image: &Image, pid| {
            let mut entries: Vec<CString> = image.environment().into_iter().map(CStr::to_owned).collect();
            for mut own in image.own_pids() {
                // SAFETY: a string that ends with a zero byte and lives as long as `own`.
                entries[own.place] = unsafe { CStr::from_ptr(own.write(Pid::from_raw(pid))) }.to_owned();
            }
            entries.into_iter().map(|entry| entry.into_string().unwrap()).collect::<Vec<_>>()
        };
        let own = image(4711);
        for pid in [7, 4_194_304, pid_t::MAX] {
            let (listens, watches) = (format!("LISTEN_PID={pid}"), format!("WATCHDOG_PID={pid}"));
            let expected = [
                &listens,
                "LISTEN_FDS=1",
                &watches,
                "LISTEN_PID=471",
                "X_LISTEN_PID=4711",
                "LISTEN_PID",
                &listens,
            ];
            assert_eq!(written(&own, pid), expected);
        }
        let room = own.environment()[0].to_bytes().len();
        assert!(room >= "LISTEN_PID=4194304".len(), "counted before the pid is known");
        assert_eq!(written(&image(1), 7), entries, "another process is meant");
    }

    #[test]
    fn a_string_with_a_zero_byte_is_refused() {
        assert!(Image::new(&"a\0b".into(), &[]).is_err());
        assert!(Image::new(&"a".into(), &["b\0".into()]).is_err());
    }
}
