#!/usr/bin/env python3
"""Compares time and memory of `devarray relayout` on the simulator with NumPy's, on one file, in turn.

    cargo build --release -p devarray-cli
    python3 conformance/cli/tests/relayout_cost.py target/release/devarray --mib 2048 --folder /some/folder

NumPy calls np.load, transpose, slice, np.ascontiguousarray and np.save. Prints seconds, processor seconds and peak
resident memory of each run. Fails if the files differ, if the best run of the command takes more time than NumPy's best
run, or if its peak memory over all runs is more than 1.2 times NumPy's. An old output is removed before each run: the
command replaces a file only when the new one is complete, so that both would take room.
"""

import argparse
import filecmp
import os
import sys
import time
from pathlib import Path

NUMPY = """
import sys, numpy as np
a = np.load(sys.argv[1])
np.save(sys.argv[2], np.ascontiguousarray(a.transpose(2, 0, 1)[::2]))
"""

MOST_MEMORY = 1.2


def make(path, mib):
    import numpy as np

    rows = mib // 4
    a = np.lib.format.open_memmap(path, mode="w+", dtype="<f4", shape=(rows, 1024, 1024))
    for i in range(rows):
        a[i] = np.arange(1 << 20, dtype="<f4").reshape(1024, 1024) + i
    a.flush()


def cost(command):
    begun = time.perf_counter()
    child = os.spawnvp(os.P_NOWAIT, command[0], command)
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit(f"failed: {command}")
    return time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path("target"))
    arguments = parser.parse_args()
    source, ours, theirs = (arguments.folder / f"relayout_cost_{name}.npy" for name in ("in", "ours", "numpy"))
    commands = {
        "numpy": [sys.executable, "-c", NUMPY, str(source), str(theirs)],
        "devarray": [arguments.binary, "relayout", str(source), "-o", str(ours), "--backend", "mock", "--quiet",
                     "--steps", "permute(2,0,1)/index(::2)"],
    }
    best = {}
    try:
        make(source, arguments.mib)
        for _ in range(arguments.runs):
            for (name, command), output in zip(commands.items(), (theirs, ours)):
                output.unlink(missing_ok=True)
                seconds, processor, mib = cost(command)
                print(f"{name:<10} {seconds:8.2f} s {processor:8.2f} s of a processor {mib:10.0f} MiB", flush=True)
                known = best.get(name, (seconds, processor, mib))
                best[name] = (min(known[0], seconds), min(known[1], processor), max(known[2], mib))
        if not filecmp.cmp(ours, theirs, shallow=False):
            sys.exit("the files differ")
    finally:
        for path in (source, ours, theirs):
            path.unlink(missing_ok=True)
    time_ratio, processor_ratio, memory_ratio = (best["devarray"][k] / best["numpy"][k] for k in (0, 1, 2))
    print(f"devarray / numpy: {time_ratio:.2f} of the time, {processor_ratio:.2f} of the processor, {memory_ratio:.2f} of the memory")
    if time_ratio > 1 or memory_ratio > MOST_MEMORY:
        sys.exit("more than allowed")


if __name__ == "__main__":
    main()
