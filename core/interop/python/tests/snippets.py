#!/usr/bin/env python3
"""Runs the pieces of Python in the manual page, one after the other, as they stand.

    snippets.py --module FOLDER
"""

import argparse
import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "src" / "manual.md"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", required=True, type=Path)
    sys.path.insert(0, str(parser.parse_args().module.resolve()))
    text = PAGE.read_text()
    pieces = list(re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    names = {}
    for piece in pieces:
        line = text.count("\n", 0, piece.start(1))
        exec(compile("\n" * line + piece.group(1), str(PAGE), "exec"), names)
    print(f"snippets: {len(pieces)} run")
    return 0 if pieces else 1


if __name__ == "__main__":
    sys.exit(main())
