#!/usr/bin/env python3
"""Prints what 200 wire types cost a game's build: ours beside other codecs, in one run.

Each codec gets a crate with the same 150 structs and 50 enums of ten fields, which writes and reads each of
them. Dependencies are built first; then the crate alone is timed. User seconds and ratios, since wall-clock
seconds of a shared machine say little. The size is what the types add to the code of an empty program.

    ./ci.sh compile-time [--kinds tightwire,postcard,bitcode] [--profiles debug,release] [--check]

`--check` fails above the limits: 1.0 times postcard + serde in a debug build, 2.0 in a release build, and
450 KB in a release build.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile

STRUCTS, ENUMS = 150, 50
LIMITS = {"debug": 1.0, "release": 2.0}
RELEASE_KB = 450
TYPES = ["u32", "u16", "u8", "bool", "f32", "i32", "i16", "[f32; 3]", "String", "Option<u16>"]

DEPENDENCIES = {
    "bitcode": 'bitcode = "0.6"',
    "postcard": 'postcard = { version = "1", default-features = false, features = ["use-std"] }\n'
    'serde = { version = "1", features = ["derive"] }',
    "tightwire": 'tightwire = { path = "LIBRARY", default-features = false, features = ["std"] }',
}
DERIVES = {
    "bitcode": "bitcode::Encode, bitcode::Decode",
    "postcard": "serde::Serialize, serde::Deserialize",
    "tightwire": "tightwire::Wire",
}
# Of a value `v: &mut T` and a buffer `b`: how many bytes were written, whether they were read.
CALLS = {
    "bitcode": (
        "{ let x = bitcode::encode(v); let n = x.len().min(b.len()); b[..n].copy_from_slice(&x[..n]); n }",
        "match bitcode::decode(b) { Ok(x) => { *v = x; true } Err(_) => false }",
    ),
    "postcard": (
        "postcard::to_slice(v, b).map(|p| p.len()).unwrap_or(0)",
        "match postcard::from_bytes(b) { Ok(x) => { *v = x; true } Err(_) => false }",
    ),
    "tightwire": (
        "tightwire::encode(v, b).map(|p| p.len()).unwrap_or(0)",
        "tightwire::decode_into(b, v).is_ok()",
    ),
}


def attribute(kind, type_name, number):
    """The range of a field, in which only ours is interested."""
    if kind != "tightwire":
        return ""
    return {
        "u32": f"#[wire(range = 0..={1000 + number})] ",
        "u16": f"#[wire(range = 0..={500 + number})] ",
        "u8": "#[wire(range = 0..=100)] ",
        "i32": f"#[wire(range = -{1000 + number}..={1000 + number})] ",
        "i16": "#[wire(range = -100..=100)] ",
        "f32": "#[wire(min = -10.0, max = 10.0, resolution = 0.01)] ",
        "[f32; 3]": "#[wire(min = -256.0, max = 256.0, resolution = 0.001)] ",
        "String": "#[wire(max_len = 31)] ",
    }.get(type_name, "")


def fields(kind, number):
    for place in range(10):
        type_name = TYPES[(number + place) % 10]
        yield f"{attribute(kind, type_name, number)}f{place}: {type_name}"


def source(kind):
    derive = f"#[derive({DERIVES[kind]}, Default, Clone, Debug, PartialEq)]"
    lines = ["#![allow(dead_code, non_snake_case)]", "use std::hint::black_box;"]
    for number in range(STRUCTS):
        lines += [derive, f"pub struct S{number} {{ {', '.join(fields(kind, number))} }}"]
    for number in range(ENUMS):
        parts = list(fields(kind, number))
        variants = [f"V{v + 1} {{ {parts[2 * v]}, {parts[2 * v + 1]} }}" for v in range(5)]
        lines += [derive, f"pub enum E{number} {{ #[default] V0, {', '.join(variants)} }}"]
    encode, decode = CALLS[kind]
    names = [f"S{number}" for number in range(STRUCTS)] + [f"E{number}" for number in range(ENUMS)]
    for name in names:
        lines.append(
            f"#[inline(never)] fn one_{name}(b: &mut [u8]) -> usize {{"
            f" let mut value = {name}::default(); let v = black_box(&mut value);"
            f" let n = {{ {encode} }}; let b = &b[..n]; usize::from({{ {decode} }}) + n }}"
        )
    calls = " ".join(f"total += one_{name}(b);" for name in names)
    lines.append(f"fn main() {{ {EMPTY} {calls} println!(\"{{total}}\"); }}")
    return "\n".join(lines) + "\n"


EMPTY = "let mut buffer = [0u8; 4096]; let b = black_box(&mut buffer[..]); let mut total = b.len();"
EMPTY_SOURCE = f'use std::hint::black_box;\nfn main() {{ {EMPTY} total += 1; println!("{{total}}"); }}\n'


def build(folder, profile):
    """User seconds of a build."""
    flags = ["--release"] if profile == "release" else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = dict(os.environ, CARGO_INCREMENTAL="0", CARGO_TARGET_DIR=f"{folder}/target")
    done = subprocess.run(["cargo", "build", "--quiet", *flags], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[-3000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime


def code_bytes(folder, profile):
    """Machine code, constants and unwinding tables of the program."""
    sizes = subprocess.run(["size", f"{folder}/target/{profile}/types"], capture_output=True, text=True, check=True)
    return int(sizes.stdout.splitlines()[1].split()[0])


def measure(work, kind, profile, library):
    folder = f"{work}/{kind}"
    os.makedirs(f"{folder}/src", exist_ok=True)
    with open(f"{folder}/Cargo.toml", "w") as file:
        file.write('[package]\nname = "types"\nversion = "0.0.0"\nedition = "2024"\n\n[dependencies]\n')
        file.write(DEPENDENCIES[kind].replace("LIBRARY", library) + "\n\n[workspace]\n")
    for text in (EMPTY_SOURCE, source(kind)):
        with open(f"{folder}/src/main.rs", "w") as file:
            file.write(text)
        seconds = build(folder, profile)
        if text is EMPTY_SOURCE:
            empty = code_bytes(folder, profile)
    return seconds, code_bytes(folder, profile) - empty


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default="tightwire,postcard,bitcode")
    parser.add_argument("--profiles", default="debug,release")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check and "postcard" not in options.kinds.split(","):
        parser.error("--check compares with postcard: add it to --kinds")
    library = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "crates/tightwire")
    print(f"{STRUCTS} structs and {ENUMS} enums of ten fields, compiled alone")
    print(f"{'profile':8} {'codec':10} {'user s':>8} {'x postcard':>11} {'added KB':>9}")
    too_slow = too_large = False
    with tempfile.TemporaryDirectory() as work:
        for profile in options.profiles.split(","):
            rows = {kind: measure(work, kind, profile, library) for kind in options.kinds.split(",")}
            peer = rows.get("postcard")
            for kind, (seconds, size) in rows.items():
                ratio = seconds / peer[0] if peer else float("nan")
                too_slow |= kind == "tightwire" and ratio > LIMITS[profile]
                too_large |= kind == "tightwire" and profile == "release" and size / 1000 > RELEASE_KB
                print(f"{profile:8} {kind:10} {seconds:8.1f} {ratio:11.2f} {size / 1000:9.0f}", flush=True)
    if options.check and too_slow:
        sys.exit("derived code takes longer to compile than it may: see LIMITS")
    if options.check and too_large:
        sys.exit("derived code adds more to a release build than it may: see RELEASE_KB")


main()
