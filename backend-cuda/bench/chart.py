#!/usr/bin/env python3
"""Draws cases against memcpy, the peers of the same run beside them. Needs what requirements.txt names.

    chart.py h100 chart.svg    # from recorded/h100/copy.jsonl and copy_peers.jsonl
"""

import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

import copies  # noqa: E402
from records import read, where  # noqa: E402

MARKS = {"torch": ("v", "#c44e52"), "inductor": ("s", "#dd8452"), "cupy": ("^", "#8172b3"), "xla": ("D", "#55a868")}


def main():
    card, path = sys.argv[1:3]
    run = read(card, "copy")
    rows = list(copies.rows_of(run.by(), copies.of_peers(card, "copy")))[::-1]
    # Text stays text, and the same figures give the same file.
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "devarray", "font.family": "sans-serif", "font.size": 8})
    figure, axes = plt.subplots(figsize=(10, 0.27 * len(rows) + 1.4), layout="constrained")
    places = range(len(rows))
    axes.barh(places, [line["ratio"] for _, line, _, _ in rows], height=0.62, color="#a8c1e0", label="devarray")
    axes.plot([ceiling for *_, ceiling in rows], places, "|", color="black", markersize=11, label="ceiling: least traffic")
    for peer, (mark, colour) in MARKS.items():
        points = [(found[peer] / line["memcpy_gbps"], at) for at, (_, line, found, _) in zip(places, rows) if peer in found]
        if points:
            axes.plot(*zip(*points), mark, color=colour, markeredgecolor="white", markersize=5.5, label=copies.PEERS[peer])
    axes.axvline(1, color="gray", linewidth=0.8)
    axes.set_yticks(places, [case.text for case, *_ in rows])
    axes.set(xlim=(0, None), ylim=(-0.6, len(rows) - 0.4), xlabel="GB/s over those of a contiguous copy of as many bytes")
    axes.set_title(f"Copies on the device into a contiguous result: {where(run.header)}", fontsize=9)
    axes.legend(loc="center right", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    # Without what says who drew it and when: the same figures give the same file.
    figure.savefig(path, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))


if __name__ == "__main__":
    main()
