# shellcheck shell=bash disable=SC2154,SC2016 # the shell of the page has the variables
# docs/systemd.md: the page's commands run, and systemd accepts its units.

stub opt/backup.sh opt/importer opt/web
for file in zklock-backup zklock-importer zklock-web; do
    unit "$file.service" ExecStart | sed "s#/usr/local/bin/##; s#/opt/#opt/#" | sh || exit 1
done
if command -v systemd-analyze >/dev/null; then
    mkdir units
    for file in zklock-*.service zklock-*.timer zklock-*.socket; do
        sed "s#/usr/local/bin/zklock#$(command -v zklock)#" "$file" >"units/$file"
    done
    (cd units && systemd-analyze verify --man=no ./zklock-*) >verified 2>&1; cat verified
    ! grep 'zklock-.*\.\(service\|socket\|timer\)' verified
fi
