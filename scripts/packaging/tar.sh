# The archive for any Linux: the static program and all that belongs to it. Sourced.

make_tar() {
    local name directory pages
    build
    is_static
    runs "$program"
    name=zklock-$version-$triple
    work=$(mktemp -d)
    pages=$work/pages
    make_pages "$pages"
    directory=$work/$name
    mkdir -p "$directory"/{man/man1,completions,docs/examples} "$results"
    install -m 755 "$program" "$directory/zklock"
    install -m 644 "$pages/zklock.1" "$directory/man/man1"
    install -m 644 "$pages"/{zklock.bash,_zklock,zklock.fish} "$directory/completions"
    install -m 644 LICENSE "$pages"/{THIRD-PARTY-NOTICES,zklock.cdx.json} ./*.md "$directory"
    install -m 644 docs/*.{md,svg} "$directory/docs"
    # What the tests read in the pages.
    sed -i -e '/^<!--.*-->$/d' -e '/^<!--/,/-->$/d' "$directory"/*.md "$directory"/docs/*.md
    install -m 644 docs/examples/* "$directory/docs/examples"
    no_dead_links "$directory"
    archive "$work" "$name" | gzip -9n >"$results/$name.tar.gz"
    finished "$results/$name.tar.gz"
}
