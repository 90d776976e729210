# Files that aren't in git and that belong into every package. Sourced.

# make_pages DIRECTORY: creates the manual and the completions, which the program prints, the licences, the list of
# components, and Debian's changelog.
make_pages() {
    local pages=$1
    rm -rf "$pages"
    mkdir -p "$pages"
    start "$program" man >"$pages/zklock.1"
    start "$program" completions bash >"$pages/zklock.bash"
    start "$program" completions zsh >"$pages/_zklock"
    start "$program" completions fish >"$pages/zklock.fish"
    scripts/packaging/contents.py "$triple" "$pages"
    gzip -9nk "$pages"/{zklock.1,THIRD-PARTY-NOTICES}
    cat >"$pages/changelog" <<CHANGELOG
zklock ($version) unstable; urgency=medium

  * See /usr/share/doc/zklock/CHANGELOG.md.

 -- $(sed -n 's/^maintainer = "\(.*\)"$/\1/p' Cargo.toml)  $(date -uR -d "@$SOURCE_DATE_EPOCH")
CHANGELOG
}

# no_dead_links DIRECTORY: checks that every file exists to which a page in it links.
no_dead_links() {
    local page link dead=()
    while IFS=: read -r page link; do
        [[ -e ${page%/*}/$link ]] || dead+=("${page#"$1/"}: $link")
    done < <(grep -oPr --include='*.md' '\]\(\K(?!https?:|#|mailto:)[^)#]+' "$1")
    [[ ${#dead[@]} -eq 0 ]] || fail "these links are broken:" "${dead[@]}"
}

# has_all DIRECTORY FILE...: checks the contents of a package that is unpacked there. The program may need the C library only.
has_all() {
    local file others
    for file in "${@:2}"; do [[ -s $1/$file ]] || fail "the package has no $file"; done
    runs "$1/usr/bin/zklock"
    others=$(readelf --dynamic --wide "$1/usr/bin/zklock" | grep NEEDED | grep -vE '\[(libc\.so\.6|ld-linux.*)\]' || true)
    [[ -z $others ]] || fail "zklock needs more libraries than the C library:" "$others"
    no_dead_links "$1/usr/share/doc/zklock"
}

# archive DIRECTORY FILE...: prints a tar file whose bytes depend on nothing but names, contents and which are programs.
archive() {
    tar --create --directory "$1" --format=ustar --sort=name --owner=0 --group=0 --numeric-owner \
        --mode=u=rwX,go=rX --mtime="@$SOURCE_DATE_EPOCH" -- "${@:2}"
}

# finished FILE: renews the list of check sums beside it, and prints its path.
finished() {
    # Cargo may have left directories there.
    (cd "$results" && rm -f SHA256SUMS && find . -maxdepth 1 -type f -name "*$version*" -printf '%P\n' | sort |
        xargs -d '\n' sha256sum -- >SHA256SUMS)
    echo "${1#"$root/"}"
}
