#!/bin/sh
# in-docker.sh IMAGE COMMAND...: runs COMMAND in a container, which has ended before this script ends.
#     zklock /locks/report -- sh in-docker.sh my-report ./report.sh
# KILL follows after 2 s; use -t 1 if the session timeout is below 24 s.
name=job-$$
trap 'docker stop -t 2 "$name" >/dev/null; wait "$client"; exit' HUP INT TERM
docker run --rm --init --name "$name" "$@" &
client=$!
wait "$client"
