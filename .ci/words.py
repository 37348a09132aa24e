"""Words and sentence beginnings that make a comment a riddle: how many of each are left, which may only fall.

A pattern is looked for in comments of sources, and in the prose of Markdown. Subject, verb, object instead.
"""

import re
from pathlib import Path

BEGIN = r"(?:^|(?<=[.:;!?] ))"
# Each pattern, and how many places are left.
MOST = {
    "As": (BEGIN + r"As\b", 0),
    "Of": (BEGIN + r"Of\b", 0),
    "The same": (BEGIN + r"The same\b", 0),
    "Those of, That of": (BEGIN + r"(?:Those|That) of\b", 0),
    "of which": (r"\bof which\b", 0),
    "those of": (r"\b[Tt]hose of\b", 1),
    "of those": (r"\bof those\b", 0),
    "that of": (r"\bthat of\b", 1),
    "so many": (r"\b[Ss]o many\b", 0),
    "Those": (BEGIN + r"Those\b", 0),
    "What": (BEGIN + r"What\b(?!.*\?)", 27),
    "Which": (BEGIN + r"Which\b(?!.*\?)", 3),
    "How": (BEGIN + r"How\b(?!.*\?)", 10),
    "Who": (BEGIN + r"Whos?e?\b(?!.*\?)", 0),
}
# Headings and cells of pages may be noun clauses.
SOURCES_ALONE = {"What", "Which", "How", "Who"}
PATTERNS = {name: re.compile(pattern) for name, (pattern, _) in MOST.items()}
# Programs write these from other sources.
GENERATED = {"conformance/reports/PLANTED_BUGS.md"}
SLASHES = re.compile(r"^\s*(?://[/!]?\s?|#!?\[doc = (?:concat!\()?\")(.*)$|^.*[;,{})(]\s+//\s(.*)$")
HASHES = re.compile(r"^\s*(?:#|\"\"\")\s?(.*)$|^[^\"']*?\s#\s(.*)$")
MARKER = re.compile(r"^\s*(?:[-*]|\d+\.|\||>|#+)?\s*")


def prose(path, text):
    """(line, words) of each comment, or of each line of Markdown, without what marks a list or a heading."""
    form = {".md": None, ".py": HASHES}.get(Path(path).suffix, SLASHES)
    for number, line in enumerate(text.splitlines(), 1):
        found = form and form.match(line)
        words = line if form is None else found and (found[1] or found[2])
        if words:
            yield number, MARKER.sub("", words, count=1)


def found(tree):
    """(pattern, path, line) of each place."""
    for path, text in tree.of(".rs", ".cu", ".cuh", ".py", ".md"):
        if path in GENERATED:
            continue
        for number, words in prose(path, text):
            for name, pattern in PATTERNS.items():
                if name in SOURCES_ALONE and path.endswith(".md"):
                    continue
                yield from ((name, path, number) for _ in pattern.finditer(words))


def riddles(tree):
    places = {}
    for name, path, line in found(tree):
        places.setdefault(name, []).append((path, line))
    for name, (_, most) in MOST.items():
        here = places.get(name, [])
        if len(here) > most:
            path, line = here[-1]
            yield path, line, f"`{name}`: {len(here)} places, at most {most}: say it subject first"
