//! Every mistake on the command line is refused at once, with the remedy. No server is asked and nothing is created.
//!
//! A row is one mistake. What a parser alone finds has its unit tests; here is one row for each way in which it is told.

use crate::support::{Case, Proxy, Zklock, shared};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

/// The words of the call, zklock's exit code, what it says (`<LOCK>` stands for the lock), and the words that then work; none if
/// there is nothing to try.
type Row = (&'static str, i32, &'static str, &'static str);

const TIME: &str = "not a time: write 90, 1.5, 500ms, 30s, 10m, 2h or 1d";
const NOTHING: &str = "no command to run under <LOCK>; write zklock <LOCK> -- COMMAND";
const EMPTY: &str = "the command to run under <LOCK> is an empty word";
const RAN: &str = "PATH echo ran";

/// `PATH` stands for a lock of the case, `~` for a blank inside a word, and `''` for an empty word. `{TEXT}` is a configuration
/// file with this text, `<TEXT>` the name of a file with it, which `{}` stands for in what zklock says, and `ZKLOCK_NAME=VALUE`
/// a variable.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Nothing to run, or no path.
    ("", 125, "no lock path; write zklock PATH -- COMMAND", "PATH -- echo ran"),
    ("PATH", 125, NOTHING, "PATH -- echo ran"),
    ("PATH --", 125, NOTHING, RAN),
    ("PATH PATH-b --", 125, NOTHING, "PATH PATH-b -- echo ran"),
    ("PATH -c", 125, NOTHING, "PATH -c echo~ran"),
    ("PATH ''", 125, EMPTY, RAN),
    ("PATH -c ''", 125, EMPTY, "PATH -c echo~ran"),
    ("PATH -c ~~", 125, EMPTY, ""),
    ("PATH~$b", 125, "no command to run under <LOCK> $b; write zklock \"<LOCK> \\$b\" -- COMMAND", "PATH~$b -- echo ran"),
    ("job -- echo x", 125, "'job' can't be a lock: a lock path begins with '/'", RAN),
    ("stauts", 125, "'stauts' can't be a lock: a lock path begins with '/'", "status"),
    ("./job.sh", 125, "'./job.sh' can't be a lock: a lock path begins with '/'", ""),
    ("'' echo x", 125, "'' can't be a lock: a lock path begins with '/'", ""),
    ("version", 125, "'zklock --help' lists the subcommands", "--version"),
    // Paths.
    ("locks/a true", 125, "a lock path begins with '/'", RAN),
    ("/ true", 125, "root", RAN),
    ("// true", 125, "//", RAN),
    ("//a true", 125, "//", RAN),
    ("/a//b true", 125, "//", RAN),
    ("PATH/ true", 125, "a path doesn't end with '/'", RAN),
    ("/. true", 125, "'.'", RAN),
    ("PATH/../b true", 125, "write the path out in full", "PATH-b true"),
    ("/a/./b true", 125, "'.'", RAN),
    ("/a\nb true", 125, "U+000A", RAN),
    ("/a\u{7f} true", 125, "U+007F", RAN),
    ("/a\u{e000} true", 125, "U+E000", RAN),
    // Java's UTF-16 encodes this character as two surrogates, which ZooKeeper refuses.
    ("/a\u{1f512} true", 125, "U+1F512", RAN),
    ("/zookeeper true", 125, "belongs to ZooKeeper", RAN),
    ("/zookeeper/quota true", 125, "put locks elsewhere", RAN),
    ("PATH /bad/ -- echo ran", 125, "'/bad/'", "PATH /bad -- echo ran"),
    ("-c echo~ran PATH /bad/", 125, "'/bad/'", "-c echo~ran PATH /bad"),
    ("/bad/ -c echo~ran", 125, "'/bad/'", ""),
    // The command.
    ("PATH no-such-program", 127, "<LOCK>: 'no-such-program' was not found: check its name, and the directories in the variable PATH\n", RAN),
    ("-q PATH no-such-program", 127, "<LOCK>: 'no-such-program' was not found", ""),
    ("-n -E 0 PATH no-such-program", 127, "<LOCK>: 'no-such-program' was not found", ""),
    ("PATH -- /no/such/program", 127, "<LOCK>: '/no/such/program' was not found", ""),
    ("PATH -- /bin/sh/x", 127, "<LOCK>: '/bin/sh/x' was not found", ""),
    ("PATH /no/such/program", 127, "for several locks put -- before the command", ""),
    ("PATH --help", 125, "--help", ""),
    ("PATH /bin/sh -- true", 125, "/bin/sh", ""),
    ("PATH - true", 125, "'-'", ""),
    ("PATH ./no-such-program", 127, "check its name, and the directory you are in", RAN),
    ("PATH -- -c true", 127, "'-c'", "PATH -c true"),
    ("PATH echo~ran", 127, "use -c for a shell line, as in zklock PATH -c '", "PATH -c echo~ran"),
    ("PATH -- ls~-l", 127, "use -c for a shell line", ""),
    ("PATH -- /bin/ls~-l", 127, "use -c for a shell line", ""),
    ("PATH -- VAR=1~env", 127, "use -c for a shell line", ""),
    ("PATH -n true", 125, "options go before the path", "-n PATH echo ran"),
    ("PATH PATH-b echo ran", 127, "put -- before the command", "PATH PATH-b -- echo ran"),
    ("PATH -c echo ran", 125, "put the whole command into the string", "PATH -c echo~ran"),
    ("-c true PATH rm", 125, "'rm'", "-c true PATH"),
    ("-c true PATH -- rm", 125, "'rm'", ""),
    ("PATH -c true rm", 125, "'rm'", ""),
    // Options that don't exist, also those of other programs.
    ("--nonsense PATH true", 125, "unexpected argument '--nonsense' found\n", RAN),
    ("-Z PATH true", 125, "-Z", RAN),
    ("--tiemout 3 PATH true", 125, "; a similar argument exists: '--timeout'\n", "--timeout 3 PATH true"),
    ("status --jsno", 125, "; a similar argument exists: '--json'\n", "status --json"),
    ("--json status", 125, "; 'status --json' exists\n", "status --json"),
    ("--on-lost terminate PATH true", 125, "leave it out: the command is always stopped", RAN),
    ("--ttl 30 PATH true", 125, "--session-timeout", "--session-timeout 30 PATH echo ran"),
    ("-try=10s PATH true", 125, "-n or -w SECS", "-w 10s PATH echo ran"),
    // Values. As getopt(3) has it, the word behind such an option is its value, whatever it looks like.
    ("-w soon PATH true", 125, "'soon'", "-w 90 PATH true"),
    ("-w -1 PATH true", 125, TIME, "-w 1.5 PATH true"),
    ("-w -5 PATH true", 125, "invalid value '-5' for '--timeout", "-w 500ms PATH true"),
    ("-w -10s PATH true", 125, TIME, "-w 30s PATH true"),
    ("--timeout -10s PATH true", 125, TIME, "--timeout 10m PATH true"),
    ("-w -n PATH true", 125, TIME, "-w 2h -n PATH true"),
    ("--connect-timeout 30~parsecs PATH true", 125, TIME, "--connect-timeout 1d PATH true"),
    ("--connect-timeout -1m PATH true", 125, TIME, ""),
    ("--connect-timeout 99999999999 PATH true", 125, "longer than 30 years, the longest time", ""),
    ("--session-timeout 0 PATH true", 125, "'0'", ""),
    ("--session-timeout -500ms PATH true", 125, TIME, ""),
    ("--kill-after inf PATH true", 125, TIME, ""),
    ("--kill-after -5s PATH true", 125, TIME, "--kill-after 0 PATH true"),
    ("--once-per 0 PATH true", 125, "--once-per", ""),
    ("--once-per soon PATH true", 125, "--once-per", ""),
    ("--once-per '' PATH true", 125, "not a time: write", ""),
    ("--once-per -1d PATH true", 125, TIME, ""),
    ("--progress -1h PATH true", 125, TIME, ""),
    ("-E -1 PATH true", 125, "invalid value '-1' for '--conflict-exit-code", "-E 0 PATH true"),
    ("--connect-timeout 0 PATH true", 125, "must be 1ms or longer", "--connect-timeout 9d PATH true"),
    ("-E -1x PATH true", 125, "an exit code is a number from 0 to 255", "-E 255 PATH true"),
    ("-n -E 256 PATH true", 125, "invalid value '256' for '--conflict-exit-code", ""),
    ("-n -E600 PATH true", 125, "invalid value '600' for '--conflict-exit-code", ""),
    ("-n -E-1 PATH true", 125, "invalid value '-1' for '--conflict-exit-code", ""),
    ("-n -Ex PATH true", 125, "invalid value 'x' for '--conflict-exit-code", ""),
    ("-n -E '' PATH true", 125, "invalid value '' for '--conflict-exit-code", ""),
    ("-q -n --signal x PATH true", 125, "'x' for '--signal", ""),
    ("--slots 0 PATH true", 125, "'0' for '--slots <N>': the number of slots is from 1 to 4294967295", "--slots 1 PATH true"),
    ("--slots -1 PATH true", 125, "invalid value '-1' for '--slots", "--slots 4294967295 PATH-most true"),
    ("--slots -3s PATH true", 125, "the number of slots is from 1", ""),
    ("--slots many PATH true", 125, "'many' for '--slots", ""),
    ("--signal NOPE PATH true", 125, "'NOPE'", "--signal INT PATH true"),
    ("--signal no PATH true", 125, "write a name such as TERM, INT or RTMIN+3, or a number", "--signal RTMIN+3 PATH true"),
    ("--signal RTMIN+31 PATH true", 125, "'RTMIN+31'", "--signal RTMIN+30 PATH true"),
    ("--signal -9 PATH true", 125, "invalid value '-9' for '--signal", "--signal 9 PATH true"),
    ("--signal -TERM PATH true", 125, "not a signal", "--signal TERM PATH true"),
    ("--naming kazo PATH true", 125, "; a similar value exists: 'kazoo'\n", "--naming kazoo PATH-kazoo true"),
    ("--naming -x PATH true", 125, "[possible values: curator, curator-rw, kazoo]", "--naming curator-rw PATH-rw true"),
    ("--naming curatr PATH true", 125, "; a similar value exists: 'curator'\n", "--naming curator PATH true"),
    ("--log-format --json PATH true", 125, "[possible values: text, json]", "--log-format json PATH true"),
    ("--log-format xml PATH true", 125, "[possible values: text, json]", "--log-format text PATH true"),
    ("-z -n PATH true", 125, "'-n' isn't a server", ""),
    ("-z a:2181~b:2181 PATH true", 125, "'a:2181 b:2181' isn't a server", ""),
    ("-z zk1/app,zk2/app PATH true", 125, "the chroot stands once, after the last server", ""),
    ("-z zk1/a//b PATH true", 125, "'/a//b'", ""),
    ("--acl everybody PATH true", 125, "SCHEME:ID:PERMISSIONS, as in world:anyone:cdrwa or auth::cdrwa,world:anyone:r\n", "--acl world:anyone:cdrwa PATH true"),
    ("--acl world:me:cdrwa PATH true", 125, "the only id of that scheme is world:anyone\n", ""),
    ("--acl world:anyone:r PATH true", 125, "READ and CREATE are the letters r and c, as in world:anyone:cr\n", "--acl world:anyone:cr PATH true"),
    ("--acl world:anyone:all PATH true", 125, "no permissions", ""),
    ("--acl digest:alice:wonder:cdrwa PATH true", 125, "USER:HASH", ""),
    ("--acl world:anyone:cd PATH true", 125, "no one READ", ""),
    ("--acl world:anyone:rw PATH true", 125, "no one CREATE", ""),
    ("--acl creator PATH true", 125, "--acl creator gives the nodes to their creator, which needs credentials: add --auth-file FILE, ZKLOCK_AUTH or --tls-cert FILE, or use --acl open\n", ""),
    ("--acl auth::cdrw PATH true", 125, "--acl auth::cdrw gives the nodes", ""),
    ("--acl auth::cdrwa,world:anyone:r PATH true", 125, "--auth-file", "ZKLOCK_AUTH=digest:USER:PASSWORD --acl auth::cdrwa,world:anyone:r PATH-shared true"),
    ("--acl -x PATH true", 125, "'-x' isn't SCHEME:ID:PERMISSIONS", "--acl open PATH true"),
    ("--config -x PATH true", 125, "can't read -x: No such file or directory\n", "--config /dev/null PATH true"),
    ("--auth-file -x PATH true", 125, "--auth-file: can't read -x: No such file or directory\n", ""),
    ("--tls-ca -x PATH true", 125, "/-x: No such file or directory\n", ""),
    // Files and variables, even if the command line overrides them.
    ("{sesion_timeout=5} PATH true", 125, "{}: unknown key 'sesion_timeout'; known are zookeeper, ", "{session_timeout=5} PATH true"),
    ("{on_lost='continue'} PATH true", 125, "{}: remove 'on_lost': the command is always stopped", "{} PATH true"),
    ("{once-per=60} PATH true", 125, "{}: unknown key 'once-per'; known are ", ""),
    ("{kill-after=3\nkill_after=4} PATH true", 125, "{}: kill-after is there twice", ""),
    ("{kill-after='soon'} PATH true", 125, "{}: kill-after: invalid value 'soon' for '--kill-after <SECS>': not a time: write 90", "{kill-after='1m'} PATH true"),
    ("{kill-after='soon'} --kill-after 1 PATH true", 125, "{}: kill-after: invalid value 'soon' for ", "{kill-after=1.5} PATH true"),
    ("{kill-after='soon'} status PATH", 125, "{}: kill-after: invalid value 'soon' for ", "{kill-after='soon'} --help"),
    ("{kill-after='soon'} status --show-config", 125, "{}: kill-after: invalid value 'soon' for ", "{kill-after='soon'} --version"),
    ("{conflict-exit-code=256} PATH true", 125, "{}: conflict-exit-code: invalid value '256' for ", ""),
    ("{signal='NOPE'} PATH true", 125, "{}: signal: invalid value 'NOPE' for ", ""),
    ("{naming='curatr'} PATH true", 125, "{}: naming: invalid value 'curatr' for '--naming <FAMILY>' [possible values: curator, ", ""),
    ("{quiet='yes'} PATH true", 125, "{}: quiet: unexpected value 'yes' for '--quiet' found", ""),
    ("{verbose='much'} PATH true", 125, "{}: verbose: unexpected value 'much' for ", ""),
    ("{zookeeper='a;b'} PATH true", 125, "{}: zookeeper: invalid value 'a;b' for '--zookeeper <HOSTS>': 'a;b' isn't a server", ""),
    ("{zookeeper='zk://ci:s3cret@zk1:2181'} PATH true", 125, "{}: zookeeper: invalid value 'zk://ci:***@zk1:2181' for ", ""),
    ("{zookeeper=['a',~1]} PATH true", 125, "{}: zookeeper: must be a text, a number, ", ""),
    ("{auth-file=\"\"} PATH true", 125, "{}: auth-file: a value is required for '--auth-file <FILE>'", ""),
    ("{session-timeout=99999999999999999999} PATH true", 125, "{}: line 1: ", ""),
    ("{kill-after=2\nzookeeper=zk1:2181\n} PATH true", 125, "{}: line 2: string values must be quoted", ""),
    ("ZKLOCK_CONFIG=/no/such PATH true", 125, "zklock: ZKLOCK_CONFIG: can't read /no/such: No such file", "ZKLOCK_CONFIG=/dev/null PATH true"),
    ("ZKLOCK_CONFIG=/no/such status", 125, "zklock: ZKLOCK_CONFIG: can't read /no/such: No such file", "ZKLOCK_CONFIG= status PATH"),
    ("ZKLOCK_ZOOKEEPER=a;b PATH true", 125, "zklock: ZKLOCK_ZOOKEEPER: zookeeper: invalid value 'a;b' for '--zookeeper <HOSTS>': 'a;b' isn't a server", "ZKLOCK_ZOOKEEPER=a;b -h"),
    ("ZKLOCK_ZOOKEEPER=a;b status PATH", 125, "zklock: ZKLOCK_ZOOKEEPER: zookeeper: invalid value 'a;b' for ", "ZKLOCK_ZOOKEEPER=a;b completions bash"),
    ("ZKLOCK_ZOOKEEPER=a;b -z c;d PATH true", 125, "zklock: invalid value 'c;d' for ", ""),
    ("ZKLOCK_ZOOKEEPER=ci:s3cret@zk1 PATH true", 125, "'ci:***@zk1' isn't a server: write HOST:PORT[,HOST:PORT...][/CHROOT]; credentials go into a file for --auth-file", ""),
    // Credentials, and passwords in the wrong place.
    ("ZKLOCK_AUTH=#~one\ndigest:ci:s3cret\ns3cret PATH true", 125, "ZKLOCK_AUTH: line 3: it must be SCHEME:CREDENTIALS, as in digest:USER:PASSWORD", "ZKLOCK_AUTH=digest:USER:PASSWORD PATH-digest true"),
    ("ZKLOCK_AUTH=#~one\ndigest:ci:s3cret\ndigest:s3cret PATH true", 125, "ZKLOCK_AUTH: line 3: it must be digest:USER:PASSWORD", ""),
    ("ZKLOCK_AUTH=foo: PATH true", 125, "there are no credentials behind 'foo:'", ""),
    ("ZKLOCK_AUTH=world:anyone PATH true", 125, "everybody has it", ""),
    ("ZKLOCK_AUTH=~ PATH true", 125, "ZKLOCK_AUTH holds no credentials: write lines such as digest:USER:PASSWORD", "ZKLOCK_AUTH= PATH true"),
    ("ZKLOCK_AUTH=\n PATH true", 125, "ZKLOCK_AUTH holds no credentials", ""),
    ("ZKLOCK_AUTH=#~later PATH true", 125, "ZKLOCK_AUTH holds no credentials", ""),
    ("--auth-file <#~one\ndigest:ci:s3cret\ns3cret> PATH true", 125, "{}: line 3: it must be SCHEME:CREDENTIALS", "--auth-file <#~one\ndigest:USER:PASSWORD> PATH-digest true"),
    ("--auth-file <#~one\ndigest:ci:s3cret\nx509:CN=a> PATH true", 125, "{}: line 3: 'x509' takes no credentials: the server reads them from the certificate of --tls-cert", ""),
    ("--auth-file <#~later\n\n> PATH true", 125, "holds no credentials", ""),
    ("--auth-file digest:ci:s3cret PATH true", 125, "--auth-file: can't read digest:ci:***", ""),
    ("--auth digest:ci:s3cret PATH true", 125, "; a similar argument exists: '--auth-file'\n", ""),
    ("-z zk://ci:s3cret@zk1:2181 PATH true", 125, "credentials go into a file for --auth-file, or into ZKLOCK_AUTH", ""),
    ("-z ci:s3cret@zk1,ci:s3cret@zk2/app PATH true", 125, "'ci:***@zk2/app' isn't a server", ""),
    ("status -z ci:s3/s3cret@zk1", 125, "'ci:***@zk1' isn't a server", ""),
    ("zk://ci:s3cret@zk1/locks/a true", 125, "'zk://ci:***@zk1/locks/a' can't be a lock", ""),
    ("status ci:s3cret@zk1/locks/a", 125, "invalid value 'ci:***@zk1/locks/a' for ", ""),
    ("--acl world:anyone:r,digest:ci:s3cret PATH true", 125, "never the password. The hash: ", ""),
    ("--acl digest:ci:s3cret:cdrwa PATH true", 125, "never the password. The hash: ", ""),
    // Options that don't go together.
    ("--slots 2 -s PATH true", 125, "--slots", ""),
    ("-s --slots 2 PATH true", 125, "--slots", ""),
    ("--slots 2 --naming curator-rw PATH true", 125, "works with the default --naming only", ""),
    ("--slots 2 --naming kazoo PATH true", 125, "works with the default --naming only", "--slots 2 PATH-slots echo ran"),
    ("--once-per 1ms PATH PATH-b -- true", 125, "goes with one lock", "--once-per 1ms PATH -- echo ran"),
    ("--once-per 1h -c true PATH PATH-b", 125, "goes with one lock", ""),
    ("--once-per 1h -s PATH true", 125, "--shared", ""),
    ("--once-per 1h --slots 2 PATH true", 125, "--slots", ""),
    ("--once-per 1w PATH true", 125, TIME, ""),
    // Subcommands.
    ("status -r", 125, "unexpected argument '-r' found\n", "status"),
    ("status -w", 125, "unexpected argument '-w' found\n", "status"),
    ("status l", 125, "invalid value 'l' for '[PATH]...'", "status PATH"),
    ("status /", 125, "leave the path out: 'zklock status' shows every lock", "status"),
    ("status --recursive /", 125, "leave the path out: 'zklock status' shows every lock", ""),
    ("status job", 125, "a lock path begins with '/'", ""),
    ("status PATH/", 125, "a path doesn't end with '/'", ""),
    ("status /zookeeper/quota", 125, "belongs to ZooKeeper", ""),
    // A script must not take an unknown state for a free lock.
    ("status --exit-code --watch PATH", 125, "cannot be used with", ""),
    ("status --openmetrics --json", 125, "cannot be used with", ""),
    ("status --openmetrics --watch", 125, "cannot be used with", ""),
    ("status --openmetrics --show-config", 125, "cannot be used with", ""),
    ("status -z", 125, "a value is required for '--zookeeper <HOSTS>'", ""),
    ("status --connect-timeout -5s", 125, TIME, "status --connect-timeout 5s"),
    ("revoke", 125, "the following required arguments were not provided: <PATH>\n", ""),
    ("revoke --node", 125, "a value is required for '--node <NODE>'", ""),
    ("revoke PATH --node", 125, "a value is required for '--node <NODE>'", ""),
    ("revoke PATH --node /", 125, "not the name of a node", ""),
    ("revoke PATH --node x --all", 125, "--all", ""),
    ("revoke PATH PATH", 125, "unexpected argument", ""),
    ("revoke l", 125, "invalid value 'l' for '<PATH>'", ""),
    ("check --session-timeout soon", 125, "invalid value 'soon' for '--session-timeout <SECS>'", ""),
    ("check --session-timeout -5s", 125, TIME, ""),
    // What the parser lets pass.
    ("-v status --watch", 125, "name a path, or add a chroot to the connect string", "status PATH"),
    ("-v check --create-chroot", 125, "has no chroot; add it, as in ", ""),
    ("completions ksh", 125, "invalid value 'ksh' for '<SHELL>'", "completions bash"),
];

