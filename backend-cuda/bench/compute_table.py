#!/usr/bin/env python3
"""Joins `devarray bench compute --json` with numbers of other libraries on the same card, as Markdown.

    compute_table.py ours.jsonl peers.json

`peers.json` is {"cases": {NAME: {"what": …, LIBRARY: number, …}, …}}: GB/s of least traffic, or microseconds a call where the
name begins with `small-`. A ratio above 1 says that devarray is faster. Cases that only one side has are listed below.
"""

import json
import math
import sys

LIBRARIES = {"torch": "PyTorch", "cupy": "CuPy", "jax": "JAX", "inductor": "torch.compile", "numba": "Numba"}


def is_small(name):
    return name.startswith("small-")


def read_ours(path):
    """{name: GB/s or microseconds}, {name: line}, {name: what is wrong}"""
    with open(path) as file:
        lines = [json.loads(line) for line in file if line.strip()]
    wrong = {line["case"]: line["error"] for line in lines if "error" in line}
    lines = {line["case"]: line for line in lines if "error" not in line}
    return {name: line["us" if is_small(name) else "gbps"] for name, line in lines.items()}, lines, wrong


def ratio(name, ours, theirs):
    """How much faster ours is."""
    return theirs / ours if is_small(name) else ours / theirs


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def cell(value, digits):
    return "–" if value is None else f"{value:,.{digits}f}"


def table(names, ours, lines, peers):
    """Prints one table: our number, that of memory, and our ratio to each library."""
    used = [library for library in LIBRARIES if any(library in peers[name] for name in names)]
    small = all(map(is_small, names))
    heading = ["case", "devarray, µs"] if small else ["case", "devarray, GB/s", "of memcpy", "first, ms"]
    heading += [f"× {LIBRARIES[library]}" for library in used] + ["× best"]
    print("| " + " | ".join(heading) + " |")
    print("|---|" + "---:|" * (len(heading) - 1))
    ratios = {name: {library: ratio(name, ours[name], peers[name][library]) for library in used if library in peers[name]} for name in names}
    for name in names:
        row = [f"`{name}`", cell(ours[name], 1)]
        if not small:
            row += [cell(lines[name]["ratio"], 3), cell(lines[name]["first_ms"], 1)]
        row += [cell(ratios[name].get(library), 2) for library in used]
        print("| " + " | ".join(row + [cell(min(ratios[name].values(), default=None), 2)]) + " |")
    print()
    for library in used:
        against = [found[library] for found in ratios.values() if library in found]
        print(f"- × {LIBRARIES[library]} ({len(against)}): geometric mean {mean(against):.3f}, lowest {min(against):.3f}")
    best = [min(found.values()) for found in ratios.values() if found]
    if best:
        print(f"- × the best of each case ({len(best)}): geometric mean {mean(best):.3f}, lowest {min(best):.3f}")
    if not small:
        share = [lines[name]["ratio"] for name in names]
        print(f"- of memcpy ({len(share)}): geometric mean {mean(share):.3f}, lowest {min(share):.3f}")
    print()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    ours, lines, wrong = read_ours(sys.argv[1])
    with open(sys.argv[2]) as file:
        peers = json.load(file)["cases"]
    shared = [name for name in peers if name in ours]
    for names in ([name for name in shared if not is_small(name)], [name for name in shared if is_small(name)]):
        if names:
            table(names, ours, lines, peers)
    for name, cause in wrong.items():
        print(f"- wrong: `{name}`: {cause}")
    for what, missing in (("not measured here", [name for name in peers if name not in ours and name not in wrong]), ("without peers", [name for name in ours if name not in peers])):
        if missing:
            print(f"- {what}: " + ", ".join(f"`{name}`" for name in missing))


if __name__ == "__main__":
    main()
