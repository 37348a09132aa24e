"""Writes core/src/manual/array_api.md: the functions of the array API standard, and what is called for each here.

    python3 .ci/array_api_page.py               writes it
    python3 .ci/array_api_page.py --check       fails if what is committed differs
    python3 .ci/array_api_page.py --self-test   a name that is nowhere, and a name given twice, must be refused

The list is `array_api.txt` beside this file. Each name of ours must be a function in the sources of its package; the step
`docs` follows the links of the page as well.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_name("array_api.txt")
PAGE = ROOT / "core" / "src" / "manual" / "array_api.md"
VERSION = "2025.12"
FUNCTIONS = 170
FOLDERS = {"crate": ["core/src", "core/layout/src"], "devarray_interop": ["core/interop/src"]}
HEAD = """# Functions of the array API standard

The [array API standard](https://data-apis.org/array-api/{version}/) names what NumPy, PyTorch, CuPy, JAX
and Dask have in common. {ours} of its {total} functions have a call here, and {rust} are a matter of Rust's
types. {missing} are missing: {groups}.

The calls keep the promises of this library: each names its stream, types are never promoted, and the
bits are the same on every device. Their pages say what they take and give. Where a name is a method
of [`Array`](crate::Array), views have it as well, except those that make arrays.

This page is written by `.ci/array_api_page.py`, which looks up each name in the sources.
"""


class Refused(Exception):
    """The list is wrong."""


def rows(text):
    """The sections of the list: a title, and its (name, paths, note)."""
    sections = []
    for line in text.splitlines():
        if line.startswith("= "):
            sections.append((line[2:], []))
        elif line and not line.startswith("#"):
            name, paths, note = (part.strip() for part in line.split("|"))
            sections[-1][1].append((name, [path.strip() for path in paths.split(",")], note))
    names = [name for _, lines in sections for name, *_ in lines]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or len(names) != FUNCTIONS:
        raise Refused(f"{len(names)} functions, {FUNCTIONS} are in the standard; given twice: {twice}")
    return sections


def sources(folder):
    return "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / folder).rglob("*.rs")))


def package(path):
    first = path.split("::")[0]
    return first if first in FOLDERS else "crate"


def check(sections):
    """Each name is a public function, or the name of a row that a macro makes one of, beside its twin `NAME_into`."""
    texts = {package: "".join(map(sources, folders)) for package, folders in FOLDERS.items()}
    for _, lines in sections:
        for name, paths, _ in lines:
            for path in paths:
                if path in ("-", "rust"):
                    continue
                ours = path.split("::")[-1]
                if not re.search(rf"\bpub (?:unsafe )?fn {ours}\b|^ +{ours} {ours}_into\b", texts[package(path)], re.M):
                    raise Refused(f"{name}: no function `{ours}` in {' or '.join(FOLDERS[package(path)])}")


def cell(path):
    return f"`{path}`" if package(path) != "crate" else f"[`{path}`](crate::{path})"


def page(sections):
    lines = [line for _, lines in sections for line in lines]
    missing = [note for _, paths, note in lines if paths == ["-"]]
    rust = sum(paths == ["rust"] for _, paths, _ in lines)
    groups = ", ".join(f"{missing.count(group)} of {group}" for group in sorted(set(missing), key=missing.count)[::-1])
    counts = {"total": len(lines), "ours": len(lines) - len(missing) - rust, "rust": rust, "missing": len(missing)}
    out = [HEAD.format(version=VERSION, groups=groups, **counts)]
    for title, lines in sections:
        out.append(f"\n## {title}\n\n| there | here | |\n|---|---|---|\n")
        for name, paths, note in lines:
            here = {"-": "missing", "rust": "Rust"}.get(paths[0]) or ", ".join(map(cell, paths))
            out.append(f"| `{name}` | {here} | {note} |\n")
    return "".join(out)


def self_test(text):
    def refused(changed, what):
        try:
            check(rows(changed))
        except Refused:
            return
        sys.exit(f"not refused: {what}")

    check(rows(text))
    refused(text.replace("| math::eye |", "| math::eyes |"), "a name that is nowhere")
    refused(text.replace("\neye |", "\ntriu |"), "a name given twice")
    refused(text.replace("\neye | math::eye |", ""), "a function left out")


def main():
    text = LIST.read_text(encoding="utf-8")
    try:
        sections = rows(text)
        check(sections)
    except Refused as refused:
        sys.exit(f".ci/array_api.txt: {refused}")
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page(sections):
            sys.exit("core/src/manual/array_api.md is out of date: python3 .ci/array_api_page.py writes it")
    elif sys.argv[1:] == ["--self-test"]:
        self_test(text)
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        PAGE.write_text(page(sections), encoding="utf-8")


if __name__ == "__main__":
    main()
