//! Whether the name of a program is a line for a shell: zklock starts no shell unless `-c` asks for one.

/// Commands and keywords of the shell itself. If a program of that name exists, zklock runs the program.
const OF_THE_SHELL: [&[u8]; 35] = [
    b".",
    b":",
    b"!",
    b"(",
    b"{",
    b"[[",
    b"alias",
    b"bg",
    b"case",
    b"cd",
    b"eval",
    b"exec",
    b"exit",
    b"export",
    b"fg",
    b"for",
    b"function",
    b"if",
    b"jobs",
    b"local",
    b"read",
    b"readonly",
    b"return",
    b"set",
    b"shift",
    b"source",
    b"time",
    b"trap",
    b"type",
    b"ulimit",
    b"umask",
    b"unset",
    b"until",
    b"wait",
    b"while",
];

/// Whether only a shell can run it: a whole line, an assignment, or a command of the shell itself.
pub fn is_for_a_shell(name: &[u8]) -> bool {
    let is_variable = |name: &[u8]| {
        name.first().is_some_and(|b| !b.is_ascii_digit())
            && name.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let assigned = name.split(|&b| b == b'=').next().filter(|variable| variable.len() < name.len());
    OF_THE_SHELL.contains(&name)
        || name.starts_with(b"~")
        || name.iter().any(|b| b.is_ascii_whitespace() || b"|&;<>()$`*\"'".contains(b))
        || assigned.is_some_and(is_variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_the_shell_is_told_from_a_name() {
        for line in [
            "exit",
            "type",
            "wait",
            "ls -l",
            "/bin/ls -l",
            "VAR=1",
            "VAR=1 cmd",
            "cd",
            ".",
            "while",
            "{",
            "a|b",
            "a;b",
            "a&&b",
            ">log",
            "$HOME/x",
            "~/x",
            "(a)",
            "`a`",
            "*.sh",
            "'ls'",
        ] {
            assert!(is_for_a_shell(line.as_bytes()), "{line}");
        }
        for name in ["ls", "/bin/ls", "./a.sh", "[", "g++", "1=x", "x-y=z", "-c", "a.b_c@d:e,f%"] {
            assert!(!is_for_a_shell(name.as_bytes()), "{name}");
        }
    }
}
