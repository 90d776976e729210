#!/bin/sh
# far.sh HOST COMMAND: runs COMMAND on HOST. TERM ends it there, and then this script.
#     zklock /locks/report -- sh far.sh web-1 ./report.sh
pid=/tmp/far.$(uname -n).$$
# This ssh ignores TERM, so that it stays until the command has ended.
(trap '' HUP INT TERM; exec ssh "$1" "echo \$\$ >$pid; $2; code=\$?; rm $pid; exit \$code") &
ssh=$!
trap 'ssh "$1" "kill -- -\$(cat $pid); rm $pid"; wait "$ssh"; exit' HUP INT TERM
wait "$ssh"
