"""Tables of copies: case by case beside other libraries, lists of cases, small results, transfers and overheads."""

import json

import cases
from records import FOLDER, cards, cell, mean, read, table, where

PEERS = {"torch": "PyTorch", "inductor": "torch.compile", "cupy": "CuPy", "xla": "JAX"}
LISTS = {
    "large": "39 other shapes from 58 MB",
    "awkward": "60 random awkward shapes from 33 MB",
    "drawn": "200 shapes of rank 2 to 7 from 33 MB, drawn with a seed",
    "middle": "100 results of 3 to 50 MB",
    "odd": "64 odd cubes of 8 to 50 MB, 32 tall matrices",
    "wide": "84 matrices of few rows, 16 and 100 MB",
    "everyday": "72 copies of images, tables, attention and fields, 1 to 200 MB",
}


def rows_of(ours, peers):
    """(case, our line, {peer: GB/s}, ceiling) of each case."""
    for text, line in ours.items():
        found = {peer: gbps for peer in PEERS if (gbps := peers.get(text, {}).get(peer))}
        yield cases.parse(text), line, found, cases.ceiling(cases.parse(text))


def of_peers(card, name):
    """The peers' lines of a run, by case."""
    run = read(card, f"{name}_peers")
    return run.by() if run else {}


def of_cases(card):
    """Case by case, beside the peers that were measured on such a card."""
    run = read(card, "copy")
    if run is None:
        return "No run is recorded."
    lines = list(rows_of(run.by(), of_peers(card, "copy")))
    names = [peer for peer in PEERS if any(peer in found for _, _, found, _ in lines)]
    heading = ["case", "devarray", "memcpy", "ratio", "ceiling", *(PEERS[name] for name in names), "× best peer"]
    rows = []
    for case, line, found, ceiling in lines:
        best = max(found.values(), default=None)
        row = [f"`{case.text}`", cell(line["gbps"]), cell(line["memcpy_gbps"]), cell(line["ratio"], 3), cell(ceiling, 2)]
        row += [cell(found.get(name)) for name in names]
        rows.append([*row, cell(best and line["gbps"] / best, 2)])
    text = [where(run.header) + ".", "", table(heading, rows), ""]
    text.append(f"- {len(lines)} cases, geometric mean of the ratio to memcpy: {mean(line['ratio'] for _, line, _, _ in lines):.3f}")
    once = [line["ratio"] for _, line, _, ceiling in lines if ceiling <= 1]
    text.append(f"- without those that repeat elements ({len(once)} cases): {mean(once):.3f}")
    text.append(f"- of each case's ceiling: {mean(line['ratio'] / ceiling for _, line, _, ceiling in lines):.3f}")
    for name in names:
        against = [line["gbps"] / found[name] for _, line, found, _ in lines if name in found]
        text.append(f"- against {PEERS[name]} ({len(against)} cases): {mean(against):.3f}, lowest {min(against):.3f}")
    here = {case.text: found for case, _, found, _ in lines}
    bar = compilers(run.header["device"])
    text += better_compiler(lines, f"of {bar['date']} on another such card", bar["cases"])
    text += better_compiler(lines, "of the peers' run", here)
    text += [f"- wrong: `{name}`: {cause}" for name, cause in run.wrong().items()]
    peers = read(card, "copy_peers")
    if peers:
        text += ["", f"Peers: {where(peers.header)}; {peers.header['versions']}."]
    return "\n".join(text)


def compilers(device):
    """The recorded figures of the compilers; without cases on any other device than the one they were measured on."""
    found = json.loads((FOLDER / "compilers.json").read_text())
    return found if found["device"] == device else {**found, "cases": {}}


def against_compilers(lines, peers):
    """Our speed over the better compiler's, for each case that it has."""
    better = {text: max(found) for text, line in peers.items() if (found := [line[c] for c in ("inductor", "xla") if line.get(c)])}
    return [line["gbps"] / better[case.text] for case, line, _, _ in lines if case.text in better]


def better_compiler(lines, when, peers):
    """One line: how we compare with the better of two compilers, case by case."""
    against = against_compilers(lines, peers)
    return [f"- against the better compiler {when} ({len(against)}): {mean(against):.3f}, lowest {min(against):.3f}"] if against else []


