# shellcheck shell=bash disable=SC2154,SC2016 # the shell of the page has the variables
# docs/recipes.md: a server for ssh, the remote commands of the page, and what becomes of the job.

if command -v sshd && mkdir -p ssh bin && ssh-keygen -qt ed25519 -N '' -f ssh/host && ssh-keygen -qt ed25519 -N '' -f ssh/user; then
    [ "$(id -u)" != 0 ] || mkdir -p /run/sshd
    port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    printf '%s\n' "Port $port" 'ListenAddress 127.0.0.1' "HostKey $PWD/ssh/host" "AuthorizedKeysFile $PWD/ssh/user.pub" \
        'PidFile none' 'UsePAM no' 'StrictModes no' \
        "SetEnv ZKLOCK_ZOOKEEPER=$ZKLOCK_ZOOKEEPER PATH=$PATH REPORT=$PWD/report.log" >ssh/server
    printf '%s\n' 'Host web-1' 'HostName 127.0.0.1' "Port $port" "IdentityFile $PWD/ssh/user" 'IdentitiesOnly yes' \
        "UserKnownHostsFile $PWD/ssh/known" 'StrictHostKeyChecking accept-new' 'LogLevel ERROR' >ssh/client
    printf '#!/bin/sh\nexec %s -F %s/ssh/client "$@"\n' "$(command -v ssh)" "$PWD" >bin/ssh
    printf '#!/bin/sh\necho started >$REPORT\ntrap "echo ended >>$REPORT; exit" HUP TERM\nwhile :; do sleep 0.1; done\n' >report.sh
    chmod +x bin/ssh report.sh
    PATH=$PWD/bin:$PATH
    cp "$root/docs/examples/far.sh" .
    "$(command -v sshd)" -D -f "$PWD/ssh/server" -E "$PWD/ssh/log" & echo $! >>"$holders"
    until ssh web-1 true; do sleep 0.2; done
    started() { until grep -q started report.log; do sleep 0.1; done 2>/dev/null; }

    zklock /locks/far -- sh far.sh web-1 "$PWD/report.sh" & started
    zklock revoke /locks/far; wait $!
    [ "$(tail -n 1 report.log)" = ended ] || exit 1

    zklock /locks/code -- sh far.sh web-1 'exit 7'
    [ $? = 7 ] || exit 1
    rm report.log

    ssh -tt web-1 zklock /locks/report -- "$PWD/report.sh" & started
    kill $!; wait $!
    until [ "$(tail -n 1 report.log)" = ended ] && zklock status /locks/report | grep free; do sleep 0.1; done
    rm report.log

    ssh -tt web-1 zklock /locks/report -- "$PWD/report.sh" & started
    zklock revoke /locks/report; wait $!
    [ "$(tail -n 1 report.log)" = ended ]
fi
