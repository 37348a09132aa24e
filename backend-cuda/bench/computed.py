"""Tables of functions and reductions beside other libraries: GB/s of least traffic, or microseconds a call of small arrays.

`recorded/CARD/compute_peers.json` is {"cases": {NAME: {"what": …, LIBRARY: number, …}, …}}, in microseconds where the name begins
with `small-`. A ratio above 1 says that devarray is faster. Cases that only one side has are listed below.
"""

import json

from records import FOLDER, cell, mean, read, table, where

LIBRARIES = {"torch": "PyTorch", "cupy": "CuPy", "jax": "JAX", "inductor": "torch.compile", "numba": "Numba"}


def is_small(name):
    return name.startswith("small-")


def ratio(name, ours, theirs):
    """How much faster ours is."""
    return theirs / ours if is_small(name) else ours / theirs


def of_names(names, lines, peers):
    """One table: our number, the memory's, and our ratio to each library."""
    used = [library for library in LIBRARIES if any(library in peers[name] for name in names)]
    small = all(map(is_small, names))
    heading = ["case", "devarray, µs"] if small else ["case", "devarray, GB/s", "of memcpy", "first, ms"]
    heading += [f"× {LIBRARIES[library]}" for library in used] + ["× best"]
    ours = {name: lines[name]["us" if small else "gbps"] for name in names}
    ratios = {name: {library: ratio(name, ours[name], peers[name][library]) for library in used if library in peers[name]} for name in names}
    rows = []
    for name in names:
        row = [f"`{name}`", cell(ours[name], 1)]
        if not small:
            row += [cell(lines[name]["ratio"], 3), cell(lines[name]["first_ms"], 1)]
        row += [cell(ratios[name].get(library), 2) for library in used]
        rows.append([*row, cell(min(ratios[name].values(), default=None), 2)])
    text = [table(heading, rows), ""]
    for library in used:
        against = [found[library] for found in ratios.values() if library in found]
        text.append(f"- × {LIBRARIES[library]} ({len(against)}): geometric mean {mean(against):.3f}, lowest {min(against):.3f}")
    if best := [min(found.values()) for found in ratios.values() if found]:
        text.append(f"- × the best of each case ({len(best)}): geometric mean {mean(best):.3f}, lowest {min(best):.3f}")
    behind = [f"`{name}`" for name in names if ratios[name] and min(ratios[name].values()) < 0.95]
    if behind:
        text.append(f"- behind the best by more than 5 %: {', '.join(behind)}")
    if not small:
        share = [lines[name]["ratio"] for name in names]
        text.append(f"- of memcpy ({len(share)}): geometric mean {mean(share):.3f}, lowest {min(share):.3f}")
    return [*text, ""]


def of_compute(card):
    """Both tables, and what is in neither."""
    run = read(card, "compute")
    if run is None:
        return "No run is recorded."
    lines, wrong = run.by(), run.wrong()
    peers = json.loads((FOLDER / card / "compute_peers.json").read_text())["cases"]
    shared = [name for name in peers if name in lines]
    text = [where(run.header) + ".", ""]
    for names in ([name for name in shared if not is_small(name)], [name for name in shared if is_small(name)]):
        if names:
            text += of_names(names, lines, peers)
    text += [f"- wrong: `{name}`: {cause}" for name, cause in wrong.items()]
    missing = [name for name in peers if name not in lines and name not in wrong]
    for what, names in (("not measured here", missing), ("without peers", [name for name in lines if name not in peers])):
        if names:
            text.append(f"- {what}: " + ", ".join(f"`{name}`" for name in names))
    return "\n".join(text)


def of_hard(card):
    """Reductions that are hard."""
    run = read(card, "hard")
    if run is None:
        return "No run is recorded."
    lines = run.by()
    share = [line["ratio"] for line in lines.values()]
    rows = [[f"`{name}`", cell(line["median_s"] * 1e6, 1), cell(line["gbps"]), cell(line["ratio"], 3)] for name, line in lines.items()]
    total = f"- of memcpy ({len(share)}): geometric mean {mean(share):.3f}, lowest {min(share):.3f}"
    wrong = [f"- wrong: `{name}`: {cause}" for name, cause in run.wrong().items()]
    return "\n".join([where(run.header) + ".", "", table(["reduction", "µs", "GB/s", "of memcpy"], rows), "", total, *wrong])


def of_picked(card):
    """Elements by index."""
    run = read(card, "picked")
    if run is None:
        return "No run is recorded."
    heading = ["elements by index", "µs", "GB/s", "of memcpy"]
    rows = [[name, cell(line["us"], 1), cell(line["gbps"]), cell(line["ratio"], 3)] for name, line in run.by().items()]
    return "\n".join([where(run.header) + ".", "", table(heading, rows)])