def of_lists():
    """Each recorded list of cases: geometric mean and lowest."""
    rows = []
    for name, what in LISTS.items():
        for card in cards():
            if (run := read(card, name)) and run.by():
                lines = sorted(run.by().values(), key=lambda line: line["ratio"])
                ratios = [line["ratio"] for line in lines]
                low = sum(ratio < 0.9 for ratio in ratios)
                rows.append([f"`{name}`", what, where(run.header), str(len(lines)), f"{mean(ratios):.3f}", str(low), f"{ratios[0]:.3f}", f"`{lines[0]['case']}`"])
    if not rows:
        return "No run is recorded."
    return table(["list", "what", "run", "cases", "geometric mean", "below 0.9", "lowest", "which"], rows, 3)


def of_small(card):
    """Microseconds of small results, beside PyTorch's."""
    run, peers = read(card, "small"), of_peers(card, "small")
    if run is None:
        return "No run is recorded."
    rows, ratios = [], []
    for text, line in run.by().items():
        gbps = peers.get(text, {}).get("torch")
        theirs = gbps and bytes_of(text) / gbps / 1e9
        if theirs:
            ratios.append(theirs / line["median_s"])
        rows.append([f"`{text}`", cell(line["median_s"] * 1e6, 1), cell(theirs and theirs * 1e6, 1)])
    text = [where(run.header) + ".", "", table(["case", "devarray, µs", "PyTorch, µs"], rows)]
    if ratios:
        faster = sum(ratio > 1 for ratio in ratios)
        text += ["", f"Faster than PyTorch: {faster} of {len(ratios)}, geometric mean {mean(ratios):.2f}, lowest {min(ratios):.2f}."]
    return "\n".join(text)


def bytes_of(text):
    """Bytes that a case of a whole array moves: it is read once and written once."""
    case = cases.parse(text)
    count = case.width
    for extent in case.shape:
        count *= extent
    return 2 * count


def of_transfers(card):
    """Copies between host and device."""
    run, peers = read(card, "transfer"), of_peers(card, "transfer")
    if run is None:
        return "No run is recorded."
    names = run.by()
    text = [where(run.header) + "."]
    for kind in ("pinned", "pageable"):
        sizes = [name.split("-")[-1] for name in names if name.startswith(f"{kind}-to-device-")]
        heading, rows = ["bytes"], []
        for direction, what in (("to-device", "to device"), ("from-device", "back")):
            heading += [f"{kind} {what}", "driver", "PyTorch"]
        for size in sizes:
            row = [size]
            for direction in ("to-device", "from-device"):
                name = f"{kind}-{direction}-{size}"
                line = names.get(name, {})
                # A transfer reads or writes device memory once: half of what a copy on the device moves.
                row += [cell(line.get("gbps"), 1), cell(line.get("memcpy_gbps"), 1), cell(peers.get(name, {}).get("torch"), 1)]
            rows.append(row)
        text += ["", table(heading, rows)]
    others = [name for name in names if not name.startswith(("pinned-", "pageable-"))]
    if others:
        rows = [[f"`{name}`", cell(names[name]["gbps"], 1), cell(names[name]["ratio"], 2)] for name in others]
        text += ["", table(["others", "GB/s", "× reference"], rows)]
    return "\n".join(text)


def of_joins(card):
    """Joins and paddings."""
    run = read(card, "joins")
    if run is None:
        return "No run is recorded."
    lines = run.by()
    rows = [[f"`{name}`", cell(line["gbps"]), cell(line["memcpy_gbps"]), cell(line["ratio"], 3)] for name, line in lines.items()]
    text = [where(run.header) + ".", "", table(["case", "GB/s", "memcpy", "ratio"], rows)]
    text += [f"\n- wrong: `{name}`: {cause}" for name, cause in run.wrong().items()]
    return "\n".join(text)


def of_overheads(card):
    """Nanoseconds a call."""
    run = read(card, "overhead")
    if run is None:
        return "No run is recorded."
    rows = [[line["call"], cell(line["ns"]), cell(line["raw_ns"]), cell(line["ratio"], 2)] for line in run.lines]
    return "\n".join([where(run.header) + ".", "", table(["call", "devarray, ns", "driver, ns", "ratio"], rows)])
