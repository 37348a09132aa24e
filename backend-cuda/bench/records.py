"""Recorded runs: what a command printed on a card, and where and when.

A file `recorded/CARD/NAME.jsonl` begins with a line {"run": {"command", "device", "driver", "date", "commit"}}; the lines
after it are what the command printed with `--json`. In `checks.jsonl` each line is a check and says all of that itself.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).with_name("recorded")


@dataclass(frozen=True)
class Run:
    """The output of one command."""

    header: dict
    lines: list

    def by(self, key="case"):
        """The lines that hold a result, by name."""
        return {line[key]: line for line in self.lines if "error" not in line}

    def wrong(self):
        """The mistakes, by the name of the case."""
        return {line["case"]: line["error"] for line in self.lines if "error" in line}


def cards():
    """The folders of the cards that something was recorded on."""
    return sorted(path.name for path in FOLDER.iterdir() if path.is_dir())


def read(card, name):
    """A recorded run, or None."""
    path = FOLDER / card / f"{name}.jsonl"
    if not path.exists():
        return None
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if not lines or "run" not in lines[0]:
        raise SystemExit(f"{path}: the first line does not name the run; record.py writes it")
    return Run(lines[0]["run"], lines[1:])


def read_lines(card, name):
    """The lines of a file without a header."""
    path = FOLDER / card / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def where(header):
    """The run of a table, as a line of text."""
    return f"{header['device']}, driver {header['driver']}, {header['date']}, commit {header['commit']}"


def mean(ratios):
    """The geometric mean."""
    ratios = list(ratios)
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def cell(value, digits=0):
    """A number in a table."""
    return "–" if value is None else f"{value:,.{digits}f}"


def table(heading, rows, text_columns=1):
    """A table as Markdown; columns after the first `text_columns` are numbers."""
    rule = "|" + "---|" * text_columns + "---:|" * (len(heading) - text_columns)
    lines = ["| " + " | ".join(row) + " |" for row in [heading, *rows]]
    return "\n".join([lines[0], rule, *lines[1:]])
