#!/usr/bin/env python3
"""Prints the time of Tightwire's packets relative to another commit, in one run.

Builds the benchmarks of both commits, runs them by turns, and divides the times of the same row. Rows of the
peers, whose code is the same in both, show what the machine and the layout of the code add: their geometric
mean is the last line of each table.

Where a short loop happens to begin changes its time by a tenth, and a change anywhere moves all code behind it. So both
are built with several alignments of loops, and a ratio is the geometric mean over these.

    ./ci.sh bench-against REVISION [--packet bodies,messages] [--rounds 8]

Both commits need `--quick --json --packet`; rows that only one of them has are left out.
"""

import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
PACKETS = "bodies,bodies_raw,inputs,buttons,places,messages,indices_2000,indices_32,plain,bits"
OURS = "tightwire"
ALIGN_LOOPS = "llvm-args=-x86-experimental-pref-innermost-loop-alignment="
# Powers of two; `None` leaves it to the compiler.
ALIGNMENTS = [None, 5, 6]


def build(bench, target, alignment):
    """Path of the benchmark program of a checkout. The alignment is that of its generic code, which is all that is timed."""
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target))
    flags = ["--", "-C", f"{ALIGN_LOOPS}{alignment}"] if alignment else []
    command = ["cargo", "rustc", "--release", "--quiet", "--bin", OURS + "-bench", *flags]
    subprocess.run(command, cwd=bench, env=environment, check=True)
    program = target / f"bench-{alignment}"
    shutil.copy(target / "release" / f"{OURS}-bench", program)
    return program


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


def mean(pairs):
    """Geometric means of ratios to write and to read."""
    return [math.exp(statistics.fmean(map(math.log, ratios))) for ratios in zip(*pairs)]


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
    builds = [
        (build(tree / "bench", target / f"build-{tree.name}", alignment), build(FOLDER, target / "build", alignment))
        for alignment in ALIGNMENTS
    ]

    print(f"time of this tree relative to {tree.name}, the best of {options.rounds} runs of {len(builds)} builds each")
    for packet in options.packet.split(","):
        of_builds = [compare(packet, programs, options.rounds) for programs in builds]
        if not all(of_builds):
            print(f"\n{packet}: not in both")
            continue
        ratios = {codec: mean(ratios[codec] for ratios in of_builds) for codec in of_builds[0]}
        print(f"\n{packet:<28}  write   read")
        for codec, (write, read) in ratios.items():
            if OURS in codec:
                each = "  ".join(f"{ratios[codec][0]:.2f} {ratios[codec][1]:.2f}" for ratios in of_builds)
                print(f"  {codec:<26}  {write:5.3f}  {read:5.3f}   {each}")
        write, read = mean(both for codec, both in ratios.items() if OURS not in codec)
        print(f"  {'(mean of the peers)':<26}  {write:5.3f}  {read:5.3f}", flush=True)


if __name__ == "__main__":
    main()
