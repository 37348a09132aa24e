#!/usr/bin/env python3
"""Writes conformance/reports/MUTANTS.md: the mutation score of each area, and its survivors, from .ci/mutants/recorded.json.

    python3 .ci/mutants_page.py           writes it
    python3 .ci/mutants_page.py --check   fails if what is committed differs

`mutants.py run … --record` writes the runs; why a survivor is left is written there by hand, under "reasons". The page shows
the last recorded run of each area.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / ".ci" / "mutants" / "recorded.json"
PAGE = ROOT / "conformance" / "reports" / "MUTANTS.md"
HEAD = """# Mutation score

How many small changes of the sources do the tests notice, in each area?

A mutant is killed if a test fails with it, or hangs. A sample is drawn from the mutants of an area
that compile. A mutant that changes nothing observable survives any test, so the score leaves it
out. Reading decides which mutants these are. Each row is the last recorded run of its area.

    python3 .ci/mutants.py build target/mutants
    python3 .ci/mutants.py run target/mutants --sample N --seed S --areas AREA --record
    python3 .ci/mutants_page.py

`--shard K/N` tries one part of N of a sample. `.ci/mutants.py` lists the areas, their files and
their tests. `.ci/mutants_page.py` writes this page from `.ci/mutants/recorded.json`.

| area | mutants | sample | killed | change nothing | score |
|---|--:|--:|--:|--:|--:|
"""
SURVIVORS = """
## Survivors

Mutants of these samples that change something, and survived.

| file | code and change | why it is left |
|---|---|---|
"""
MOST_CODE = 60


def recorded():
    return json.loads(RECORDED.read_text()) if RECORDED.exists() else {"runs": [], "reasons": []}


def record(run):
    """Keeps a run as the last one, in place of an earlier one of the same area and seed."""
    book = recorded()
    key = lambda run: (run["area"], run["seed"])
    book["runs"] = [old for old in book["runs"] if key(old) != key(run)] + [run]
    RECORDED.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n")


def cell(code):
    """Code that a cell of a table can show, cut to its beginning."""
    code = code if len(code) <= MOST_CODE else code[:MOST_CODE].rstrip() + " …"
    return "`" + code.replace("|", "\\|") + "`"


def page():
    book = recorded()
    same = lambda survivor, reason: all(survivor[part] == reason[part] for part in ["file", "code", "change"])
    reason_of = lambda survivor: next((reason for reason in book["reasons"] if same(survivor, reason)), {})
    last = {run["area"]: run for run in book["runs"]}
    out, left = [HEAD], []
    for area, run in sorted(last.items()):
        changing = [survivor for survivor in run["survivors"] if not reason_of(survivor).get("equivalent", False)]
        nothing = len(run["survivors"]) - len(changing)
        score = run["killed"] / (run["tried"] - nothing)
        out.append(f"| {area} | {run['mutants']} | {run['tried']} | {run['killed']} | {nothing} | {score:.1%} |\n")
        left += changing
    out += [SURVIVORS] if left else []
    for survivor in sorted(left, key=lambda survivor: (survivor["file"], survivor["code"], survivor["change"])):
        reason = reason_of(survivor).get("reason", "no test yet").rstrip(".")
        change = survivor["change"].replace("|", "\\|").replace("<", "&lt;")
        out.append(f"| `{survivor['file']}` | {cell(survivor['code'])}: {change} | {reason[0].lower()}{reason[1:]} |\n")
    return "".join(out)


def main():
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
            sys.exit("conformance/reports/MUTANTS.md: out of date; run .ci/mutants_page.py")
        return
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
