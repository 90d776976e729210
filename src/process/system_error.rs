//! Errors of the system in words: without their number, and with the limit that is reached.

use std::io;

use nix::errno::Errno;

/// "Permission denied" without "(os error 13)". A limit that is reached is named.
pub fn describe(error: &io::Error) -> String {
    let wrapped = || error.get_ref()?.downcast_ref().copied();
    match error.raw_os_error().map(Errno::from_raw).or_else(wrapped) {
        Some(number) => words(number),
        None => error.to_string(),
    }
}

/// An error and its causes, in one line.
pub fn explain(error: &anyhow::Error) -> String {
    let text = |cause: &(dyn std::error::Error + 'static)| match (cause.downcast_ref(), cause.downcast_ref())
    {
        (Some(error), _) => describe(error),
        (None, Some(&number)) => words(number),
        (None, None) => cause.to_string(),
    };
    error.chain().map(text).collect::<Vec<_>>().join(": ")
}

fn words(error: Errno) -> String {
    let limit = match error {
        Errno::EAGAIN => {
            "the limit of processes, threads or memory is reached; raise 'ulimit -u', 'ulimit -v', TasksMax or pids.max"
        }
        Errno::ENOMEM => {
            "there isn't enough memory; raise 'ulimit -v', 'ulimit -d' or the limit of the control group"
        }
        Errno::EMFILE => "the limit of open files is reached; raise 'ulimit -n' or LimitNOFILE",
        Errno::ENFILE => "the limit of open files of this host is reached; raise fs.file-max",
        Errno::ENOSYS => "this kernel lacks a system call, or a filter (seccomp) forbids it",
        error => return error.desc().to_owned(),
    };
    limit.to_owned()
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn an_error_has_no_number_and_names_the_limit() {
        let error = |number: Errno| Err::<(), _>(io::Error::from(number)).context("can't do it");
        let text = |number| explain(&error(number).unwrap_err());
        assert_eq!(text(Errno::EACCES), "can't do it: Permission denied");
        assert!(text(Errno::EAGAIN).starts_with("can't do it: the limit of processes, threads or memory"));
        let errno = Err::<(), _>(Errno::EMFILE).context("can't").unwrap_err();
        assert!(explain(&errno).starts_with("can't: the limit of open files is reached"));
        assert_eq!(describe(&io::Error::other(Errno::EACCES)), "Permission denied");
        assert_eq!(explain(&anyhow::anyhow!("plain")), "plain");
    }
}
