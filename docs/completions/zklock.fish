# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_zklock_global_optspecs
    string join \n z/zookeeper= connect-timeout= config= auth-file= acl= tls tls-ca= tls-cert= tls-key= v/verbose q/quiet n/nonblock w/timeout= E/conflict-exit-code= s/shared x/exclusive slots= once-per= naming= c/command= session-timeout= signal= kill-after= on-lost= label= h/help V/version
end

function __fish_zklock_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_zklock_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_zklock_using_subcommand
    set -l cmd (__fish_zklock_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c zklock -n "__fish_zklock_needs_command" -s z -l zookeeper -d 'ZooKeeper servers: host:port,host:port[/chroot]' -r
complete -c zklock -n "__fish_zklock_needs_command" -l connect-timeout -d 'Give up if no server can be reached in this time (with -w, that time counts)' -r
complete -c zklock -n "__fish_zklock_needs_command" -l config -d 'Settings in TOML, instead of /etc/zklock.toml and ~/.config/zklock/config.toml' -r -F
complete -c zklock -n "__fish_zklock_needs_command" -l auth-file -d 'File with lines SCHEME:CREDENTIALS, such as digest:USER:PASSWORD; or put them in ZKLOCK_AUTH' -r -F
complete -c zklock -n "__fish_zklock_needs_command" -l acl -d 'Who may touch the nodes we create: open, creator (the default with credentials) or SCHEME:ID:PERMS,...' -r
complete -c zklock -n "__fish_zklock_needs_command" -l tls-ca -d 'Believe servers whose certificate one of these signed, instead of those that this system trusts' -r -F
complete -c zklock -n "__fish_zklock_needs_command" -l tls-cert -d 'Our own certificate, where servers ask for one; needs --tls-key' -r -F
complete -c zklock -n "__fish_zklock_needs_command" -l tls-key -d 'The private key of --tls-cert' -r -F
complete -c zklock -n "__fish_zklock_needs_command" -s w -l timeout -l wait -d 'Wait at most SECS (90, 1.5, 500ms, 30s, 10m, 2h, 1d) to connect and get the lock, then exit with 124 (125 if not connected); 0 is -n' -r
complete -c zklock -n "__fish_zklock_needs_command" -s E -l conflict-exit-code -d 'Exit code when the lock is busy; 0 makes cron skip quietly' -r
complete -c zklock -n "__fish_zklock_needs_command" -l slots -d 'Let N hold at once; all contenders for a path must say the same N' -r
complete -c zklock -n "__fish_zklock_needs_command" -l once-per -d 'Skip, as if busy, when the command succeeded less than SECS ago, on whatever host' -r
complete -c zklock -n "__fish_zklock_needs_command" -l naming -d 'Whose lock nodes the path is shared with: curator, curator-rw or kazoo' -r -f -a "curator\t''
curator-rw\t''
kazoo\t''"
complete -c zklock -n "__fish_zklock_needs_command" -s c -l command -d 'Run STRING by /bin/sh -c; also right behind the one PATH' -r
complete -c zklock -n "__fish_zklock_needs_command" -l session-timeout -d 'Session timeout to ask of ZooKeeper: after a crash the next contender runs this much later at most' -r
complete -c zklock -n "__fish_zklock_needs_command" -l signal -d 'What a forced stop of the command sends first' -r
complete -c zklock -n "__fish_zklock_needs_command" -l kill-after -d 'Grace between that signal and KILL' -r
complete -c zklock -n "__fish_zklock_needs_command" -l on-lost -d 'What happens to the command when the lock can no longer be trusted: terminate or continue' -r -f -a "terminate\t''
continue\t''"
complete -c zklock -n "__fish_zklock_needs_command" -l label -d 'What others see of this contender; without it, the program\'s name (never its arguments)' -r
complete -c zklock -n "__fish_zklock_needs_command" -l tls -d 'Connect with TLS; the port of a server is 2181 unless you say otherwise'
complete -c zklock -n "__fish_zklock_needs_command" -s v -l verbose -d 'Say each step; twice or more for debugging'
complete -c zklock -n "__fish_zklock_needs_command" -s q -l quiet -d 'Say nothing but errors'
complete -c zklock -n "__fish_zklock_needs_command" -s n -l nonblock -l nb -l nonblocking -d 'Don\'t wait: if the lock is busy, exit with 124'
complete -c zklock -n "__fish_zklock_needs_command" -s s -l shared -d 'Take a read lock: other readers may hold it too, a writer waits for all of them'
complete -c zklock -n "__fish_zklock_needs_command" -s x -l exclusive -d 'Take a write lock: nobody else holds it meanwhile (the default)'
complete -c zklock -n "__fish_zklock_needs_command" -s h -l help -d 'Print help'
complete -c zklock -n "__fish_zklock_needs_command" -s V -l version -d 'Print version'
complete -c zklock -n "__fish_zklock_needs_command" -a "status" -d 'Show who holds the locks and who waits'
complete -c zklock -n "__fish_zklock_needs_command" -a "revoke" -d 'Ask the holder of a lock to give it up'
complete -c zklock -n "__fish_zklock_needs_command" -a "forget" -d 'Delete the --once-per record of a lock, so that the next run is due'
complete -c zklock -n "__fish_zklock_needs_command" -a "completions" -d 'Print the completions for a shell, on stdout'
complete -c zklock -n "__fish_zklock_needs_command" -a "man" -d 'Print the manual page, on stdout'
complete -c zklock -n "__fish_zklock_using_subcommand status" -s z -l zookeeper -d 'ZooKeeper servers: host:port,host:port[/chroot]' -r
complete -c zklock -n "__fish_zklock_using_subcommand status" -l connect-timeout -d 'Give up if no server can be reached in this time (with -w, that time counts)' -r
complete -c zklock -n "__fish_zklock_using_subcommand status" -l config -d 'Settings in TOML, instead of /etc/zklock.toml and ~/.config/zklock/config.toml' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand status" -l auth-file -d 'File with lines SCHEME:CREDENTIALS, such as digest:USER:PASSWORD; or put them in ZKLOCK_AUTH' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand status" -l acl -d 'Who may touch the nodes we create: open, creator (the default with credentials) or SCHEME:ID:PERMS,...' -r
complete -c zklock -n "__fish_zklock_using_subcommand status" -l tls-ca -d 'Believe servers whose certificate one of these signed, instead of those that this system trusts' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand status" -l tls-cert -d 'Our own certificate, where servers ask for one; needs --tls-key' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand status" -l tls-key -d 'The private key of --tls-cert' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand status" -l json -d 'Print JSON for scripts; with --watch one document a line for each change'
complete -c zklock -n "__fish_zklock_using_subcommand status" -l watch -d 'Go on showing what changes, until Ctrl-C'
complete -c zklock -n "__fish_zklock_using_subcommand status" -l recursive -d 'Show every lock at or below each PATH'
complete -c zklock -n "__fish_zklock_using_subcommand status" -l exit-code -d 'Exit with 1 when somebody holds one of the locks, with 0 when nobody does'
complete -c zklock -n "__fish_zklock_using_subcommand status" -l show-config -d 'Show the settings in effect and where each comes from, and ask no server'
complete -c zklock -n "__fish_zklock_using_subcommand status" -l tls -d 'Connect with TLS; the port of a server is 2181 unless you say otherwise'
complete -c zklock -n "__fish_zklock_using_subcommand status" -s v -l verbose -d 'Say each step; twice or more for debugging'
complete -c zklock -n "__fish_zklock_using_subcommand status" -s q -l quiet -d 'Say nothing but errors'
complete -c zklock -n "__fish_zklock_using_subcommand status" -s h -l help -d 'Print help'
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l node -d 'This contender, holding or waiting: its node\'s name, as \'status\' shows it' -r
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -s z -l zookeeper -d 'ZooKeeper servers: host:port,host:port[/chroot]' -r
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l connect-timeout -d 'Give up if no server can be reached in this time (with -w, that time counts)' -r
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l config -d 'Settings in TOML, instead of /etc/zklock.toml and ~/.config/zklock/config.toml' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l auth-file -d 'File with lines SCHEME:CREDENTIALS, such as digest:USER:PASSWORD; or put them in ZKLOCK_AUTH' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l acl -d 'Who may touch the nodes we create: open, creator (the default with credentials) or SCHEME:ID:PERMS,...' -r
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l tls-ca -d 'Believe servers whose certificate one of these signed, instead of those that this system trusts' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l tls-cert -d 'Our own certificate, where servers ask for one; needs --tls-key' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l tls-key -d 'The private key of --tls-cert' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l all -d 'Every contender, holding or waiting'
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l force -d 'Don\'t ask: delete the node. The next contender may start before the command has stopped'
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l tls -d 'Connect with TLS; the port of a server is 2181 unless you say otherwise'
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -s v -l verbose -d 'Say each step; twice or more for debugging'
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -s q -l quiet -d 'Say nothing but errors'
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -s h -l help -d 'Print help'
complete -c zklock -n "__fish_zklock_using_subcommand forget" -s z -l zookeeper -d 'ZooKeeper servers: host:port,host:port[/chroot]' -r
complete -c zklock -n "__fish_zklock_using_subcommand forget" -l connect-timeout -d 'Give up if no server can be reached in this time (with -w, that time counts)' -r
complete -c zklock -n "__fish_zklock_using_subcommand forget" -l config -d 'Settings in TOML, instead of /etc/zklock.toml and ~/.config/zklock/config.toml' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand forget" -l auth-file -d 'File with lines SCHEME:CREDENTIALS, such as digest:USER:PASSWORD; or put them in ZKLOCK_AUTH' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand forget" -l acl -d 'Who may touch the nodes we create: open, creator (the default with credentials) or SCHEME:ID:PERMS,...' -r
complete -c zklock -n "__fish_zklock_using_subcommand forget" -l tls-ca -d 'Believe servers whose certificate one of these signed, instead of those that this system trusts' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand forget" -l tls-cert -d 'Our own certificate, where servers ask for one; needs --tls-key' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand forget" -l tls-key -d 'The private key of --tls-cert' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand forget" -l tls -d 'Connect with TLS; the port of a server is 2181 unless you say otherwise'
complete -c zklock -n "__fish_zklock_using_subcommand forget" -s v -l verbose -d 'Say each step; twice or more for debugging'
complete -c zklock -n "__fish_zklock_using_subcommand forget" -s q -l quiet -d 'Say nothing but errors'
complete -c zklock -n "__fish_zklock_using_subcommand forget" -s h -l help -d 'Print help'
complete -c zklock -n "__fish_zklock_using_subcommand completions" -s z -l zookeeper -d 'ZooKeeper servers: host:port,host:port[/chroot]' -r
complete -c zklock -n "__fish_zklock_using_subcommand completions" -l connect-timeout -d 'Give up if no server can be reached in this time (with -w, that time counts)' -r
complete -c zklock -n "__fish_zklock_using_subcommand completions" -l config -d 'Settings in TOML, instead of /etc/zklock.toml and ~/.config/zklock/config.toml' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand completions" -l auth-file -d 'File with lines SCHEME:CREDENTIALS, such as digest:USER:PASSWORD; or put them in ZKLOCK_AUTH' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand completions" -l acl -d 'Who may touch the nodes we create: open, creator (the default with credentials) or SCHEME:ID:PERMS,...' -r
complete -c zklock -n "__fish_zklock_using_subcommand completions" -l tls-ca -d 'Believe servers whose certificate one of these signed, instead of those that this system trusts' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand completions" -l tls-cert -d 'Our own certificate, where servers ask for one; needs --tls-key' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand completions" -l tls-key -d 'The private key of --tls-cert' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand completions" -l tls -d 'Connect with TLS; the port of a server is 2181 unless you say otherwise'
complete -c zklock -n "__fish_zklock_using_subcommand completions" -s v -l verbose -d 'Say each step; twice or more for debugging'
complete -c zklock -n "__fish_zklock_using_subcommand completions" -s q -l quiet -d 'Say nothing but errors'
complete -c zklock -n "__fish_zklock_using_subcommand completions" -s h -l help -d 'Print help'
complete -c zklock -n "__fish_zklock_using_subcommand man" -s z -l zookeeper -d 'ZooKeeper servers: host:port,host:port[/chroot]' -r
complete -c zklock -n "__fish_zklock_using_subcommand man" -l connect-timeout -d 'Give up if no server can be reached in this time (with -w, that time counts)' -r
complete -c zklock -n "__fish_zklock_using_subcommand man" -l config -d 'Settings in TOML, instead of /etc/zklock.toml and ~/.config/zklock/config.toml' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand man" -l auth-file -d 'File with lines SCHEME:CREDENTIALS, such as digest:USER:PASSWORD; or put them in ZKLOCK_AUTH' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand man" -l acl -d 'Who may touch the nodes we create: open, creator (the default with credentials) or SCHEME:ID:PERMS,...' -r
complete -c zklock -n "__fish_zklock_using_subcommand man" -l tls-ca -d 'Believe servers whose certificate one of these signed, instead of those that this system trusts' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand man" -l tls-cert -d 'Our own certificate, where servers ask for one; needs --tls-key' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand man" -l tls-key -d 'The private key of --tls-cert' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand man" -l tls -d 'Connect with TLS; the port of a server is 2181 unless you say otherwise'
complete -c zklock -n "__fish_zklock_using_subcommand man" -s v -l verbose -d 'Say each step; twice or more for debugging'
complete -c zklock -n "__fish_zklock_using_subcommand man" -s q -l quiet -d 'Say nothing but errors'
complete -c zklock -n "__fish_zklock_using_subcommand man" -s h -l help -d 'Print help'
