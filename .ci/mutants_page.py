#!/usr/bin/env python3
"""Writes conformance/MUTANTS.md: the mutation score of each area, and every survivor, from .ci/mutants/recorded.json.

    python3 .ci/mutants_page.py           writes it
    python3 .ci/mutants_page.py --check   fails if what is committed differs

`mutants.py run … --record` writes the runs; why a survivor is left is written there by hand, under "reasons".
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / ".ci" / "mutants" / "recorded.json"
PAGE = ROOT / "conformance" / "MUTANTS.md"
HEAD = """# Mutation score

How many small changes of the sources the tests notice. A mutant is killed if a test fails with it,
or hangs. A sample is drawn from the mutants of an area that compile. A mutant that changes nothing
that can be observed survives whatever the tests ask: the score counts it as one that survived, the
last column leaves it out. Which do so was decided by reading, and the reason stands with each.

    python3 .ci/mutants.py build target/mutants
    python3 .ci/mutants.py run target/mutants --sample N --seed S --areas AREA --record
    python3 .ci/mutants_page.py

`--shard K/N` tries one part of N of a sample. Areas, their files and their tests are listed in
`.ci/mutants.py`. This page is written by `.ci/mutants_page.py` from `.ci/mutants/recorded.json`.

| area | mutants | sample | seed | killed | score | change nothing | score without these |
|---|---|---|---|---|---|---|---|
"""


def recorded():
    return json.loads(RECORDED.read_text()) if RECORDED.exists() else {"runs": [], "reasons": []}


def record(run):
    """Keeps a run in place of an earlier one of the same area and seed."""
    book = recorded()
    key = lambda run: (run["area"], run["seed"])
    book["runs"] = sorted([old for old in book["runs"] if key(old) != key(run)] + [run], key=key)
    RECORDED.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n")


def page():
    book = recorded()
    same = lambda survivor, reason: all(survivor[part] == reason[part] for part in ["file", "code", "change"])
    reason_of = lambda survivor: next((reason for reason in book["reasons"] if same(survivor, reason)), {})
    out, listed = [HEAD], {}
    for run in book["runs"]:
        equivalent = sum(reason_of(survivor).get("equivalent", False) for survivor in run["survivors"])
        scores = [f"{run['killed'] / tried:.1%}" for tried in [run["tried"], run["tried"] - equivalent]]
        out.append(f"| {run['area']} | {run['mutants']} | {run['tried']} | {run['seed']} | {run['killed']} | {scores[0]} "
                   f"| {equivalent} | {scores[1]} |\n")
        for survivor in run["survivors"]:
            row = (survivor["file"], survivor["code"], survivor["change"])
            listed[row] = reason_of(survivor)
    for title, equivalent in [("Survivors that change nothing", True), ("Other survivors", False)]:
        rows = [row for row, reason in sorted(listed.items()) if reason.get("equivalent", False) == equivalent]
        out.append(f"\n## {title}\n" + ("" if rows else "\nNone.\n"))
        for file, code, change in rows:
            reason = listed[file, code, change].get("reason", "no test yet")
            out.append(f"\n- `{file}`: `{code}`\n  {change}.\n  {reason[0].upper()}{reason[1:]}.\n")
    return "".join(out)


def main():
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
            sys.exit("conformance/MUTANTS.md: out of date; run .ci/mutants_page.py")
        return
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
