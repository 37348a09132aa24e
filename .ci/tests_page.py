"""Writes conformance/TESTS.md: which behaviour is tested where, from the first sentence of every test file.

    python3 .ci/tests_page.py           writes it
    python3 .ci/tests_page.py --check   fails if what is committed differs
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "conformance" / "TESTS.md"
HEAD = """# Which behaviour is tested where

The laws of the suite, which every backend runs, are listed with the bugs that each notices in
`PLANTED_BUGS.md`; each package's own tests are below. A file named in brackets holds helpers of the
tests beside it. Tests of hardware are ignored unless asked for (`--ignored`).

This page is written by `.ci/tests_page.py` from the first sentence of each file.
"""


def listing():
    answer = subprocess.run(["git", "ls-files", "*.rs"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for path in answer.stdout.split() if "tests" in Path(path).parts or Path(path).name == "tests.rs"]


def first_sentence(text):
    lines = []
    for line in text.splitlines():
        if not line.startswith("//!") or line.strip() == "//!":
            break
        lines.append(line[3:].strip())
    prose = " ".join(lines)
    end = re.search(r"(?<!e\.g)(?<!i\.e)[.:](?= [A-Z`]|$)", prose)
    return (prose[: end.start()] if end else prose).replace("|", "\\|")


def page():
    packages = {}
    for path in listing():
        text = (ROOT / path).read_text(encoding="utf-8")
        sentence = first_sentence(text)
        if not sentence:
            continue  # programs for the compiler to refuse, named by what they get wrong
        parts = Path(path).parts
        package = "conformance/cli" if path.startswith("conformance/cli") else parts[0]
        name = path.removeprefix(package + "/")
        packages.setdefault(package, []).append((name, "#[test]" in text or "suite!" in text, sentence))
    out = [HEAD]
    for package, rows in packages.items():
        out.append(f"\n## {package}\n\n| file | behaviour |\n|---|---|\n")
        out += [f"| {f'`{name}`' if tests else f'(`{name}`)'} | {sentence} |\n" for name, tests, sentence in rows]
    return "".join(out)


def main():
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
            sys.exit("conformance/TESTS.md is out of date: python3 .ci/tests_page.py writes it")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
