#!/usr/bin/env python3
"""Order, sums by index and products: the cases, what PyTorch and CuPy take for them, and the table of both.

    calls.py peers > recorded/CARD/calls_peers.jsonl    # on the card, with torch and cupy installed

A line of peers is {"case", LIBRARY: seconds, …}: the median of runs of at least 60 ms, by events around calls back to back.
`record.py calls` measures ours, on the same card.
"""

import json
import math
import statistics
import sys
from dataclasses import dataclass

from records import FOLDER, cell, mean, read, read_lines, table, where


@dataclass(frozen=True)
class Case:
    """A case of `devarray bench call`, and the same call of other libraries.

    `torch` and `cupy` are Python text: `make` of the operands, and `call`. `unit` and `work` say how a rate is told: 10^9
    elements, GB or 10^12 operations a second.
    """

    name: str
    ours: str
    unit: str
    work: float
    operands: str
    torch: str
    cupy: str


def n(power):
    return 1 << power


def square(type_name, size, unit="TFLOP/s"):
    make = f"rand({size}, {size}, '{type_name}'), rand({size}, {size}, '{type_name}')"
    call = f"matmul;{type_name}@{size}x{size},{type_name}@{size}x{size}"
    return Case(f"product of {size} x {size}, {type_name}", call, unit, 2 * size**3, make, "torch.matmul(*x)", "cp.matmul(*x)")


CASES = [
    Case("sort of 2^28 f32", f"sort;f32@{n(28)};axis=0", "G/s", n(28), f"rand({n(28)}, 'f32')", "torch.sort(x).values", "cp.sort(x)"),
    Case("sort of 2^28 u32", f"sort;u32@{n(28)};axis=0", "G/s", n(28), f"ints({n(28)}, 'u32')", "", "cp.sort(x)"),
    Case("sort of 2^27 u64", f"sort;u64@{n(27)};axis=0", "G/s", n(27), f"ints({n(27)}, 'u64')", "", "cp.sort(x)"),
    Case("sort of 2^20 f32", f"sort;f32@{n(20)};axis=0", "G/s", n(20), f"rand({n(20)}, 'f32')", "torch.sort(x).values", "cp.sort(x)"),
    Case("argsort of 2^28 f32", f"argsort;f32@{n(28)};axis=0", "G/s", n(28), f"rand({n(28)}, 'f32')", "torch.argsort(x)", "cp.argsort(x)"),
    Case("argsort of 10,000 rows of 1,000 f32", "argsort;f32@10000x1000;axis=1", "G/s", 1e7, "rand(10000, 1000, 'f32')", "torch.argsort(x, dim=1)", "cp.argsort(x, axis=1)"),
    Case("100 largest of 2^24 f32", f"topk;f32@{n(24)};k=100,axis=0", "GB/s", 4 * n(24), f"rand({n(24)}, 'f32')", "torch.topk(x, 100)", ""),
    Case("distinct of 2^24 i32", f"unique;i32@{n(24)}", "G/s", n(24), f"ints({n(24)}, 'i32')", "torch.unique(x, return_inverse=True, return_counts=True)", "cp.unique(x, return_inverse=True, return_counts=True)"),
    Case("counts of 2^26 i32 in 256", f"bincount;i32@{n(26)};n=256", "G/s", n(26), f"below({n(26)}, 256)", "torch.bincount(x, minlength=256)", "cp.bincount(x, minlength=256)"),
    Case("2^26 f32 added into 10^6", f"put;f32@1000000,i32@{n(26)},f32@{n(26)};op=add,axis=0", "G/s", n(26), f"below({n(26)}, 1000000), rand({n(26)}, 'f32'), zeros(1000000)", "x[2].index_add_(0, x[0], x[1])", "cp.add.at(x[2], x[0], x[1])"),
    Case("2^26 f32 added into one", f"put;f32@1,i32@{n(26)},f32@{n(26)};op=add,axis=0", "G/s", n(26), f"below({n(26)}, 1), rand({n(26)}, 'f32'), zeros(1)", "x[2].index_add_(0, x[0], x[1])", "cp.add.at(x[2], x[0], x[1])"),
    square("f32", 512),
    square("f32", 1024),
    square("f32", 4096),
    square("f32", 8192),
    square("f64", 4096),
    Case("1,000 products of 128 x 128, f32", "matmul;f32@1000x128x128,f32@1000x128x128", "TFLOP/s", 2000 * 128**3, "rand(1000, 128, 128, 'f32'), rand(1000, 128, 128, 'f32')", "torch.matmul(*x)", "cp.matmul(*x)"),
    Case("8192 x 8192 times 16 columns, f32", "matmul;f32@8192x8192,f32@8192x16", "GB/s", 4 * (8192**2 + 2 * 8192 * 16), "rand(8192, 8192, 'f32'), rand(8192, 16, 'f32')", "torch.matmul(*x)", "cp.matmul(*x)"),
    Case("8192 x 8192 times a vector, f32", "matmul;f32@8192x8192,f32@8192", "GB/s", 4 * (8192**2 + 2 * 8192), "rand(8192, 8192, 'f32'), rand(8192, 'f32')", "torch.matmul(*x)", "cp.matmul(*x)"),
]
SCALES = {"G/s": 1e9, "GB/s": 1e9, "TFLOP/s": 1e12}


