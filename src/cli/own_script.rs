//! Refuses a script whose first line starts zklock with that script as the command, without end.
//!
//! For `#!/usr/bin/zklock /locks/a`, the system runs `/usr/bin/zklock /locks/a SCRIPT`, and `env -S` does the same. A line
//! that names a command too, as `#!/usr/bin/env -S zklock /locks/a -- /bin/sh` does, is fine.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use zklock_core::text::escaped;

use super::InvocationError;
use crate::files::open_to_read;
use crate::plan::Invocation;

/// As much of a script's first line as the system reads.
const LONGEST_LINE: u64 = 256;

/// `words` are zklock's own, of which the first is the program.
///
/// # Errors
/// If they are the first line of the script that is the command.
pub fn refuse_own_script(words: &[OsString], invocation: &Invocation) -> Result<(), InvocationError> {
    let command = words.len().checked_sub(1 + invocation.arguments.len());
    let before = separated(command.and_then(|command| words.get(..command)).unwrap_or_default());
    match first_line(&invocation.program) {
        Some(line) if is_made_of(&line, &before) => {
            let mut instead: Vec<_> = before.iter().skip(1).map(|word| escaped(word)).collect();
            if !before.contains(&&b"--"[..]) {
                instead.extend(["--", "/bin/sh"].map(str::to_owned));
            }
            let script = escaped(invocation.program.as_encoded_bytes());
            Err(InvocationError::OwnScript(script, instead.join(" ")))
        }
        _ => Ok(()),
    }
}

/// What follows the `#!` of a script.
fn first_line(program: &OsStr) -> Option<Vec<u8>> {
    // A script's path is passed, which has a slash. A name without one would be looked up in PATH.
    let path = program.as_bytes().contains(&b'/').then(|| Path::new(program))?;
    let (file, metadata) = open_to_read(path).ok()?;
    let mut start = Vec::new();
    // A pipe's content is the command's.
    metadata.is_file().then_some(file)?.take(LONGEST_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    Some(line.to_vec())
}

/// The system passes all that follows the interpreter as one word.
fn separated(words: &[OsString]) -> Vec<&[u8]> {
    words.iter().flat_map(|word| split(word.as_bytes())).collect()
}

fn split(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Whether a first line ends with these words.
fn is_made_of(line: &[u8], words: &[&[u8]]) -> bool {
    !words.is_empty() && split(line).collect::<Vec<_>>().ends_with(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_made_of(line: &str, words: &[&str]) -> bool {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        super::is_made_of(line.as_bytes(), &separated(&words))
    }

    #[test]
    fn a_line_that_names_no_command_is_recognised() {
        assert!(is_made_of("/usr/bin/zklock /locks/a", &["/usr/bin/zklock", "/locks/a"]));
        assert!(is_made_of(" /usr/bin/zklock  -n /locks/a ", &["/usr/bin/zklock", "-n /locks/a "]));
        assert!(is_made_of("/usr/bin/zklock /locks/a -- sh", &["/usr/bin/zklock", "/locks/a -- sh"]));
        assert!(is_made_of("/usr/bin/env -S zklock -n /locks/a", &["zklock", "-n", "/locks/a"]));
    }

    #[test]
    fn other_lines_are_not() {
        // With a command in the line, the script is an argument, and the command no script.
        assert!(!is_made_of("/usr/bin/env -S zklock /locks/a -- /bin/sh", &["zklock", "/locks/a", "--"]));
        assert!(!is_made_of("/usr/bin/zklock /locks/b", &["/usr/bin/zklock", "/locks/a"]));
        assert!(!is_made_of("/bin/sh", &["zklock", "/locks/a"]));
        assert!(!is_made_of("", &["zklock", "/locks/a"]));
        assert!(!is_made_of("", &[]));
    }
}
