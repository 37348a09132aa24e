#!/usr/bin/env python3
"""Times products with `Precision::Fast` beside torch.matmul, in one run on one card, and prints the ratios.

    cargo test --release -p devarray-cuda --test card --no-run
    python3 backend-cuda/bench/fast_products.py target/release/deps/card-…

Both are timed alike: products in a row into one result, between two events, the best of five runs; the library is the one
that PyTorch brought. `--rounds` repeats both in turn and keeps the best of each. Exits with 1 below `--least`.
"""

import argparse
import json
import os
import site
import subprocess
import sys
import time

import torch

TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}


def ours(binary: str) -> dict[tuple[str, int], float]:
    """TFLOP/s by type and extent, as the test prints them."""
    packages = os.pathsep.join([*site.getsitepackages(), site.getusersitepackages(), os.environ.get("PYTHONPATH", "")])
    command = [binary, "hardware_fast::speed", "--exact", "--ignored", "--nocapture"]
    run = subprocess.run(command, env=os.environ | {"PYTHONPATH": packages}, capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stdout + run.stderr)
    lines = [line[line.index("{"):] for line in run.stdout.splitlines() if '{"type"' in line]
    return {(line["type"], line["n"]): line["tflops"] for line in map(json.loads, lines)}


def theirs(dtype: torch.dtype, n: int) -> float:
    """TFLOP/s of torch.matmul, timed as the test times."""
    torch.backends.cuda.matmul.allow_tf32 = True
    a = ((torch.rand(n, n, device="cuda") + 0.0625) * torch.tensor([1.0, -1.0], device="cuda").repeat(n // 2)).to(dtype)
    out = torch.empty_like(a)

    def run(times: int) -> None:
        for _ in range(times):
            torch.matmul(a, a, out=out)

    run(5)
    torch.cuda.synchronize()
    begun = time.perf_counter()
    run(10)
    torch.cuda.synchronize()
    times = int(min(max(0.2 / ((time.perf_counter() - begun) / 10), 20), 5000))
    best = float("inf")
    for _ in range(5):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run(times)
        end.record()
        torch.cuda.synchronize()
        best = min(best, start.elapsed_time(end) / times)
    return 2 * n**3 / best / 1e9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="the test binary `card`")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--least", type=float, default=0.0, help="the least ratio of bf16 and f16 from 2048 on")
    arguments = parser.parse_args()
    mine: dict[tuple[str, int], float] = {}
    other: dict[tuple[str, int], float] = {}
    for _ in range(arguments.rounds):
        for case, tflops in ours(arguments.binary).items():
            mine[case] = max(mine.get(case, 0.0), tflops)
        for case in mine:
            other[case] = max(other.get(case, 0.0), theirs(TYPES[case[0]], case[1]))
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    worst = float("inf")
    for (kind, n), tflops in mine.items():
        ratio = tflops / other[kind, n]
        print(f"{kind:>5} {n:5}: {tflops:7.1f} TFLOP/s, torch {other[kind, n]:7.1f}, ratio {ratio:.3f}")
        if kind != "f32" and n >= 2048:
            worst = min(worst, ratio)
    print(f"worst of bf16 and f16 from 2048 on: {worst:.3f}")
    return int(worst < arguments.least)


if __name__ == "__main__":
    sys.exit(main())
