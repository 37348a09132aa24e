#!/usr/bin/env python3
"""Writes the tables of reports/BENCH.md, CALLS.md, COMPUTE.md and REPORT.md from the recorded runs (recorded/, which record.py writes).

    pages.py            writes them
    pages.py --check    fails if a page differs from what the recorded runs give

In a page, a table stands between `<!-- table: NAME [CARD] -->` and `<!-- end -->`. Prose is outside of these.
"""

import re
import sys
from pathlib import Path

import bars
import calls
import checks
import computed
import copies

FOLDER = Path(__file__).resolve().parents[1] / "reports"
PAGES = ("BENCH.md", "CALLS.md", "COMPUTE.md", "REPORT.md")
TABLES = {
    "bars": bars.of_bars,
    "calls": calls.of_calls,
    "checks": checks.of_checks,
    "compute": computed.of_compute,
    "copy": copies.of_cases,
    "joins": copies.of_joins,
    "lists": copies.of_lists,
    "overhead": copies.of_overheads,
    "picked": computed.of_picked,
    "hard": computed.of_hard,
    "small": copies.of_small,
    "transfer": copies.of_transfers,
}
PLACE = re.compile(r"(<!-- table: ([a-z]+)(?: ([a-z0-9]+))? -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text):
    """A page with every table as the recorded runs give it."""

    def put(match):
        arguments = [match[3]] if match[3] else []
        return f"{match[1]}\n{TABLES[match[2]](*arguments).strip()}\n\n{match[4]}"

    return PLACE.sub(put, text)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    wrong = []
    for name in PAGES:
        path = FOLDER / name
        found = path.read_text(encoding="utf-8")
        wanted = filled(found)
        if found.count("<!-- table: ") != len(PLACE.findall(found)):
            wrong.append(f"{name}: a table has no end")
        if not sys.argv[1:]:
            path.write_text(wanted, encoding="utf-8")
        elif found != wanted:
            wrong.append(f"{name} is not what the recorded runs give: python3 backend-cuda/bench/pages.py writes it")
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
