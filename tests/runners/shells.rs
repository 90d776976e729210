//! zklock in scripts of dash, zsh, ksh and fish. What is typed at their prompt is in `terminal::keys`.

use crate::support::{Case, Shell};

#[test]
fn a_script_sees_codes_and_passes_input() {
    let case = Case::new("shell-scripts");
    for shell in Shell::installed() {
        let status = if shell == "fish" { "$status" } else { "$?" };
        let lock = format!("{} -z {} {}", env!("CARGO_BIN_EXE_zklock"), case.hosts(), case.path());
        let script = format!(
            "{lock} -- sh -c 'exit 3'; echo {status}; echo in | {lock} -- cat | tr a-z A-Z; \
             {lock} -- sh -c 'exit 4' & wait; {lock} -c 'kill -TERM $$'; echo {status}"
        );
        let run = case
            .lock(&[], ["false"])
            .env("SCRIPT", &script)
            .prelude(&format!("exec {shell} -c \"$SCRIPT\""))
            .run();
        // ksh adds 256 to the number of a signal.
        let killed = if shell == "ksh" { 256 + 15 } else { 128 + 15 };
        assert_eq!(run.stdout, format!("3\nIN\n{killed}\n"), "{shell}: {run}");
        assert_eq!(case.contenders(), [""; 0], "{shell}");
    }
}
