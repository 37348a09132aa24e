#!/usr/bin/env python3
"""Looks for logic on predicates that assemblers are known to get wrong (MISCOMPILED.md) in all text that is shipped.

    python3 backend-cuda/kernels/predicates.py

Two predicates that are combined in more than one way within a kernel make the pattern: one `or` and one `and` of the same two
are enough. Texts of functions combine no predicates at all. Ends with 1 and a line for each place that is found. Needs the
package lz4 alone.
"""

import pathlib
import re
import sys

from packing import unpack
from shipped import IMAGE, unpacked

HERE = pathlib.Path(__file__).resolve().parent
LOGIC = re.compile(r"\b(and|or|xor|not)\.pred\s+%p\d+,\s*([^;]+);")
COMBINED = re.compile(r"\bsetp\.\w+\.(?:and|or|xor)\.")
# The pattern, for the test that this program can fail.
WRONG = "or.pred %p4, %p1, %p3;\nand.pred %p5, %p1, %p3;\nnot.pred %p6, %p1;\nor.pred %p8, %p5, %p6;"


def kernels(text):
    """The bodies of the kernels of a text."""
    return re.split(r"\.entry\b|\.func\b", text)[1:]


def risky(body):
    """Operands that are combined in more than one way, with these ways."""
    ways = {}
    for way, operands in LOGIC.findall(body):
        names = tuple(sorted(name.strip() for name in operands.split(",")))
        ways.setdefault(names, set()).add(way)
    return {names: found for names, found in ways.items() if len(found) > 1}


def main():
    if not risky(WRONG) or not LOGIC.search(WRONG):
        sys.exit("predicates.py: the pattern itself is not found")
    found, count = [], 0
    compiled = [(path, unpack(path.read_bytes()).decode()) for path in sorted(HERE.glob("*/*.ptx.lz4"))]
    for folder in (HERE, HERE.parent / "examples", HERE.parents[1] / "conformance"):
        compiled += [(path, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("kernels/*.ptx"))]
    for path, text in compiled:
        for body in kernels(text):
            count += 1
            found += [f"{path.name}: {names} by {sorted(ways)}" for names, ways in risky(body).items()]
    texts = [text.decode() for text in unpacked(IMAGE.read_bytes())]
    found += [f"{IMAGE.name}: {text.splitlines()[0]}" for text in texts if LOGIC.search(text) or COMBINED.search(text)]
    print("\n".join(found + [f"{count} kernels and {len(texts)} texts of functions, {len(found)} places"]))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
