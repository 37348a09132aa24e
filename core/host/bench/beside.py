"""Runs devarray's host device and its peers on this machine, one after the other, and prints a table of ratios.

usage: beside.py [--n N] [--threads T] [--rounds R] [--speed PROGRAM] [--save FILE.jsonl] [PEER...]
       beside.py --show FILE.jsonl...
       beside.py --page FILE.jsonl > SPEED.md

Each peer runs with one thread and with T threads; T is the number of cores unless told. A ratio is the peer's time
divided by ours: above 1, ours is faster. The best time of several rounds counts, because machines slow down for
minutes. Peers are numpy, torch, jax, ndarray and numr. Unless some are named, all that are installed run.
PROGRAM is what `cargo build --release --manifest-path core/host/bench/Cargo.toml` builds.
"""
import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PYTHON, RUST = ("numpy", "torch", "jax"), ("ndarray", "numr")
SERIAL = ("numpy", "ndarray")  # these have no threads of their own


def run(peer, threads, arguments):
    count = str(threads)
    environment = dict(os.environ, OMP_NUM_THREADS=count, OPENBLAS_NUM_THREADS=count, RAYON_NUM_THREADS=count,
                       DEVARRAY_THREADS=count)
    program = [sys.executable, str(HERE / "peers.py")] if peer in PYTHON else [arguments.speed]
    command = [*program, peer, str(arguments.n)]
    if threads == 1:
        command = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    for line in done.stdout.splitlines():
        yield {**json.loads(line), "threads": threads}


def cpu():
    for line in open("/proc/cpuinfo"):
        if "model name" in line:
            return line.split(":")[1].strip()
    return "a CPU"


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def table(lines):
    about, lines = lines[0], lines[1:]
    # Slow rounds come first, so that the best round overwrites the others.
    timed = sorted((l for l in lines if "ms" in l), key=lambda line: -line["ms"])
    times = {(l["case"], l["peer"], l["threads"]): l for l in timed}
    cases = list(dict.fromkeys(l["case"] for l in lines if l["peer"] == "devarray" and l["case"] != "memcpy"))
    peers = list(dict.fromkeys(l["peer"] for l in lines if l["peer"] != "devarray"))
    print(f"{about['cpu']}, {about['n']} x {about['n']} elements")
    for threads in dict.fromkeys(l["threads"] for l in lines):
        ours = {case: times.get((case, "devarray", threads)) for case in cases}
        here = [peer for peer in peers if any((case, peer, threads) in times for case in cases)]
        best_of = [peer for peer in here if peer in PYTHON and (threads == 1 or peer != "numpy")]
        copy = times.get(("memcpy", "devarray", threads))
        print(f"\n{threads} thread{'s' if threads > 1 else ''}; a copy of memory: {copy['gbps']:.1f} GB/s\n")
        print("| case | ms | GB/s | by the copy | " + " | ".join(here) + f" | best of {', '.join(best_of)} |")
        print("|---|--:|--:|--:|" + "--:|" * (len(here) + 1))
        columns = {name: [] for name in [*here, "best"]}
        for case in cases:
            line = ours[case]
            if line is None:
                continue
            ratio = {peer: times[case, peer, threads]["ms"] / line["ms"] for peer in here if (case, peer, threads) in times}
            fastest = [ratio[peer] for peer in best_of if peer in ratio]
            if fastest:
                ratio["best"] = min(fastest)
            for name, value in ratio.items():
                columns[name].append(value)
            cells = [f"{ratio[name]:.2f}" if name in ratio else "" for name in columns]
            by_copy = f"{line['gbps'] / copy['gbps']:.2f}" if line["gbps"] else ""
            print(f"| {case} | {line['ms']:.3f} | {line['gbps']:.1f} | {by_copy} | " + " | ".join(cells) + " |")
        print("| geometric mean | | | | " + " | ".join(f"{mean(of):.2f}" for of in columns.values()) + " |")
        print("| least | | | | " + " | ".join(f"{min(of):.2f}" if of else "" for of in columns.values()) + " |")


PAGE = """# Speed of the CPU's device

devarray beside NumPy, PyTorch, JAX, ndarray and numr, on one core and on all cores. A peer's column is its
time divided by ours: above 1, devarray is faster. "By the copy" is our throughput divided by a memory
copy's with as many threads. Each process reports the median of 15 calls; the table has the best of
three runs of the process, for ndarray and numr of one run. `small-add-1000` is 1,000 calls on 1,000
elements: its ms are µs for each call. Recorded on 2026-11-27, on a virtual machine that shares memory
bandwidth and the last-level cache. If results differ, ours are correct: functions of `f32` are correctly
rounded, and no result depends on the number of threads.

Written by `python3 core/host/bench/beside.py --page core/host/bench/xeon.jsonl`. For a machine of your
own: `cargo build --release --manifest-path core/host/bench/Cargo.toml`, then
`python3 core/host/bench/beside.py`.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--speed", default=str(HERE / "target/release/devarray-host-bench"))
    parser.add_argument("--save")
    parser.add_argument("--show", nargs="+")
    parser.add_argument("--page")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("peers", nargs="*")
    arguments = parser.parse_args()
    if arguments.page:
        print(PAGE)
        arguments.show = [arguments.page]
    if arguments.show:
        files = [[json.loads(line) for line in open(file)] for file in arguments.show]
        return table([files[0][0], *(line for file in files for line in file[1:])])
    peers = arguments.peers or [*filter(importlib.util.find_spec, PYTHON), *RUST]
    lines = [{"cpu": cpu(), "n": arguments.n}]
    for threads in [*dict.fromkeys((1, arguments.threads))] * arguments.rounds:
        for peer in ["devarray", *peers]:
            if threads == 1 or peer not in SERIAL:
                lines += run(peer, threads, arguments)
    if arguments.save:
        Path(arguments.save).write_text("".join(json.dumps(line) + "\n" for line in lines))
    table(lines)


main()
