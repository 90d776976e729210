# shellcheck shell=bash disable=SC2154,SC2016 # the shell of the page has the variables
# Every option of zklock that a page names is in its help. The other programs' are listed here.

for subcommand in '' status wait revoke check; do
    # shellcheck disable=SC2086 # no word, or one
    zklock $subcommand --help
done | grep -oE '^ +(-[A-Za-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+' >known
printf -- '--%s\n' collector die-with-parent features foreground idle init kill-child locked no-block preserve-env \
    release scope target user wait >>known
cat "$root/README.md" "$root"/docs/*.md | grep -oE '`[^`]*`' | grep -oE -- ' ?--[a-z][a-z-]+' | tr -d ' ' | sort -u >named
! grep -vxFf known named