def seconds_of(call, event, elapsed):
    """The median seconds of a call."""
    for _ in range(3):
        call()

    def run(count):
        begin, end = event(), event()
        begin.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        return elapsed(begin, end) / 1e3 / count

    once = run(1)
    count = max(1, min(50, math.ceil(2e-4 / max(once, 1e-7))))
    runs = max(3, min(20, math.ceil(0.06 / (once * count))))
    return statistics.median(run(count) for _ in range(runs))


def peers():
    """Measures the libraries that are installed."""
    import cupy as cp
    import torch

    types = {"f32": "float32", "f64": "float64", "i32": "int32", "u32": "uint32", "u64": "uint64"}

    def rand(*shape_and_type):
        *shape, of = shape_and_type
        return cp.random.standard_normal(shape, dtype=types[of]) if len(shape) < 3 else cp.random.standard_normal(shape).astype(types[of])

    def ints(count, of):
        words = cp.random.randint(0, 256, count * (8 if of.endswith("64") else 4), dtype=cp.uint8)
        return words.view(types[of])

    def below(count, most):
        return cp.random.randint(0, most, count, dtype=cp.int32)

    names = {"rand": rand, "ints": ints, "below": below, "zeros": lambda count: cp.zeros(count, cp.float32), "cp": cp, "torch": torch}
    for case in CASES:
        line = {"case": case.ours, "name": case.name}
        made = eval(case.operands, names)
        ways = {
            "torch": (case.torch, lambda of: torch.as_tensor(of, device="cuda"), lambda: torch.cuda.Event(enable_timing=True), lambda a, b: a.elapsed_time(b)),
            "cupy": (case.cupy, lambda of: of, cp.cuda.Event, cp.cuda.get_elapsed_time),
        }
        for library, (text, convert, event, elapsed) in ways.items():
            if not text:
                continue
            x = tuple(map(convert, made)) if isinstance(made, tuple) else convert(made)
            call = eval(f"lambda: {text}", {**names, "x": x})
            line[library] = seconds_of(call, event, elapsed)
            del x, call
        torch.cuda.empty_cache()
        del made
        cp.get_default_memory_pool().free_all_blocks()
        print(json.dumps(line), flush=True)
    versions = {"torch": torch.__version__, "cupy": cp.__version__}
    print(json.dumps({"versions": versions}), flush=True)


def of_calls(card):
    """The table of a card, and the means."""
    run = read(card, "calls")
    if run is None:
        return "No run is recorded."
    ours, wrong = run.by(), run.wrong()
    lines = read_lines(card, "calls_peers")
    theirs = {line["case"]: line for line in lines if "case" in line}
    versions = next((line["versions"] for line in lines if "versions" in line), {})
    names = {"torch": "PyTorch", "cupy": "CuPy"}
    rows, ratios = [], {library: [] for library in names}
    for case in CASES:
        if case.ours not in ours:
            continue
        seconds = ours[case.ours]["median_s"]
        row = [case.name, case.unit, cell(case.work / seconds / SCALES[case.unit], 1)]
        for library in names:
            other = theirs.get(case.ours, {}).get(library)
            row.append(cell(other and other / seconds, 2))
            if other:
                ratios[library].append(other / seconds)
        rows.append(row)
    heading = ["call", "unit", "devarray", *(f"× {names[library]} {versions.get(library, '')}".strip() for library in names)]
    text = [where(run.header), "", table(heading, rows, text_columns=2), ""]
    for library, against in ratios.items():
        if against:
            text.append(f"- × {names[library]} ({len(against)}): geometric mean {mean(against):.2f}, lowest {min(against):.2f}")
    text += [f"- `{case}`: {error}" for case, error in wrong.items()]
    return "\n".join(text)


if __name__ == "__main__":
    if sys.argv[1:] == ["peers"]:
        peers()
    else:
        sys.exit(__doc__)
