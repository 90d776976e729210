//! Program, arguments and environment for an exec, ready for the kernel. Everything is allocated here, because nothing
//! may be allocated between fork and exec.

use std::ffi::{CStr, CString, NulError, OsString};
use std::os::unix::ffi::OsStringExt;

use super::start::environment;

/// A program with its arguments and its environment.
#[derive(Debug)]
pub struct Image {
    arguments: Vec<CString>,
    environment: Vec<CString>,
}

impl Image {
    /// The program with the environment that zklock was started with. It is looked up in `PATH` unless it contains a slash.
    pub fn new(program: &OsString, arguments: &[OsString]) -> Result<Self, NulError> {
        let words = [program].into_iter().chain(arguments);
        let arguments = words.map(|word| CString::new(word.clone().into_vec())).collect::<Result<_, _>>()?;
        Ok(Self { arguments, environment: environment().collect() })
    }

    /// Adds these variables to the environment, in place of those of the same name.
    pub fn add(&mut self, added: &[(String, String)]) -> Result<(), NulError> {
        let is_named = |kept: &CStr, name: &str| {
            kept.to_bytes().strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
        };
        self.environment.retain(|kept| !added.iter().any(|(name, _)| is_named(kept, name)));
        for (name, value) in added {
            self.environment.push(CString::new(format!("{name}={value}"))?);
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
    pub fn environment(&self) -> &[CString] {
        &self.environment
    }
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
            let all = image.environment().iter().filter_map(|variable| variable.to_str().ok());
            all.filter(|variable| variable.starts_with(name)).collect()
        };
        assert_ne!(inherited, "/added");
        assert_eq!(named("PATH="), ["PATH=/added"]);
        assert_eq!(named("ZKLOCK_NEW="), ["ZKLOCK_NEW=a=b"]);
        assert_eq!(image.environment().len(), env::vars_os().count() + 1);
    }

    #[test]
    fn a_string_with_a_zero_byte_is_refused() {
        assert!(Image::new(&"a\0b".into(), &[]).is_err());
        assert!(Image::new(&"a".into(), &["b\0".into()]).is_err());
    }
}
