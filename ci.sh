#!/usr/bin/env bash
# The commands of the project, one verb each: see CONTRIBUTING.md.
set -euo pipefail
cd "$(dirname "$0")"

# The Cargo workspaces: the project, and two that it must not depend on. What they depend on in the
# same version is built once for all.
manifests=(Cargo.toml bench/Cargo.toml fuzz/Cargo.toml)
# Two that only `nightly` builds, since a renderer and other crates for Bevy take minutes.
bevy_manifests=(crates/bevy_tightwire/window/Cargo.toml bench/bevy/Cargo.toml)
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}

steps=()
step_name=
step_began=0
step_cpu=0
cpu=0

# step NAME: ends the step before, and says what begins, and when.
step() {
    end_step
    step_name=$1
    step_began=$SECONDS
    step_cpu=$cpu
    echo "== ${SECONDS} s: $1"
}

end_step() {
    read_cpu
    if [[ -n $step_name ]]; then
        steps+=("$(printf '%7d  %9d  %s' $((SECONDS - step_began)) $((cpu - step_cpu)) "$step_name")")
    fi
    step_name=
}

# Sets `cpu` to the processor seconds of all commands so far: on a busy machine, what a step costs.
read_cpu() {
    local file part minutes seconds user system
    file=$(mktemp)
    times >"$file"
    { read -r _ && read -r user system; } <"$file"
    rm "$file"
    cpu=0
    for part in "$user" "$system"; do
        minutes=${part%m*} seconds=${part#*m}
        cpu=$((cpu + 60 * minutes + 10#${seconds%.*}))
    done
}

# Prints what each step took, also if one failed.
print_steps() {
    end_step
    if ((${#steps[@]})); then
        printf '\nseconds  processor  step\n'
        printf '%s\n' "${steps[@]}" "$(printf '%7d  %9d  %s' "$SECONDS" "$cpu" total)"
    fi
}
trap print_steps EXIT

# need COMMAND...: installs the packages of those commands that are not there, all at once.
need() {
    local packages=() command
    for command in "$@"; do
        case $command in
            # The fuzzer's runtime is C++.
            c++) have c++ || packages+=(g++) ;;
            # Counts instructions.
            valgrind) have valgrind || packages+=(valgrind libc6-dbg) ;;
            # Reads the captures that the tests record; brings editcap, which copies them.
            tshark) have tshark || packages+=(tshark) ;;
            # Opens the page of the demo.
            chromium)
                [[ -n ${TIGHTWIRE_CHROMIUM:-} ]] || have chromium chromium-browser google-chrome ||
                    packages+=(chromium fonts-dejavu-core)
                ;;
        esac
    done
    if ((${#packages[@]})); then
        apt-get -qq update
        DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
            "${packages[@]}" >/dev/null
    fi
}

# have COMMAND...: whether one of them is there.
have() {
    local command
    for command in "$@"; do
        if command -v "$command" >/dev/null; then return 0; fi
    done
    return 1
}

need_component() {
    cargo "$1" --version >/dev/null 2>&1 || rustup component add "$2"
}

fmt() {
    need_component fmt rustfmt
    local manifest
    for manifest in "${manifests[@]}" "${bevy_manifests[@]}"; do
        cargo fmt --all --manifest-path "$manifest" "$@"
    done
}

# Fails on doc comments that begin as a riddle, since a first sentence names its subject, and on
# comments with words that docs/GLOSSARY.md replaces.
words() {
    local files found
    mapfile -t files < <(find crates fuzz bench examples -name target -prune -o -name '*.rs' -print)
    found=$(awk '
        FNR == 1 { was_doc = 0 }
        { is_doc = /^[ \t]*\/\/[\/!]/ }
        is_doc && !was_doc && /^[ \t]*\/\/[\/!] (What|Who|Whoever|Nobody|Somebody|Of|So|It|They|Its|Those|How|Why|Where|Which)[ ,]/ {
            print FILENAME ":" FNR ":" $0
        }
        { was_doc = is_doc }' "${files[@]}")
    if [[ -n $found ]]; then
        printf '%s\n' "$found" "begin with the noun or the verb: see docs/GLOSSARY.md" >&2
        return 1
    fi
    found=$(grep -nEi '//.*\b(whoever|newcomers?|strangers?|mentioned|makes no sense|let in|anew|hesitates?|turned away|told)\b' "${files[@]}" |
        grep -v 'told apart' || true)
    if [[ -n $found ]]; then
        printf '%s\n' "$found" "use the word of docs/GLOSSARY.md" >&2
        return 1
    fi
    # As left behind by renaming a type that is also a word.
    found=$(grep -nE '^\s*//[/!]? [A-Z][a-z]+([A-Z][a-z]+)+ ' "${files[@]}" || true)
    if [[ -n $found ]]; then
        printf '%s\n' "$found" "a comment begins with a word, or a name in backticks" >&2
        return 1
    fi
    type_names
    # From this folder cargo finds examples only of the demo, unless it is given their package.
    found=$(grep -rnE 'cargo run( --release)? --example' README.md docs examples crates --include='*.md' --include='*.rs' || true)
    if [[ -n $found ]]; then
        printf '%s\n' "$found" "say whose example it is: -p PACKAGE" >&2
        return 1
    fi
    # The map must lead to files that exist.
    local paths name
    paths=$(find crates bench/src fuzz docs examples -name target -prune -o -print)
    found=$(grep -oE '`[a-zA-Z0-9_./-]+(\.rs|\.md|/)`|\]\([a-zA-Z0-9_./-]+\)' ARCHITECTURE.md | tr -d '`]()' | sort -u |
        while read -r name; do
            [[ -e $name ]] || grep -qE "(^|/)${name%/}\$" <<<"$paths" || echo "ARCHITECTURE.md names $name"
        done)
    if [[ -n $found ]]; then
        printf '%s\n' "$found" "there is no such file" >&2
        return 1
    fi
}

# Fails if two types have one name: within a crate, or exported by two crates. Exceptions:
# * Client, Server, Protocol, Trace, World and Class exist in two layers: the tour in
#   crates/tightwire/src/lib.rs says so, and a program writes them with their module;
# * Keys and Seal have an empty form for builds without the feature `sealing`;
# * Player is sample data of commands of the tool.
type_names() {
    local crate found list exported='' allowed='Client|Server|Protocol|Trace|World|Class|Keys|Seal|Player'
    for crate in crates/*/src; do
        mapfile -t list < <(find "$crate" -name '*.rs' | grep -vE '/tests?(\.rs|/)|_tests\.rs')
        # Column 0: types within functions and test modules have their own scope.
        found=$(awk '
            FNR == 1 { in_tests = 0 }
            /^#\[cfg\(test\)\]/ { in_tests = 1 }
            !in_tests && /^(pub(\([a-z: ]+\))? )?(struct|enum|union|trait|type) [A-Z]/ {
                line = $0
                scope = line ~ /^pub [a-z]/ ? "exported" : "private"
                sub(/^pub(\([a-z: ]+\))? /, "", line)
                sub(/^[a-z]+ /, "", line)
                sub(/[^A-Za-z0-9_].*/, "", line)
                print line, scope
            }' "${list[@]}")
        case $crate in
            *-cli/src | *-demo/src) ;;
            *) exported+=$(grep ' exported$' <<<"$found" || true)$'\n' ;;
        esac
        found=$(cut -d' ' -f1 <<<"$found" | sort | uniq -d | grep -vxE "$allowed" || true)
        [[ -z $found ]] || { printf '%s has two types of this name:\n%s\n' "$crate" "$found" >&2; return 1; }
    done
    found=$(cut -d' ' -f1 <<<"$exported" | grep . | sort | uniq -d | grep -vxE "$allowed" || true)
    [[ -z $found ]] || { printf 'two crates export a type of this name:\n%s\n' "$found" >&2; return 1; }
}

# A `debug_assert!` whose condition does work leaves it out of release builds, which few tests run in.
asserts() {
    local found work='finish|take|pop|push|insert|remove|next|replace|drain'
    found=$(grep -rnE "debug_assert[a-z_]*!\(.*\.($work)[a-z_]*\(" crates/*/src || true)
    [[ -z $found ]] || { printf 'do the work before the debug_assert:\n%s\n' "$found" >&2; return 1; }
}

# The first example of the plugin for Bevy has a game, all modes and an address: in few lines.
short_example() {
    local lines most=150 example=crates/bevy_tightwire/examples/simple_box.rs
    lines=$(wc -l <"$example")
    ((lines <= most)) || { echo "$example has $lines lines, and may have $most" >&2; return 1; }
}

lint() {
    need_component clippy clippy
    need c++
    fmt --check
    words
    asserts
    short_example
    cargo clippy --quiet --workspace --all-targets --all-features -- -D warnings
    # Without features as well: what only a feature uses would be dead.
    cargo clippy --quiet -p tightwire --no-default-features --features snapshot -- -D warnings
    cargo clippy --quiet -p tightwire-net --no-default-features -- -D warnings
    cargo clippy --quiet -p bevy_tightwire --no-default-features -- -D warnings
    # It compiles files of the tool, whose tests need what only the tool has.
    cargo clippy --quiet --lib --bins --manifest-path fuzz/Cargo.toml -- -D warnings
}

doc() {
    RUSTDOCFLAGS="-D warnings" cargo doc --quiet --workspace --no-deps --all-features "$@"
}

# The library for a target without a standard library, where one can be had: `lint` has already
# checked it without `std` for this machine.
no_std() {
    local target=thumbv7em-none-eabihf crates
    # A program that only packs bits builds few crates beside ours.
    crates=$(cargo tree -p tightwire --no-default-features -e normal,build --prefix none --no-dedupe |
        grep -v '^tightwire' | sort -u | wc -l)
    echo "$crates crates beside ours without default features"
    ((crates <= 12)) || { echo "there are to be at most 12" >&2; return 1; }
    if rustup target add "$target" >/dev/null 2>&1; then
        cargo check --quiet -p tightwire --no-default-features --features snapshot,glam-034 --target "$target"
    else
        echo "$target cannot be installed here: checked without std for this machine only"
    fi
}

# msrv [--strict]: builds with the declared minimum Rust version. Where that toolchain cannot be
# installed, it says so, and fails if it is strict.
msrv() {
    local declared manifest
    declared=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
    for manifest in "${manifests[@]}"; do
        grep -q "^rust-version = \"$declared\"$" "$manifest" ||
            { echo "$manifest does not declare Rust $declared, as Cargo.toml does" >&2; return 1; }
    done
    if [[ $(rustc --version) == "rustc $declared."* ]]; then
        echo "this toolchain is Rust $declared, the declared minimum: all other steps prove it"
    elif cargo "+$declared" --version >/dev/null 2>&1 ||
        rustup toolchain install "$declared" --profile minimal; then
        cargo "+$declared" check --quiet --workspace --all-features
    else
        echo "Rust $declared, the declared minimum, cannot be installed here: not checked" >&2
        [[ ${1:-} != --strict ]]
    fi
}

# package [--verify]: packs what is published; with --verify, builds it from the packages alone.
package() {
    local flags=(--quiet --allow-dirty --no-verify) manifest
    if [[ ${1:-} == --verify ]]; then flags=(--quiet --allow-dirty); fi
    for manifest in $(grep -L '^publish = false$' crates/*/Cargo.toml); do
        flags+=(-p "$(basename "$(dirname "$manifest")")")
    done
    cargo package "${flags[@]}"
}

# Licences, duplicate versions, sources, and advisories where their database can be fetched.
deny() {
    cargo deny --version >/dev/null 2>&1 || cargo install cargo-deny --locked
    local manifest
    for manifest in "${manifests[@]}"; do
        cargo deny --manifest-path "$manifest" --config "$PWD/deny.toml" check licenses sources
    done
    # Peers of the benchmarks bring what they bring.
    cargo deny --config "$PWD/deny.toml" check bans
    if cargo deny fetch db >/dev/null 2>&1; then
        cargo deny --config "$PWD/deny.toml" check advisories
    else
        echo "the database of advisories cannot be fetched here: not checked" >&2
    fi
}

# Fails if a packet that is accepted pays for names, or much for an explanation that it does not
# need, or if a field in a block of bytes pays for a check.
instructions() {
    need valgrind
    cargo bench --quiet -p tightwire-instructions
}

# Fails if builds for other instructions make other snapshots: a test has their hash. Without AVX2 the vectors of
# `Modeled` are those of SSE2; what they compute is compared with a loop over single numbers in every build.
same_packets() {
    local features
    for features in "" +avx2,+fma; do
        RUSTFLAGS="-C target-feature=$features" CARGO_TARGET_DIR="$CARGO_TARGET_DIR/same-packets" \
            cargo test --quiet -p tightwire-snapshot --lib -- modeled::
    done
}

# Everything that must hold, in minutes. Nobody debugs what it builds, or builds it again: without
# what only that needs, it takes a third of the disk.
test() {
    export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0
    export CARGO_PROFILE_BENCH_DEBUG=0
    step "installation"
    need c++ valgrind tshark chromium
    step "formatting, lints"
    lint
    step "documentation"
    doc
    step "no_std, minimum Rust version, packages"
    no_std
    msrv
    package
    step "tests: build"
    cargo test --quiet --workspace --all-features --no-run
    step "tests: run"
    run_tests
    step "tests: documentation"
    cargo test --workspace --all-features --doc
    step "examples"
    local example
    for example in examples/*.rs crates/bevy_tightwire/examples/*.rs; do
        "$CARGO_TARGET_DIR/debug/examples/$(basename "$example" .rs)" >/dev/null
    done
    step "release build: refusals, instructions"
    # In the profile of what is counted, so that the library is built once.
    cargo test --quiet --profile bench -p tightwire-instructions --test misuse
    instructions
    step "demo, as released"
    # All other tests have debug assertions. It fails if a client cannot connect, refuses a packet or
    # shows another world than the server's.
    cargo run --release --quiet -- --seconds 5
}

# Two groups at once: a browser and demos in real time, which mostly wait, and the compiler's messages,
# which keep one core busy, beside all others.
run_tests() {
    local beside=(demo:: page:: a_mistake_has_one_message) log job failed=0
    log=$(mktemp)
    cargo test --workspace --all-features --tests -- "${beside[@]}" >"$log" 2>&1 &
    job=$!
    cargo test --workspace --all-features --tests -- "${beside[@]/#/--skip=}" || failed=1
    wait "$job" || failed=1
    cat "$log"
    rm "$log"
    return "$failed"
}

# Everything in full, in hours: what `test` does, all inputs, the debug profile, all peers, packages
# built from themselves, load, soak, and ten minutes of each fuzz target.
nightly() {
    # Other inputs each night; a test that fails says which, and TIGHTWIRE_SEED repeats them.
    export TIGHTWIRE_SEED=${TIGHTWIRE_SEED:-$(date +%Y%m%d)}
    echo "TIGHTWIRE_SEED=$TIGHTWIRE_SEED"
    test
    step "minimum Rust version, strictly"
    msrv --strict
    step "snapshots of builds for other instructions"
    same_packets
    step "packages, built from themselves"
    package --verify
    step "licences, versions, advisories"
    deny
    step "examples: by the command of the README, and for Bevy as released"
    $(grep -oE 'cargo run -p tightwire-examples --example [a-z0-9_]+' README.md) >/dev/null
    cargo run --release --quiet -p bevy_tightwire --example arena --features test
    step "peers: lints, round trips"
    cargo clippy --quiet --all-targets --manifest-path bench/Cargo.toml -- -D warnings
    cargo test --quiet --manifest-path bench/Cargo.toml
    step "Bevy: lints of the window and of the peers"
    local manifest
    for manifest in "${bevy_manifests[@]}"; do
        cargo clippy --quiet --all-targets --manifest-path "$manifest" -- -D warnings
    done
    step "tests: unoptimised"
    CARGO_PROFILE_TEST_OPT_LEVEL=0 cargo test --workspace --all-features --tests
    step "tests: release, all inputs"
    TIGHTWIRE_TEST_VOLUME=full cargo test --release --workspace --all-features --tests
    step "conformance over real sockets"
    cargo test --release -p tightwire-net --all-features --test it -- --ignored
    step "benchmarks, compile time"
    bench
    bench/compile_time.py --check
    step "load"
    load
    step "soak"
    soak
    step "fuzzing"
    fuzz 600
}

# fuzz [SECONDS [TARGET...]]: each target for a while, from the committed corpus. Sanitizers need a
# nightly compiler; where none can be installed, the stable one is told to accept the same flags.
fuzz() {
    local seconds=${1:-60} cargo=(cargo +nightly) target
    need c++
    if ! cargo +nightly --version >/dev/null 2>&1 &&
        ! rustup toolchain install nightly --profile minimal; then
        echo "no nightly toolchain can be installed here: fuzzing with RUSTC_BOOTSTRAP=1"
        export RUSTC_BOOTSTRAP=1
        cargo=(cargo)
    fi
    cargo fuzz --version >/dev/null 2>&1 || cargo install cargo-fuzz --locked
    local targets=("${@:2}")
    if ((${#targets[@]} == 0)); then
        # By a variable: the exit code of `< <(…)` would be lost, and no target no failure.
        local list
        list=$(cd fuzz && "${cargo[@]}" fuzz list)
        mapfile -t targets <<<"$list"
    fi
    for target in "${targets[@]}"; do
        # New inputs go to a folder of their own: the committed corpus is minimised by hand.
        mkdir -p "fuzz/found/$target"
        # One that keeps its server would be searched for leaks each time, and be ten times slower.
        local leaks=1 counters=1 flags=() variables=()
        if [[ $target == quic ]]; then leaks=0; fi
        # Sequences of packets through code without `unsafe`: to watch each comparison and address,
        # to count how often a branch is taken, and to return memory after each execution would take
        # most of the time.
        if [[ $target == frames || $target == replication ]]; then
            flags=(--sanitizer none --no-trace-compares)
            leaks=0 counters=0
            variables=(MALLOC_TRIM_THRESHOLD_=$((1 << 28)) MALLOC_MMAP_THRESHOLD_=$((1 << 28)))
        fi
        (cd fuzz && env "${variables[@]}" "${cargo[@]}" fuzz run "${flags[@]}" "$target" \
            "found/$target" "corpus/$target" -- \
            -max_total_time="$seconds" -max_len=512 -rss_limit_mb=2048 -print_final_stats=1 \
            -detect_leaks="$leaks" -use_counters="$counters")
    done
}

bench() {
    (cd bench && cargo run --release --quiet -- "$@")
}

# bench-bevy SCENE [OPTION...]: a recorded scene by bevy_tightwire, bevy_replicon and lightyear. A
# workspace that nothing else builds, not even the lints: the peers take minutes.
bench_bevy() {
    (cd bench/bevy && cargo run --release --quiet -- "$@")
}

# load [SECONDS]: a thousand clients and a server, as long in peace as in a flood.
load() {
    TIGHTWIRE_LOAD_SECONDS=${1:-60} cargo test --release --quiet -p tightwire-net \
        --test processes -- --exact load::full --ignored --nocapture
}

# soak [MINUTES]: clients and servers that come, go and die, on a network that is bad.
soak() {
    TIGHTWIRE_SOAK_SECONDS=$((${1:-10} * 60)) cargo test --release --quiet -p tightwire-net \
        --test processes -- --exact soak::full --ignored --nocapture
}

# clone-time: crates and CPU seconds of the demo from nothing, as after a clone.
clone_time() {
    local target crates spent TIMEFORMAT='%U %S'
    target=$(mktemp -d)
    cargo fetch --quiet
    crates=$(cargo tree -e normal,build --prefix none --no-dedupe | cut -d' ' -f1,2 | sort -u | wc -l)
    # What the build says goes to the terminal, and only its time into the variable.
    spent=$({ time CARGO_TARGET_DIR=$target cargo build --release --quiet >&3 2>&4; } 3>&1 4>&2 2>&1 >/dev/null | tail -n 1)
    rm -rf "$target"
    echo "$crates crates, $(awk '{ print $1 + $2 }' <<<"$spent") CPU seconds"
}

verb=${1:-}
case "$verb" in
    fmt | lint | words | asserts | doc | no_std | msrv | package | deny | test | nightly | instructions | fuzz | bench | load | soak)
        shift
        "$verb" "$@"
        ;;
    bench-bevy)
        shift
        # A path is that of the caller's folder, which is the project's.
        scene=${1:+$(realpath "$1")}
        bench_bevy "$scene" "${@:2}"
        ;;
    same-packets) same_packets ;;
    clone-time) clone_time ;;
    compile-time)
        shift
        bench/compile_time.py "$@"
        ;;
    bench-against)
        shift
        bench/against.py "$@"
        ;;
    *)
        echo "usage: ./ci.sh fmt|lint|words|asserts|doc|test|nightly" >&2
        echo "       ./ci.sh no_std|msrv [--strict]|package [--verify]|deny|instructions" >&2
        echo "       ./ci.sh fuzz [SECONDS [TARGET...]]|load [SECONDS]|soak [MINUTES]" >&2
        echo "       ./ci.sh same-packets|clone-time|compile-time" >&2
        echo "       ./ci.sh bench [--quick] [--packet NAME] [--json]" >&2
        echo "       ./ci.sh bench-against REVISION [--packet NAME,NAME] [--rounds N]" >&2
        echo "       ./ci.sh bench-bevy SCENE [--frames N] [--runs N] [--clients N,N] [--only NAME]" >&2
        exit 2
        ;;
esac
