#!/usr/bin/env python3
"""Merges `devarray bench copy --json` with `peers.py` of the same run into one table, as Markdown.

    table.py ours.jsonl peers.jsonl
"""

import json
import math
import pathlib
import sys

import cases

PEERS = {"torch": "PyTorch", "inductor": "torch.compile", "cupy": "CuPy", "xla": "JAX"}


def read(path):
    with open(path) as lines:
        return {line["case"]: line for line in map(json.loads, lines)}


def mean(ratios):
    ratios = list(ratios)
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def rows(ours, peers):
    """(case, our line, {peer: GB/s}, ceiling)"""
    for text, line in ours.items():
        found = {peer: gbps for peer in PEERS if (gbps := peers.get(text, {}).get(peer))}
        yield cases.parse(text), line, found, cases.ceiling(cases.parse(text))


def cell(value, digits=0):
    return "–" if value is None else f"{value:,.{digits}f}"


def compilers(table, when, peers):
    """Prints how we compare with the better of the two compilers, case by case."""
    better = {text: max(found) for text, line in peers.items() if (found := [line[c] for c in ("inductor", "xla") if line.get(c)])}
    compared = [(line, ceiling, better[case.text]) for case, line, _, ceiling in table if case.text in better]
    if not compared:
        return
    against = [line["gbps"] / best for line, _, best in compared]
    # What copies as fast as memory would have, however they are made.
    most = mean(max(line["gbps"], ceiling * line["memcpy_gbps"]) / best for line, ceiling, best in compared)
    print(f"- against the better compiler {when} ({len(against)}): {mean(against):.3f}, lowest {min(against):.3f}, at the ceilings {most:.3f}")


def main():
    ours, peers = read(sys.argv[1]), read(sys.argv[2]) if len(sys.argv) > 2 else {}
    table = list(rows(ours, peers))
    names = [peer for peer in PEERS if any(peer in found for _, _, found, _ in table)]
    heading = ["case", "devarray", "memcpy", "ratio", "ceiling", *(PEERS[name] for name in names), "× best peer"]
    print("| " + " | ".join(heading) + " |")
    print("|---|" + "---|" * (len(heading) - 1))
    for case, line, found, ceiling in table:
        best = max(found.values(), default=None)
        cells = [f"`{case.text}`", cell(line["gbps"]), cell(line["memcpy_gbps"]), cell(line["ratio"], 3), cell(ceiling, 2)]
        cells += [cell(found.get(name)) for name in names]
        cells.append(cell(best and line["gbps"] / best, 2))
        print("| " + " | ".join(cells) + " |")
    print()
    print(f"- {len(table)} cases, geometric mean of the ratio to memcpy: {mean(line['ratio'] for _, line, _, _ in table):.3f}")
    repeating = [line["ratio"] for _, line, _, ceiling in table if ceiling <= 1]
    print(f"- without those that repeat ({len(repeating)} cases): {mean(repeating):.3f}")
    print(f"- of each case's ceiling: {mean(line['ratio'] / ceiling for _, line, _, ceiling in table):.3f}")
    for name in names:
        against = [line["gbps"] / found[name] for _, line, found, _ in table if name in found]
        print(f"- against {PEERS[name]} ({len(against)} cases): {mean(against):.3f}, lowest {min(against):.3f}")
    with open(pathlib.Path(__file__).with_name("recorded.json")) as file:
        recorded = json.load(file)
    compilers(table, f"as measured on {recorded['date']} on another {recorded['device']}", recorded["cases"])
    here = {case.text: found for case, _, found, _ in table}
    compilers(table, "as measured in this run, these cases", {text: here[text] for text in recorded["cases"] if text in here})
    compilers(table, "as measured in this run", here)


if __name__ == "__main__":
    main()
