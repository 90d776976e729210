#!/bin/sh
# systemd.sh DIR ZKLOCK: runs systemd's manager of a user and its journal, in namespaces and a cgroup of their own, until
# stdin ends. Below DIR: `units` has the units, `opt` is /opt, `journal` has the journal, and `pid` the number of the process
# whose only child is in the namespaces. Must be run in a new mount namespace and a new cgroup namespace.
set -eu

# As the first process of the namespaces.
inside() {
    cd /
    mount -t proc proc /proc
    # systemd believes that this cgroup is the root, and moves whatever is in it.
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    mkdir -p "$dir/bin" "$dir/opt" "$dir/journal" "$dir/run" "$dir/home"
    touch "$dir/bin/zklock"
    mount --bind "$zklock" "$dir/bin/zklock"
    mount --rbind "$dir/bin" /usr/local/bin
    mount --bind "$dir/opt" /opt
    mount -t tmpfs -o mode=755 tmpfs /run
    mkdir -p /run/systemd/system /run/systemd/journald.conf.d /run/log/journal
    mount --bind "$dir/journal" /run/log/journal
    printf '[Journal]\nStorage=volatile\nReadKMsg=no\nAudit=\nRateLimitBurst=0\n' >/run/systemd/journald.conf.d/test.conf
    library=/lib/systemd
    "$library/systemd-journald" >"$dir/journald.log" 2>&1 &
    until [ -S /run/systemd/journal/stdout ]; do sleep 0.02; done
    chmod 700 "$dir/run"
    # Nothing but the test's units.
    env -i PATH="$PATH" HOME="$dir/home" XDG_RUNTIME_DIR="$dir/run" SYSTEMD_UNIT_PATH="$dir/units" SYSTEMD_GENERATOR_PATH= \
        SYSTEMD_ENVIRONMENT_GENERATOR_PATH= "$library/systemd" --user --log-target=journal &
    wait $!
}

if [ "$1" = inside ]; then
    dir=$2 zklock=$3
    inside
    exit
fi

dir=$1 zklock=$2
mkdir "$dir/cgroup"
mount -t cgroup2 cgroup2 "$dir/cgroup"
own=$dir/cgroup/zklock-$$
mkdir "$own" 2>/dev/null || {
    echo 'no cgroup can be made here: a user needs one that is delegated' >&2
    exit 1
}
sh -c 'echo $$ >"$1/cgroup.procs"; shift
    exec unshare --mount --propagation private --pid --fork --kill-child --cgroup sh "$@"' \
    sh "$own" "$0" inside "$dir" "$zklock" </dev/null &
child=$!
echo $child >"$dir/pid"
exec 3<&0
{
    cat <&3 >/dev/null
    kill -KILL $child
} &
ender=$!
wait $child || true
kill $ender 2>/dev/null || true
for _ in 1 2 3 4 5 6 7 8 9 10; do
    find "$own" -depth -type d -exec rmdir {} + 2>/dev/null && break
    sleep 0.1
done
