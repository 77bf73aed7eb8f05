#!/usr/bin/env bash
# The commands of the project, one verb each: fmt lint test doc instructions fuzz
# bench load soak.
set -euo pipefail
cd "$(dirname "$0")"

# The Cargo workspaces: the project, and two that it must not depend on.
manifests=(Cargo.toml bench/Cargo.toml fuzz/Cargo.toml)

# step WHAT: says what begins, and when.
step() {
    echo "== ${SECONDS} s: $1"
}

need_component() {
    cargo "$1" --version >/dev/null 2>&1 || rustup component add "$2"
}

# The fuzzer's runtime is C++.
need_cxx() {
    command -v c++ >/dev/null || { apt-get update && apt-get install -y g++; }
}

# Counts instructions.
need_valgrind() {
    command -v valgrind >/dev/null || { apt-get update && apt-get install -y valgrind; }
}

# Reads the captures that the tests record; brings editcap, which copies them.
need_tshark() {
    command -v tshark >/dev/null || {
        apt-get update
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends tshark
    }
}

# Opens the page of the demo.
need_chromium() {
    [[ -n ${TIGHTWIRE_CHROMIUM:-} ]] || command -v chromium chromium-browser google-chrome >/dev/null || {
        apt-get update
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
            chromium fonts-dejavu-core
    }
}

fmt() {
    need_component fmt rustfmt
    for manifest in "${manifests[@]}"; do
        cargo fmt --all --manifest-path "$manifest" "$@"
    done
}

lint() {
    fmt --check
    need_component clippy clippy
    need_cxx
    cargo clippy --quiet --workspace --all-targets -- -D warnings
    cargo clippy --quiet --all-targets --manifest-path bench/Cargo.toml -- -D warnings
    # It has files of the tool in it, whose tests need what only the tool has.
    cargo clippy --quiet --lib --bins --manifest-path fuzz/Cargo.toml -- -D warnings
    cargo clippy --quiet -p tightwire --all-features --all-targets -- -D warnings
    doc
}

doc() {
    RUSTDOCFLAGS="-D warnings" cargo doc --quiet --workspace --no-deps --all-features "$@"
}

# A target without a standard library, where one can be had; the plain build everywhere.
no_std() {
    cargo build --quiet -p tightwire --no-default-features
    local target=thumbv7em-none-eabihf
    if rustup target add "$target" >/dev/null 2>&1; then
        cargo build --quiet -p tightwire --no-default-features --features glam-034 --target "$target"
    else
        echo "$target is not to be had here: built without std for this machine only"
    fi
}

# Fails if a packet that is accepted pays for names, or much for an explanation that it does not
# need, or if a field in a block of bytes pays for a check.
instructions() {
    need_valgrind
    cargo bench --quiet -p tightwire --bench instructions --bench blocks
}

# Everything that must hold. Nobody debugs what it builds, or builds it again: without what only that
# needs, it takes a third of the disk.
test() {
    export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_RELEASE_DEBUG=0
    need_tshark
    need_chromium
    step "formatting, lints, documentation"
    lint
    no_std
    step "tests"
    cargo test --workspace --all-features
    step "tests, optimised: those with millions of inputs have them here"
    cargo test --workspace --all-features --release --lib --bins --tests
    step "demo and examples"
    cargo run --release --quiet -- picture >/dev/null
    # Fails unless everybody connects, and has the world of the server.
    cargo run --release --quiet -- demo --seconds 10 --json --no-web
    cargo build --quiet --workspace --all-features --examples
    for example in examples/*.rs; do
        "${CARGO_TARGET_DIR:-target}/debug/examples/$(basename "$example" .rs)" >/dev/null
    done
    step "instructions"
    instructions
    step "benchmarks, briefly"
    # Every codec's round trip is checked before anything is timed.
    (cd bench && cargo run --release --quiet -- --quick)
}

# fuzz [SECONDS]: each target for a while, from the committed corpus.
fuzz() {
    local seconds=${1:-60}
    need_cxx
    cargo +nightly --version >/dev/null 2>&1 || rustup toolchain install nightly --profile minimal
    cargo fuzz --version >/dev/null 2>&1 || cargo install cargo-fuzz --locked
    for target in $(cd fuzz && cargo +nightly fuzz list); do
        # New inputs go to a folder of their own: the committed corpus is minimised by hand.
        mkdir -p "fuzz/found/$target"
        # One that keeps its server would be searched for leaks each time, and be ten times slower.
        local leaks=1
        if [[ $target == quic ]]; then leaks=0; fi
        (cd fuzz && cargo +nightly fuzz run "$target" "found/$target" "corpus/$target" -- \
            -max_total_time="$seconds" -max_len=512 -rss_limit_mb=2048 -print_final_stats=1 \
            -detect_leaks="$leaks")
    done
}

bench() {
    (cd bench && cargo run --release --quiet -- "$@")
}

# load [SECONDS]: a thousand clients and a server, as long in peace as in a flood.
load() {
    TIGHTWIRE_LOAD_SECONDS=${1:-60} cargo test --release --quiet -p tightwire-transport \
        --test load -- --exact full --ignored --nocapture
}

# soak [MINUTES]: clients and servers that come, go and die, on a network that is bad.
soak() {
    TIGHTWIRE_SOAK_SECONDS=$((${1:-10} * 60)) cargo test --release --quiet -p tightwire-transport \
        --test soak -- --exact full --ignored --nocapture
}

# clone-time: crates and CPU seconds of the demo from nothing, as after a clone.
clone_to_page() {
    local target spent TIMEFORMAT='%U %S'
    target=$(mktemp -d)
    cargo fetch --quiet
    spent=$({ time CARGO_TARGET_DIR=$target cargo build --release --quiet; } 2>&1 | tail -n 1)
    rm -rf "$target"
    echo "$(cargo tree -e normal,build --prefix none --no-dedupe | cut -d' ' -f1,2 | sort -u | wc -l) crates," \
        "$(awk '{ print $1 + $2 }' <<<"$spent") CPU seconds"
}

verb=${1:-}
case "$verb" in
    fmt | lint | test | doc | instructions | fuzz | bench | load | soak)
        shift
        "$verb" "$@"
        ;;
    clone-time) clone_to_page ;;
    *)
        echo "usage: ./ci.sh fmt|lint|test|doc|instructions|fuzz [SECONDS]|bench [--quick] [--packet NAME] [--json]|load [SECONDS]|soak [MINUTES]|clone-time" >&2
        exit 2
        ;;
esac
