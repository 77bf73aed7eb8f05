#!/usr/bin/env python3
"""Prints the time of Tightwire's packets relative to another commit, in one run.

Builds the benchmarks of both commits, runs them by turns, and divides the times of the same row. Rows of the
peers, whose code is the same in both, show what the machine and the layout of the code add: their geometric
mean is the last line of each table. Loops are aligned to cache lines: where they happen to begin changes short ones by
a tenth.

    ./ci.sh bench-against REVISION [--packet bodies,messages] [--rounds 8]

Both commits need `--quick --json --packet`; rows that only one of them has are left out.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
PACKETS = "bodies,bodies_raw,inputs,buttons,places,messages,indices_2000,indices_32,plain,bits"
OURS = "tightwire"
ALIGNED_LOOPS = "-C llvm-args=-x86-experimental-pref-innermost-loop-alignment=6"


def build(bench, target):
    """Path of the benchmark program of a checkout."""
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target), RUSTFLAGS=ALIGNED_LOOPS)
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=bench, env=environment, check=True)
    return target / "release" / "tightwire-bench"


def checkout(revision, folder):
    """Checks a commit out beside the project, once."""
    if not folder.exists():
        subprocess.run(["git", "worktree", "prune"], cwd=FOLDER, check=True)
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(folder), revision], cwd=FOLDER, check=True)


def times(program, packet):
    """Nanoseconds of each codec to write and to read the packet; `None` if the program has no such packet."""
    done = subprocess.run([program, "--quick", "--json", "--packet", packet], capture_output=True, text=True)
    if done.returncode:
        return None
    return {row["codec"]: (row["write_ns"], row["read_ns"]) for row in json.loads(done.stdout)}


def compare(packet, programs, rounds):
    """Ratios of this commit's times to the other's, by codec: each the best of all rounds."""
    best = [{}, {}]
    for _ in range(rounds):
        for program, kept in zip(programs, best):
            rows = times(program, packet)
            if rows is None:
                return {}
            for codec, both in rows.items():
                kept[codec] = [min(pair) for pair in zip(both, kept.get(codec, both))]
    old, new = best
    return {codec: [n / o for n, o in zip(new[codec], old[codec])] for codec in new if codec in old}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision")
    parser.add_argument("--packet", default=PACKETS)
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()

    name = subprocess.run(
        ["git", "rev-parse", "--short", f"{options.revision}^{{commit}}"], cwd=FOLDER, capture_output=True, text=True
    )
    if name.returncode:
        sys.exit(name.stderr.strip())
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", FOLDER.parent / "target")) / "against"
    tree = target / name.stdout.strip()
    checkout(options.revision, tree)
    programs = [build(tree / "bench", target / f"build-{tree.name}"), build(FOLDER, target / "build")]

    print(f"time of this tree relative to {tree.name}, the best of {options.rounds} runs each")
    for packet in options.packet.split(","):
        ratios = compare(packet, programs, options.rounds)
        if not ratios:
            print(f"\n{packet}: not in both")
            continue
        print(f"\n{packet:<28}  write   read")
        for codec, (write, read) in ratios.items():
            if OURS in codec:
                print(f"  {codec:<26}  {write:5.3f}  {read:5.3f}")
        peers = [both for codec, both in ratios.items() if OURS not in codec]
        means = [math.exp(statistics.fmean(math.log(both[way]) for both in peers)) for way in (0, 1)]
        print(f"  {'(mean of the peers)':<26}  {means[0]:5.3f}  {means[1]:5.3f}", flush=True)


if __name__ == "__main__":
    main()
