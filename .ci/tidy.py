#!/usr/bin/env python3
"""House rules that no compiler checks. `tidy.py` checks the checkout; `tidy.py --self-test` checks the rules.

Each rule is a generator over the files of a tree that yields (path, line, message). The self-test plants one
violation a rule in a small clean tree and wants exactly that rule to speak, beside a twin it must accept.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import floors
import words

MAX_LINES = 400
MAX_LIB_LINES = 80
SOURCES = {".rs", ".cu", ".cuh", ".py"}
UNSAFE_LIST = ".ci/unsafe-files.txt"
ROOT_FILES = {"Cargo.toml", "Cargo.lock", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"}
ROOT_FOLDERS = {"core", "backend-cuda", "backend-mock", "conformance"}
HOSTS = {
    "github.com", "docs.rs", "crates.io", "doc.rust-lang.org", "docs.nvidia.com", "developer.nvidia.com",
    "numpy.org", "www.numpy.org", "keepachangelog.com", "semver.org", "www.apache.org", "opensource.org",
    "rustup.rs", "arxiv.org", "dmlc.github.io", "www.w3.org", "nvidia.github.io", "data-apis.org",
}

# Written in two parts, so that this file does not trip over itself.
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b|\b(?:to" r"do|unimple" r"mented)!")
MACHINE_PATH = re.compile(r"(?<![\w.\-/])/(?:wo" r"rk|tm" r"p|ro" r"ot|ho" r"me)\b(?=/)")
URL_HOST = re.compile(r"\b(?:https?|sparse\+https?|git|ssh)://([\w.\-@:\[\]]+)")


class Tree:
    """The files of a checkout that git would commit, read once."""

    def __init__(self, root):
        self.root = Path(root)
        self.paths = sorted(p for p in listing(self.root) if (self.root / p).is_file())
        self.texts = {p: text for p in self.paths if (text := read(self.root / p)) is not None}

    def of(self, *suffixes):
        return ((p, t) for p, t in self.texts.items() if Path(p).suffix in suffixes)


def listing(root):
    git = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(git, capture_output=True, check=False) if (root / ".git").exists() else None
    if done and done.returncode == 0:
        return [p for p in done.stdout.decode().split("\0") if p]
    skipped = {".git", "target", "__pycache__"}
    files = (p.relative_to(root) for p in root.rglob("*"))
    return [p.as_posix() for p in files if not skipped & set(p.parts)]


def read(path):
    data = path.read_bytes()
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


RUST_NOISE = re.compile(
    r"//[^\n]*"
    r"|/\*(?:[^*/]|\*(?!/)|/(?!\*)|/\*(?:[^*]|\*(?!/))*\*/)*\*/"  # one level of nesting
    r"|\bb?c?r(?P<hashes>#*)\".*?\"(?P=hashes)"
    r'|"(?:[^"\\]|\\.)*"'
    r"|'(?:[^'\\\n]|\\(?:u\{[^}]*\}|x..|.))'",
    re.DOTALL,
)


def code_only(text):
    """Rust without comments and literals, line for line."""
    return RUST_NOISE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


# ---- rules ----


def file_length(tree):
    for path, text in tree.of(*SOURCES):
        limit = MAX_LIB_LINES if path.endswith("src/lib.rs") else MAX_LINES
        if (lines := len(text.splitlines())) > limit:
            yield path, limit + 1, f"{lines} lines, at most {limit} are allowed"


def no_mod_rs(tree):
    for path in tree.paths:
        if Path(path).name == "mod.rs":
            yield path, 1, "a module with children is foo.rs + foo/"


def root_listing(tree):
    for name in sorted({Path(p).parts[0] for p in tree.paths}):
        if name.startswith((".", "LICENSE-")):
            continue
        allowed = ROOT_FOLDERS if (tree.root / name).is_dir() else ROOT_FILES
        if name not in allowed:
            yield name, 1, "not expected at the top of the repository"
    for name in sorted(ROOT_FILES | ROOT_FOLDERS):
        if not (tree.root / name).exists():
            yield name, 1, "missing at the top of the repository"


def test_headings(tree):
    for path, text in tree.of(".rs"):
        if Path(path).parent.name == "tests" and not text.startswith("//! "):
            yield path, 1, "a test file begins with a `//!` line that says what it shows"


def unsafe_list(tree):
    listed = {}
    for number, line in enumerate(tree.texts.get(UNSAFE_LIST, "").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            path, _, reason = line.partition(" ")
            listed[path] = number
            if not reason.strip():
                yield UNSAFE_LIST, number, f"{path} is listed without a reason"
    for path, text in tree.of(".rs"):
        code = code_only(text)
        if uses := re.search(r"\bunsafe\b", code):
            if path not in listed:
                line = code.count("\n", 0, uses.start()) + 1
                yield path, line, f"`unsafe` in a file that {UNSAFE_LIST} does not list"
        elif path in listed:
            yield UNSAFE_LIST, listed[path], f"{path} holds no `unsafe`: remove it from the list"
        elif allow := re.search(r"\b(?:allow|expect)\s*\(\s*unsafe_code\b", code):
            yield path, code.count("\n", 0, allow.start()) + 1, "allows `unsafe` and holds none"
    for path in sorted(listed.keys() - tree.texts.keys()):
        yield UNSAFE_LIST, listed[path], f"{path} does not exist"


def safety_comments(tree):
    for path, text in tree.of(".rs"):
        lines, code = text.splitlines(), code_only(text).splitlines()
        for number, line in enumerate(code):
            if re.search(r"\bunsafe\s*(?:\{|impl\b|$)", line) and not has_safety_comment(lines, code, number):
                yield path, number + 1, "no `// SAFETY:` comment right above"


def has_safety_comment(lines, code, number):
    """Whether a comment with SAFETY: ends right above the statement, or the attributes, that line `number` is in."""
    above = number - 1
    while above >= 0 and (rest := code[above].strip()):
        if rest.endswith((";", "{", "}", ",")):
            return False
        above -= 1
    while above >= 0 and (comment := lines[above].strip()).startswith("//"):
        if comment.startswith("// SAFETY: "):
            return True
        above -= 1
    return False


def unfinished(tree):
    yield from matches(tree, UNFINISHED, "unfinished work is not committed")


def machine_paths(tree):
    yield from matches(tree, MACHINE_PATH, "a path of one machine")


def hosts(tree):
    for path, line, host in matches(tree, URL_HOST, None):
        if host not in HOSTS:
            yield path, line, "a host that is not among the public ones that texts may name"


def matches(tree, pattern, message):
    for path, text in tree.texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            for match in pattern.finditer(line):
                yield path, number, message or match.group(1)


FACTS = "core/interop/python/reports/TESTS_OF_OTHERS.md"


def facts_are_tested(tree):
    """Each row of the page says which test shows the fact, or that it is left out; each test that it names is there."""
    tests = {}
    for path, text in tree.of(".rs", ".py"):
        for name in re.findall(r"^[ \t]*(?:pub(?:\(\w+\))? )?(?:fn|def) (\w+)", text, re.MULTILINE):
            tests.setdefault(name, set()).update({Path(path).stem, *Path(path).parts[:-1]})
    for number, line in enumerate(tree.texts.get(FACTS, "").splitlines(), 1):
        if not line.startswith("| ") or re.match(r"\| facts? \|", line):
            continue
        ours = line.rstrip(" |").rpartition(" | ")[2]
        named = re.findall(r"`(\w+)::(\w+)`", ours)
        for file, name in named:
            if file not in tests.get(name, ()):
                yield FACTS, number, f"there is no test `{file}::{name}`"
        if not named and not re.search(r"\bleft out\b", ours):
            yield FACTS, number, "neither a test nor why there is none"


def imports_point_down(tree):
    yield from floors.upward(tree, code_only)


def files_have_floors(tree):
    yield from floors.unlisted(tree, code_only)


def circles_have_reasons(tree):
    yield from floors.circles(tree, code_only)


def page_constants(tree):
    yield from floors.page_constants(tree, code_only)


def no_riddles(tree):
    yield from words.riddles(tree)


RULES = [
    file_length, no_mod_rs, root_listing, test_headings, unsafe_list, safety_comments, unfinished, machine_paths, hosts,
    facts_are_tested, imports_point_down, files_have_floors, circles_have_reasons, page_constants,
    no_riddles,
]


def findings(root):
    tree = Tree(root)
    return [(rule.__name__, *found) for rule in RULES for found in rule(tree)]


# ---- self-test ----

SAFE_BLOCK = "#![allow(unsafe_code)] // reads\nfn f(p: *const u8) -> u8 {\n    // SAFETY: p is valid\n    unsafe { *p }\n}\n"
FLOORS = "# floors\nbackend-mock/src\n    low\n    middle other\n    lib\n"
CLEAN = {
    **dict.fromkeys(ROOT_FILES, "text\n"),
    "LICENSE-MIT": "text\n",
    UNSAFE_LIST: "# path, reason\ncore/src/raw.rs  reads through a pointer\n",
    "core/src/lib.rs": "//! unsafe in a comment\n" * MAX_LIB_LINES,
    "core/src/raw.rs": SAFE_BLOCK,
    "core/tests/a.rs": "//! Shows a.\n#[test]\nfn holds() {}\n",
    FACTS: "| fact | ours |\n|---|---|\n| one | `a::holds`: of all |\n| two | left out: another's |\n",
    "backend-cuda/a.cu": "int a;\n" * MAX_LINES,
    "backend-mock/a.rs": 'const A: &str = "unsafe { }"; const B: char = \'"\'; // unsafe\n',
    floors.FLOORS: FLOORS,
    "backend-mock/src/lib.rs": "mod low;\nmod middle;\nmod other;\npub use middle::Middle;\n",
    "backend-mock/src/low.rs": "pub mod part;\npub struct Low;\n",
    "backend-mock/src/low/part.rs": "use super::Low;\npub const SIZE: usize = 1;\n",
    "backend-mock/src/middle.rs": "use crate::{low::{Low, part::SIZE}, other};\npub struct Middle(Low);\n",
    "backend-mock/src/other.rs": "use crate::low;\n",
    "conformance/a.md": "See https://docs.rs/devarray and the folder target/work/ or a/" + "tm" + "p/x.\n",
}
# One violation per rule: the rule that must speak, and what to write where (None removes the file).
PLANTED = [
    ("file_length", {"core/src/long.rs": "\n" * (MAX_LINES + 1)}),
    ("file_length", {"backend-cuda/a.cu": "int a;\n" * (MAX_LINES + 1)}),
    ("file_length", {"conformance/a.py": "\n" * (MAX_LINES + 1)}),
    ("file_length", {"core/src/lib.rs": "\n" * (MAX_LIB_LINES + 1)}),
    ("no_mod_rs", {"core/src/a/mod.rs": "\n"}),
    ("root_listing", {"notes.md": "\n"}),
    ("root_listing", {"scripts/a.sh": "\n"}),
    ("root_listing", {"CHANGELOG.md": None}),
    ("test_headings", {"core/tests/b.rs": "use std::fmt;\n"}),
    ("unsafe_list", {"core/src/other.rs": SAFE_BLOCK}),
    ("unsafe_list", {"core/src/raw.rs": "// unsafe\n"}),
    ("unsafe_list", {"core/src/raw.rs": None}),
    ("unsafe_list", {"core/src/other.rs": "#![allow(unsafe_code)]\n"}),
    ("unsafe_list", {UNSAFE_LIST: "core/src/raw.rs\n"}),
    ("safety_comments", {"core/src/raw.rs": SAFE_BLOCK.replace("// SAFETY: p is valid", "// p is valid")}),
    ("safety_comments", {"core/src/raw.rs": SAFE_BLOCK.replace("SAFETY: p is valid\n", "SAFETY: p\n    let a = 1;\n")}),
    ("safety_comments", {"core/src/raw.rs": SAFE_BLOCK + "unsafe impl Send for A {}\n"}),
    ("safety_comments", {"core/src/raw.rs": SAFE_BLOCK.replace("// SAFETY: p is valid\n", "let a =\n")}),
    ("unfinished", {"core/src/a.rs": "// TO" "DO: more\n"}),
    ("unfinished", {"core/src/a.rs": "fn a() { to" "do!() }\n"}),
    ("unfinished", {"README.md": "FIX" "ME\n"}),
    ("machine_paths", {"README.md": "see /wo" "rk/a\n"}),
    ("machine_paths", {"core/src/a.rs": 'const A: &str = "/tm' 'p/a";\n'}),
    ("facts_are_tested", {FACTS: "| fact | ours |\n|---|---|\n| one | `a::held` |\n"}),
    ("facts_are_tested", {FACTS: "| one | `b::holds` |\n"}),
    ("facts_are_tested", {FACTS: "| one | `a`, all of it |\n"}),
    ("facts_are_tested", {FACTS: "| what is left out | somewhere |\n"}),
    ("facts_are_tested", {"core/tests/a.rs": "//! Shows a.\n// fn holds\n"}),
    ("imports_point_down", {"backend-mock/src/low.rs": "pub mod part;\nuse crate::other::A;\npub struct Low;\n",
                            "backend-mock/src/other.rs": "pub struct A;\n"}),
    ("imports_point_down", {"backend-mock/src/other.rs": "fn a() {\n    crate::a();\n}\n",
                            "backend-mock/src/lib.rs": "fn a() {}\n"}),
    ("files_have_floors", {"backend-mock/src/new.rs": "fn a() {}\n"}),
    ("files_have_floors", {"backend-mock/src/other.rs": None}),
    ("files_have_floors", {floors.FLOORS: "backend-mock/src\n    low\n    middle\n    lib middle other\n"}),
    ("circles_have_reasons", {"backend-mock/src/other.rs": "use crate::Middle;\n"}),
    ("circles_have_reasons", {floors.FLOORS: FLOORS + "    circle middle other: both are one\n"}),
    ("circles_have_reasons", {floors.FLOORS: FLOORS + "    circle other middle:\n",
                              "backend-mock/src/other.rs": "use crate::Middle;\n"}),
    ("page_constants", {"backend-mock/src/low.rs": "pub mod part;\npub struct Low;\nconst ONE: u8 = 1;\n",
                        "backend-mock/src/low/part.rs": "use super::{Low, ONE};\npub const SIZE: usize = 1;\n"}),
    ("hosts", {"README.md": "http" "s://packages.example.internal/simple\n"}),
    ("no_riddles", {"core/src/a.rs": "/// A" "s there.\n" * 20}),
    ("no_riddles", {"backend-cuda/a.cu": "int a; // O" "f bytes.\n" * 20}),
    ("no_riddles", {"conformance/a.py": "# Ranges. S" "o many.\n" * 20}),
    ("no_riddles", {"README.md": "- The sa" "me.\n" * 20}),
    ("hosts", {".cargo/config.toml": 'registry = "sparse+http' 's://mirror.example/index/"\n'}),
]
ACCEPTED = [
    {"core/src/raw.rs": SAFE_BLOCK.replace("    unsafe", "    let a =\n        unsafe")},
    {"core/src/raw.rs": SAFE_BLOCK + "// SAFETY: A owns nothing\n#[cfg(unix)]\nunsafe impl Send for A {}\n"},
    {"core/src/a.rs": "/* unsafe /* nested */ unsafe */ const A: &str = r#\"\"unsafe\"\"#;\n"},
    {"core/src/long.rs": "\n" * MAX_LINES},
    {".github/a.yml": "\n"},
    {"core/src/a.rs": 'const A: &str = "A' 's there"; // as there, of a\n'},
    {floors.FLOORS: FLOORS + "    circle middle other: both are one\n", "backend-mock/src/other.rs": "use crate::Middle;\n"},
    {"backend-mock/src/low.rs": "pub mod part;\npub struct Low;\n#[cfg(test)]\nmod tests {\n    use crate::other;\n}\n"},
    {"backend-mock/src/low/part.rs": "// crate::other\nuse super::Low;\npub(in crate::low) const SIZE: usize = 1;\n"},
]


def judge(changes):
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**CLEAN, **changes}.items():
            if text is not None:
                (file := Path(root, path)).parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
        return {rule for rule, *_ in findings(root)}


def self_test():
    wrong = [f"accepted twin {i}: {spoke}" for i, c in enumerate([{}, *ACCEPTED]) if (spoke := judge(c))]
    wrong += [f"{rule} on {list(c)}: {spoke or 'nothing'}" for rule, c in PLANTED if (spoke := judge(c)) != {rule}]
    unplanted = {rule.__name__ for rule in RULES} - {rule for rule, _ in PLANTED}
    wrong += [f"{rule}: no violation is planted" for rule in sorted(unplanted)]
    for line in wrong:
        print(f"self-test: {line}")
    print(f"tidy self-test: {len(PLANTED)} planted, {len(ACCEPTED) + 1} accepted, {len(wrong)} wrong")
    return not wrong


def main():
    if "--self-test" in sys.argv[1:]:
        return 0 if self_test() else 1
    found = findings(Path(__file__).resolve().parent.parent)
    for rule, path, line, message in found:
        print(f"{path}:{line}: {message} [{rule}]")
    print(f"tidy: {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
