#!/usr/bin/env bash
# The job of scripts/demo: like a cron job on every host, it works on a shared report, and two runs must not overlap.
# It contains no code for locks.
set -euo pipefail

report=${DEMO_REPORT:?the file to write to} host=${DEMO_HOST:?the name to sign with}

note() { printf '%(%H:%M:%S)T %s %s\n' -1 "$host" "$1" | tee -a "$report"; }

note begin
sleep 1 # in place of real work
note end
