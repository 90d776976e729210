# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_zklock_global_optspecs
    string join \n s/shared x/exclusive slots= once-per= label= naming= n/nonblock w/timeout= E/conflict-exit-code= c/command= signal= kill-after= on-lost= session-timeout= z/zookeeper= connect-timeout= config= auth-file= acl= tls tls-ca= tls-cert= tls-key= v/verbose q/quiet h help V/version
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

complete -c zklock -n "__fish_zklock_needs_command" -l slots -d 'Let N commands run at once' -r
complete -c zklock -n "__fish_zklock_needs_command" -l once-per -d 'Skip if the command succeeded less than SECS ago' -r
complete -c zklock -n "__fish_zklock_needs_command" -l label -d 'Show TEXT to other contenders and in \'status\'' -r
complete -c zklock -n "__fish_zklock_needs_command" -l naming -d 'Name lock nodes as other programs on the path do: curator, curator-rw or kazoo' -r -f -a "curator\t''
curator-rw\t''
kazoo\t''"
complete -c zklock -n "__fish_zklock_needs_command" -s w -l timeout -l wait -d 'Wait at most SECS, then exit with 124' -r
complete -c zklock -n "__fish_zklock_needs_command" -s E -l conflict-exit-code -d 'Exit with N if the lock is busy; 0 suits cron' -r
complete -c zklock -n "__fish_zklock_needs_command" -s c -l command -d 'Run STRING by /bin/sh -c' -r
complete -c zklock -n "__fish_zklock_needs_command" -l signal -d 'Begin a forced stop of the command with this signal' -r
complete -c zklock -n "__fish_zklock_needs_command" -l kill-after -d 'Send KILL this long after that signal' -r
complete -c zklock -n "__fish_zklock_needs_command" -l on-lost -d 'When the lock is lost, terminate the command or let it continue' -r -f -a "terminate\t''
continue\t''"
complete -c zklock -n "__fish_zklock_needs_command" -l session-timeout -d 'Ask the servers for this session timeout' -r
complete -c zklock -n "__fish_zklock_needs_command" -s z -l zookeeper -d 'ZooKeeper servers: HOST:PORT,...[/CHROOT]' -r
complete -c zklock -n "__fish_zklock_needs_command" -l connect-timeout -d 'Give up if no server can be reached in this time' -r
complete -c zklock -n "__fish_zklock_needs_command" -l config -d 'Read the settings from this file' -r -F
complete -c zklock -n "__fish_zklock_needs_command" -l auth-file -d 'Read credentials from this file' -r -F
complete -c zklock -n "__fish_zklock_needs_command" -l acl -d 'Who may use the nodes that zklock creates: open, creator or SCHEME:ID:PERMS,...' -r
complete -c zklock -n "__fish_zklock_needs_command" -l tls-ca -d 'Trust the CA certificates in this file instead of the system\'s' -r -F
complete -c zklock -n "__fish_zklock_needs_command" -l tls-cert -d 'The certificate that identifies zklock; needs --tls-key' -r -F
complete -c zklock -n "__fish_zklock_needs_command" -l tls-key -d 'The private key of --tls-cert' -r -F
complete -c zklock -n "__fish_zklock_needs_command" -s s -l shared -d 'Take a read lock, which readers hold together'
complete -c zklock -n "__fish_zklock_needs_command" -s x -l exclusive -d 'Take a write lock, which one contender holds alone (the default)'
complete -c zklock -n "__fish_zklock_needs_command" -s n -l nonblock -l nb -l nonblocking -d 'Don\'t wait: if the lock is busy, exit with 124'
complete -c zklock -n "__fish_zklock_needs_command" -l tls -d 'Connect with TLS'
complete -c zklock -n "__fish_zklock_needs_command" -s v -l verbose -d 'Say each step; twice or more for debugging'
complete -c zklock -n "__fish_zklock_needs_command" -s q -l quiet -d 'Say nothing but errors'
complete -c zklock -n "__fish_zklock_needs_command" -s h -d 'Print the options that are used most'
complete -c zklock -n "__fish_zklock_needs_command" -l help -d 'Print this help'
complete -c zklock -n "__fish_zklock_needs_command" -s V -l version -d 'Print the version'
complete -c zklock -n "__fish_zklock_needs_command" -a "status" -d 'Show who holds the locks and who waits'
complete -c zklock -n "__fish_zklock_needs_command" -a "revoke" -d 'Ask the holder of a lock to give it up'
complete -c zklock -n "__fish_zklock_needs_command" -a "forget" -d 'Delete the --once-per record of a lock, so that the next run is due'
complete -c zklock -n "__fish_zklock_needs_command" -a "completions" -d 'Print the completions for a shell, on stdout'
complete -c zklock -n "__fish_zklock_needs_command" -a "man" -d 'Print the manual page, on stdout'
complete -c zklock -n "__fish_zklock_using_subcommand status" -s z -l zookeeper -d 'ZooKeeper servers: HOST:PORT,...[/CHROOT]' -r
complete -c zklock -n "__fish_zklock_using_subcommand status" -l connect-timeout -d 'Give up if no server can be reached in this time' -r
complete -c zklock -n "__fish_zklock_using_subcommand status" -l config -d 'Read the settings from this file' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand status" -l auth-file -d 'Read credentials from this file' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand status" -l acl -d 'Who may use the nodes that zklock creates: open, creator or SCHEME:ID:PERMS,...' -r
complete -c zklock -n "__fish_zklock_using_subcommand status" -l tls-ca -d 'Trust the CA certificates in this file instead of the system\'s' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand status" -l tls-cert -d 'The certificate that identifies zklock; needs --tls-key' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand status" -l tls-key -d 'The private key of --tls-cert' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand status" -l json -d 'Print JSON for scripts; with --watch one document a line for each change'
complete -c zklock -n "__fish_zklock_using_subcommand status" -l watch -d 'Go on showing what changes, until Ctrl-C'
complete -c zklock -n "__fish_zklock_using_subcommand status" -l recursive -d 'Show every lock at or below each PATH'
complete -c zklock -n "__fish_zklock_using_subcommand status" -l exit-code -d 'Exit with 1 when somebody holds one of the locks, with 0 when nobody does'
complete -c zklock -n "__fish_zklock_using_subcommand status" -l show-config -d 'Show the settings in effect and where each comes from, and ask no server'
complete -c zklock -n "__fish_zklock_using_subcommand status" -l tls -d 'Connect with TLS'
complete -c zklock -n "__fish_zklock_using_subcommand status" -s v -l verbose -d 'Say each step; twice or more for debugging'
complete -c zklock -n "__fish_zklock_using_subcommand status" -s q -l quiet -d 'Say nothing but errors'
complete -c zklock -n "__fish_zklock_using_subcommand status" -s h -l help -d 'Print this verb\'s options; --help adds the common ones'
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l node -d 'This contender, holding or waiting: its node\'s name, as \'status\' shows it' -r
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -s z -l zookeeper -d 'ZooKeeper servers: HOST:PORT,...[/CHROOT]' -r
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l connect-timeout -d 'Give up if no server can be reached in this time' -r
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l config -d 'Read the settings from this file' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l auth-file -d 'Read credentials from this file' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l acl -d 'Who may use the nodes that zklock creates: open, creator or SCHEME:ID:PERMS,...' -r
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l tls-ca -d 'Trust the CA certificates in this file instead of the system\'s' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l tls-cert -d 'The certificate that identifies zklock; needs --tls-key' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l tls-key -d 'The private key of --tls-cert' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l all -d 'Every contender, holding or waiting'
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l force -d 'Don\'t ask: delete the node. The next contender may start before the command has stopped'
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -l tls -d 'Connect with TLS'
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -s v -l verbose -d 'Say each step; twice or more for debugging'
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -s q -l quiet -d 'Say nothing but errors'
complete -c zklock -n "__fish_zklock_using_subcommand revoke" -s h -l help -d 'Print this verb\'s options; --help adds the common ones'
complete -c zklock -n "__fish_zklock_using_subcommand forget" -s z -l zookeeper -d 'ZooKeeper servers: HOST:PORT,...[/CHROOT]' -r
complete -c zklock -n "__fish_zklock_using_subcommand forget" -l connect-timeout -d 'Give up if no server can be reached in this time' -r
complete -c zklock -n "__fish_zklock_using_subcommand forget" -l config -d 'Read the settings from this file' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand forget" -l auth-file -d 'Read credentials from this file' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand forget" -l acl -d 'Who may use the nodes that zklock creates: open, creator or SCHEME:ID:PERMS,...' -r
complete -c zklock -n "__fish_zklock_using_subcommand forget" -l tls-ca -d 'Trust the CA certificates in this file instead of the system\'s' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand forget" -l tls-cert -d 'The certificate that identifies zklock; needs --tls-key' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand forget" -l tls-key -d 'The private key of --tls-cert' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand forget" -l tls -d 'Connect with TLS'
complete -c zklock -n "__fish_zklock_using_subcommand forget" -s v -l verbose -d 'Say each step; twice or more for debugging'
complete -c zklock -n "__fish_zklock_using_subcommand forget" -s q -l quiet -d 'Say nothing but errors'
complete -c zklock -n "__fish_zklock_using_subcommand forget" -s h -l help -d 'Print this verb\'s options; --help adds the common ones'
complete -c zklock -n "__fish_zklock_using_subcommand completions" -s z -l zookeeper -d 'ZooKeeper servers: HOST:PORT,...[/CHROOT]' -r
complete -c zklock -n "__fish_zklock_using_subcommand completions" -l connect-timeout -d 'Give up if no server can be reached in this time' -r
complete -c zklock -n "__fish_zklock_using_subcommand completions" -l config -d 'Read the settings from this file' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand completions" -l auth-file -d 'Read credentials from this file' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand completions" -l acl -d 'Who may use the nodes that zklock creates: open, creator or SCHEME:ID:PERMS,...' -r
complete -c zklock -n "__fish_zklock_using_subcommand completions" -l tls-ca -d 'Trust the CA certificates in this file instead of the system\'s' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand completions" -l tls-cert -d 'The certificate that identifies zklock; needs --tls-key' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand completions" -l tls-key -d 'The private key of --tls-cert' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand completions" -l tls -d 'Connect with TLS'
complete -c zklock -n "__fish_zklock_using_subcommand completions" -s v -l verbose -d 'Say each step; twice or more for debugging'
complete -c zklock -n "__fish_zklock_using_subcommand completions" -s q -l quiet -d 'Say nothing but errors'
complete -c zklock -n "__fish_zklock_using_subcommand completions" -s h -l help -d 'Print this help'
complete -c zklock -n "__fish_zklock_using_subcommand man" -s z -l zookeeper -d 'ZooKeeper servers: HOST:PORT,...[/CHROOT]' -r
complete -c zklock -n "__fish_zklock_using_subcommand man" -l connect-timeout -d 'Give up if no server can be reached in this time' -r
complete -c zklock -n "__fish_zklock_using_subcommand man" -l config -d 'Read the settings from this file' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand man" -l auth-file -d 'Read credentials from this file' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand man" -l acl -d 'Who may use the nodes that zklock creates: open, creator or SCHEME:ID:PERMS,...' -r
complete -c zklock -n "__fish_zklock_using_subcommand man" -l tls-ca -d 'Trust the CA certificates in this file instead of the system\'s' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand man" -l tls-cert -d 'The certificate that identifies zklock; needs --tls-key' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand man" -l tls-key -d 'The private key of --tls-cert' -r -F
complete -c zklock -n "__fish_zklock_using_subcommand man" -l tls -d 'Connect with TLS'
complete -c zklock -n "__fish_zklock_using_subcommand man" -s v -l verbose -d 'Say each step; twice or more for debugging'
complete -c zklock -n "__fish_zklock_using_subcommand man" -s q -l quiet -d 'Say nothing but errors'
complete -c zklock -n "__fish_zklock_using_subcommand man" -s h -l help -d 'Print this help'
