use proptest::prelude::*;

use super::*;

fn parse(words: &[&str], shell: Option<&str>) -> Result<(Vec<String>, Vec<String>), InvocationError> {
    let words: Vec<OsString> = words.iter().map(Into::into).collect();
    let words = super::parse(&words, shell.map(OsStr::new))?;
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let command = std::iter::once(&words.program).chain(&words.arguments).map(text).collect();
    Ok((words.locks.iter().map(ToString::to_string).collect(), command))
}

#[allow(clippy::unnecessary_wraps, reason = "compared with what parse returns")]
fn ok(locks: &[&str], command: &[&str]) -> Result<(Vec<String>, Vec<String>), InvocationError> {
    let own = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    Ok((own(locks), own(command)))
}

#[test]
fn a_command_may_follow_one_lock_or_several_or_be_a_string() {
    assert_eq!(parse(&["/a", "ls", "-l"], None), ok(&["/a"], &["ls", "-l"]));
    assert_eq!(parse(&["/a", "--", "ls", "-l"], None), ok(&["/a"], &["ls", "-l"]));
    assert_eq!(parse(&["/a", "/b", "--", "ls"], None), ok(&["/a", "/b"], &["ls"]));
    assert_eq!(parse(&["/a", "-c", "x | y"], None), ok(&["/a"], &["/bin/sh", "-c", "x | y"]));
    assert_eq!(parse(&["/a", "/b"], Some("x")), ok(&["/a", "/b"], &["/bin/sh", "-c", "x"]));
    assert_eq!(parse(&["/a", "--"], Some("x")), ok(&["/a"], &["/bin/sh", "-c", "x"]));
}

#[test]
fn what_follows_the_lock_belongs_to_the_command() {
    assert_eq!(parse(&["/a", "git", "log", "--", "f"], None), ok(&["/a"], &["git", "log", "--", "f"]));
    assert_eq!(parse(&["/a", "/bin/sh", "-c", "x"], None), ok(&["/a"], &["/bin/sh", "-c", "x"]));
    assert_eq!(parse(&["/a", "--", "/bin/sh", "-c", "x"], None), ok(&["/a"], &["/bin/sh", "-c", "x"]));
    assert_eq!(parse(&["/a", "--", "x", "--", "y"], None), ok(&["/a"], &["x", "--", "y"]));
    assert_eq!(parse(&["/a", "--", "--", "y"], None), ok(&["/a"], &["--", "y"]));
    assert_eq!(parse(&["/a", "--", "-c", "y"], None), ok(&["/a"], &["-c", "y"]));
    assert_eq!(parse(&["/a", "x", "-c", "y"], None), ok(&["/a"], &["x", "-c", "y"]));
}

#[test]
fn each_mistake_has_its_own_reason() {
    assert_eq!(parse(&[], None), Err(InvocationError::NoPath));
    assert_eq!(parse(&["/a"], None), Err(InvocationError::NoCommand("/a".to_owned())));
    assert_eq!(parse(&["/a", "--"], None), Err(InvocationError::NoCommand("/a".to_owned())));
    assert_eq!(parse(&["/a", "-c"], None), Err(InvocationError::NoCommand("/a".to_owned())));
    assert_eq!(parse(&["/a", "--", ""], None), Err(InvocationError::EmptyCommand("/a".to_owned())));
    assert_eq!(parse(&["/a", "-c", " "], None), Err(InvocationError::EmptyCommand("/a".to_owned())));
    assert_eq!(parse(&["/a", "-c", "x", "y"], None), Err(InvocationError::TwoCommands("y".to_owned())));
    assert_eq!(parse(&["/a", "y"], Some("x")), Err(InvocationError::TwoCommands("y".to_owned())));
    assert_eq!(parse(&["/a", "--", "y"], Some("x")), Err(InvocationError::TwoCommands("y".to_owned())));
    assert_eq!(
        parse(&["job", "ls"], None),
        Err(InvocationError::Path("job".to_owned(), PathError::NotAbsolute))
    );
    assert_eq!(
        parse(&["/a", "-n", "ls"], None),
        Err(InvocationError::LateOption("-n".to_owned(), "/a".to_owned()))
    );
    for (words, shell) in [(&["/a", "/bin/sh", "--", "ls"][..], None), (&["/a", "/bin/sh"], Some("ls"))] {
        assert_eq!(parse(words, shell), Err(InvocationError::Program("/bin/sh".to_owned())));
    }
    assert_eq!(parse(&["/bin/sh", "/bin", "--", "ls"], None), ok(&["/bin/sh", "/bin"], &["ls"]));
    for word in ["stauts", "9", "./status", ""] {
        let why = PathError::NotAbsolute;
        assert_eq!(parse(&[word], None), Err(InvocationError::Path(word.to_owned(), why)));
    }
    assert_eq!(
        parse(&["job"], Some("x")),
        Err(InvocationError::Path("job".to_owned(), PathError::NotAbsolute))
    );
    assert_eq!(
        parse(&["/a", "/b/", "--", "x"], None),
        Err(InvocationError::Path("/b/".to_owned(), PathError::TrailingSlash))
    );
}

#[test]
fn other_contenders_see_the_program_and_never_its_arguments() {
    let shown =
        |string: &str| super::parse(&["/a".into()], Some(OsStr::new(string))).map(|words| words.shown);
    assert_eq!(shown("  rsync -a --password x"), Ok("rsync".into()));
    assert_eq!(shown("PASSWORD=x rsync"), Ok("sh".into()));
    assert_eq!(shown("(cd /; ls)"), Ok("sh".into()));
}

proptest! {
    #[test]
    fn every_word_of_the_command_is_kept(command in prop::collection::vec("\\PC{1,5}", 1..6)) {
        let words: Vec<OsString> = ["/a", "--"].into_iter().map(OsString::from)
            .chain(command.iter().map(OsString::from)).collect();
        let parsed = super::parse(&words, None);
        prop_assert!(parsed.is_ok_and(|parsed| std::iter::once(parsed.program).chain(parsed.arguments)
            .eq(command.iter().map(OsString::from))));
    }
}
