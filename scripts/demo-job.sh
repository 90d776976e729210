#!/usr/bin/env bash
# The job of scripts/demo, of the kind that cron starts on every host: it works on a shared report and
# must not run twice at a time. It knows nothing of locks, and needs none to be written.
set -euo pipefail

report=${DEMO_REPORT:?the file to write to} host=${DEMO_HOST:?the name to sign with}

note() { printf '%(%H:%M:%S)T %s %s\n' -1 "$host" "$1" | tee -a "$report"; }

note begin
sleep 1 # stands for the work
note end
