#!/usr/bin/env python3
"""Prints the layouts of the built-in cases and of every list of shapes.py, which the tests freeze the launches of.

    python backend-cuda/bench/layouts.py > backend-cuda/tests/strided/lists.txt

A line is LIST ITEM_BYTES SHAPE STRIDES OFFSET CASE: the view that the steps of a case make, in elements. Needs NumPy.
"""

import pathlib
import re
import sys

import cases
import shapes

BUILTIN = pathlib.Path(__file__).parents[2] / "conformance/cli/src/bench/builtin.rs"


def lists():
    """Every list by name."""
    yield "builtin", re.findall(r'^    "(\S+)",$', BUILTIN.read_text(), re.MULTILINE)
    yield from shapes.lists().items()


def layout(case):
    """Shape, strides and offset of the view, in elements."""
    import numpy as np

    base = np.lib.stride_tricks.as_strided(np.empty(1, f"V{case.width}"), case.shape, cases.c_strides(case))
    view = cases.apply(base, case.steps, np)
    address = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    assert address % case.width == 0 and all(stride % case.width == 0 for stride in view.strides)
    return view.shape, tuple(stride // case.width for stride in view.strides), address // case.width


def main():
    for name, texts in lists():
        for text in texts:
            case = cases.parse(text)
            shape, strides, offset = layout(case)
            numbers = [",".join(map(str, part)) for part in (shape, strides)]
            print(name, case.width, *numbers, offset, text)


if __name__ == "__main__":
    sys.exit(main())
