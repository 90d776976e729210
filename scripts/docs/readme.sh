# shellcheck shell=bash disable=SC2154 # the shell of the page has the variables
# README.md, which shows no marks: each of its commands runs.

stub opt/backup.sh deploy.sh report.sh build.sh
grep -E '^( {4})?zklock (-|/|status|revoke)' "$root/README.md" | sed 's#/opt/#opt/#' >commands
[ "$(wc -l <commands)" -ge 8 ] || exit 1
while read -r line; do
    [[ $line != *" revoke "* ]] || hold /locks/deploy
    BUILD=1042 sh -ec "$line" </dev/null || exit 1
done <commands
let_go