/// What ends a mistake behind one of these words.
const HELP: &str = "\nzklock: for more information, try '--help'\n";
const SUBCOMMANDS: [&str; 4] = ["status", "revoke", "check", "completions"];

/// zklock with these words, and the file that they name.
fn call(line: &str, case: &Case) -> (Zklock, String) {
    let file = case.dir().join("file").display().to_string();
    let mut zklock = case.zklock();
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        let word = word.replace("''", "").replace('~', " ").replace("PATH", case.path());
        let within = |begin, end| word.strip_prefix(begin).and_then(|word| word.strip_suffix(end));
        let text = within('{', '}').or_else(|| within('<', '>'));
        if let Some(text) = text {
            fs::write(&file, text).expect("a file");
            fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("a mode");
        }
        zklock = match word.split_once('=') {
            Some((name, value)) if name.starts_with("ZKLOCK_") => zklock.env(name, value),
            _ if word.starts_with('{') => zklock.args(["--config", &file]),
            _ if text.is_some() => zklock.arg(&file),
            _ => zklock.arg(&word),
        };
    }
    (zklock, file)
}

#[test]
fn each_mistake_is_refused_with_the_remedy_before_any_server_is_asked() {
    let proxy = Proxy::to(shared());
    let case = Case::new("refused").through(&proxy.connect_string());
    let wrong = ROWS.iter().filter_map(|(line, code, says, _)| {
        let (zklock, file) = call(line, &case);
        let output = zklock.run();
        let is_told = output.stderr.contains(&says.replace("<LOCK>", case.path()).replace("{}", &file));
        let is_subcommand = SUBCOMMANDS.iter().any(|word| line.starts_with(word));
        let has_help = !is_subcommand || output.stderr.ends_with(HELP);
        let is_one_line = output.stderr.trim_end_matches(HELP).lines().count() == 1;
        let is_secret = !output.stderr.contains("s3cret");
        let is_right = output.code == Some(*code)
            && output.stdout.is_empty()
            && is_told
            && has_help
            && is_one_line
            && is_secret;
        (!is_right).then(|| format!("{line}: {output}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(proxy.accepted(), 0);
}

#[test]
fn what_a_message_says_instead_works() {
    let case = Case::new("instead");
    for (line, .., instead) in ROWS.iter().filter(|(.., instead)| !instead.is_empty()) {
        let output = call(instead, &case).0.run();
        assert_eq!(output.code, Some(0), "{line}: {instead}: {output}");
        assert!(!instead.ends_with("ran") || output.stdout == "ran\n", "{line}: {instead}: {output}");
    }
}
