# shellcheck shell=bash disable=SC2154,SC2016 # the shell of the page has the variables
# docs/exit-codes.md: the page's script under `git bisect run`, which must find the commit.

if command -v git; then
    mkdir repository && cd repository && git init -q && for n in 1 2 3 4 5; do
        printf '#!/bin/sh\n[ %s -lt 4 ]\n' "$n" >test.sh && chmod +x test.sh && git add test.sh &&
            git -c user.name=a -c user.email=a@example.org commit -qm "change $n" || exit 1
    done
    git bisect start HEAD HEAD~4 && git bisect run ../bisect.sh | grep 'first bad commit' || exit 1
    git show -s --format=%s refs/bisect/bad | grep -x 'change 4' || exit 1
    cd ..
fi
