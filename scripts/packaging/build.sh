# Builds the program, so that two builds of the same sources are the same bytes wherever their directories are. Sourced.

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")
results=$target_dir/package

# Everything in a package has the time of the sources: of the commit or, where there is no git, of Cargo.toml.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat --format %Y Cargo.toml)}
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C.UTF-8

# For `zklock --version`.
commit=${ZKLOCK_COMMIT:-$(git describe --always --dirty --abbrev=40 --exclude '*' 2>/dev/null || true)}

# default_triple musl|gnu
default_triple() { rustc --print host-tuple | sed "s/-[a-z]*\$/-$1/"; }

need_standard_library() {
    [[ ! -d $(rustc --print sysroot)/lib/rustlib/$triple/lib ]] || return 0
    have rustup || fail "the Rust standard library for $triple is not installed, and there is no rustup to fetch it" \
        "install Rust with rustup, or your distribution's package of the library for $triple"
    say "fetching Rust's standard library:" "    rustup target add $triple"
    rustup target add "$triple" >&2 || fail "rustup can't fetch the standard library for $triple; see above" \
        "check the network connection"
}

# Names of directories become a part of a program: in messages of panics, and in names that are made from them.
# This replaces RUSTFLAGS, so that no flag for a trial gets into a package. The last prefix that fits counts.
remapped() {
    local cargo_home=${CARGO_HOME:-$HOME/.cargo} flags
    flags=("--remap-path-prefix=$root=zklock" "--remap-path-prefix=$target_dir=target"
        "--remap-path-prefix=$cargo_home=cargo" "--remap-path-prefix=$(rustc --print sysroot)=rust")
    (IFS=$'\x1f' && printf '%s' "${flags[*]}")
}

# variable NAME: cargo's variable of this name for $triple, which the user sets to build for another machine.
variable() { local name=CARGO_TARGET_${triple^^}_$1 && printf '%s' "${name//-/_}"; }

# build: builds zklock for $triple, unless --program named one, and sets $program.
build() {
    local cc=CC_${triple//-/_} cflags=CFLAGS_${triple//-/_} linker
    if [[ -n $program ]]; then
        [[ -x $program ]] || fail "$program is not a program"
        return
    fi
    need_standard_library
    linker=$(variable LINKER)
    if [[ $triple == *-musl ]]; then
        # The libraries' C code is compiled for musl too.
        [[ -n ${!cc:-} ]] || need_commands musl-gcc:musl-tools
        export "$cc=${!cc:-musl-gcc}"
    fi
    [[ $triple == "$(uname -m)"-* || -n ${!linker:-} ]] ||
        fail "a program for $triple needs a linker for it" "set $linker and $cc to a C compiler for $triple"
    export "$cflags=-ffile-prefix-map=$root=zklock -ffile-prefix-map=$target_dir=target ${!cflags:-}"
    ZKLOCK_VERSION="$version (${commit:-unknown commit}, $triple)" CARGO_ENCODED_RUSTFLAGS=$(remapped) cargo build --release --locked --target "$triple" >&2
    program=$target_dir/$triple/release/zklock
}

# start PROGRAM ARGUMENT...: runs it, with the user's emulator if it is for another machine.
start() {
    local runner
    runner=$(variable RUNNER)
    # shellcheck disable=SC2086 # like cargo's, it may have several words
    ${!runner:-} "$@"
}

# runs PROGRAM: checks that it starts and reports the expected version.
runs() {
    local output
    output=$(start "$1" --version) || fail "$1 doesn't run" \
        "if it is for another machine, set $(variable RUNNER) to a program that runs it, such as qemu-user's"
    [[ $output == "zklock $version"* ]] || fail "$1 reports '$output' instead of 'zklock $version'"
    start "$1" --config docs/examples/zklock.toml status --show-config >/dev/null ||
        fail "$1 refuses the example configuration"
}
