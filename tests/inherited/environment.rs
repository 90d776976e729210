//! The environment, but for zklock's own variables.

use crate::support::Case;

/// What execve(2) takes and no shell can set: entries without a name, without a value, empty, and of one name.
const ODD: [&str; 6] = ["TWICE=1", "NO_VALUE", "=no name", "", "TWICE=2", "RUST_MIN_STACK=1"];

#[test]
fn the_command_gets_every_entry_of_the_environment_in_order() {
    let case = Case::new("environment");
    let odd = ODD.map(|entry| format!("\"{entry}\"")).join(",");
    // The number of execve is that of x86-64 or of arm64.
    let prelude = format!(
        "exec perl -e 'my @odd = ({odd}); my @all = ((map {{ \"$_=$ENV{{$_}}\" }} keys %ENV), @odd);
         my $number = `uname -m` =~ /aarch64/ ? 221 : 59;
         syscall($number, $ARGV[0], pack(\"p*\", @ARGV, undef), pack(\"p*\", @all, undef));
         die' \"$0\" \"$@\""
    );
    for words in [
        &["cat", "/proc/self/environ"][..],
        &[env!("CARGO_BIN_EXE_zklock"), "-z", case.hosts(), case.path(), "cat", "/proc/self/environ"],
    ] {
        let output = case.lock(&[], words).prelude(&prelude).run();
        let entries = output.assert_code(0).stdout.strip_suffix('\0').expect("entries").split('\0');
        let odd: Vec<&str> = entries.filter(|entry| ODD.contains(entry)).collect();
        assert_eq!(odd, ODD, "{words:?}");
    }
}
