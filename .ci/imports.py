"""Which file of a Rust package imports which, and the circles among them: for tidy.py, read as text.

A file stands for its module. A name that a page passes on (`pub use`) counts as an import of the file that defines it. What only
tests compile is left out.
"""

import re

USE = re.compile(r"\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
INLINE = re.compile(r"\b(?:crate|super|self)(?:::\w+)+")
OF_TESTS = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]")
DEFINES = r"\b(?:struct|enum|trait|fn|const|static|type|union|mod|macro_rules!)\s+{}\b"


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_tests(code):
    """The code without items that only tests compile."""
    while found := OF_TESTS.search(code):
        end, depth = found.end(), 0
        while end < len(code):
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
            if depth == 0 and code[end - 1] in "};":
                break
        code = code[: found.start()] + blank(code[found.start() : end]) + code[end:]
    return code


def parts(text):
    """The parts that commas outside of braces separate."""
    depth, start = 0, 0
    for at, char in enumerate(text):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def expanded(text, before=()):
    """The paths of a use tree."""
    text = text.strip()
    if nested := re.match(r"^((?:\w+\s*::\s*)*)\{(.*)\}$", text, re.DOTALL):
        names = tuple(re.findall(r"\w+", nested[1]))
        for part in parts(nested[2]):
            yield from expanded(part, before + names)
    elif text:
        yield before + tuple(re.findall(r"\w+|\*", re.split(r"\s+as\s+", text)[0]))


class Package:
    """The modules of a package that are files, and their imports. `sources`: code without comments, by path below `src`."""

    def __init__(self, sources):
        paths = {path: tuple(path.removesuffix(".rs").split("/")) for path in sources}
        modules = {() if names == ("lib",) else names: path for path, names in paths.items() if "tests" not in names}
        self.code = {module: without_tests(sources[path]) for module, path in modules.items()}
        self.path = modules
        self.passed_on = {module: {} for module in self.code}
        uses = {module: list(self.uses(module)) for module in self.code}
        # For each pair of files: the line of an import, and its path.
        self.imports = {}
        for module, found in uses.items():
            for line, path in found:
                target = self.defining(path)
                if target is not None and target != module:
                    self.imports.setdefault((module, target), (line, "::".join(path)))

    def uses(self, module):
        """The lines and absolute paths of a file's imports. Notes what it passes on."""
        code = self.code[module]
        for use in USE.finditer(code):
            for relative in expanded(use[2]):
                path = self.absolute(module, relative)
                if path and use[1]:
                    self.passed_on[module][path[-1]] = path
                elif path:
                    yield code.count("\n", 0, use.start()) + 1, path
        rest = USE.sub(lambda use: blank(use[0]), code)
        for inline in INLINE.finditer(rest):
            if path := self.absolute(module, tuple(inline[0].split("::"))):
                yield rest.count("\n", 0, inline.start()) + 1, path

    def absolute(self, module, path):
        """The path from the root of the package; nothing if it leads outside."""
        if path[0] == "crate":
            return path[1:]
        if path[0] == "self":
            return module + path[1:]
        if path[0] == "super":
            above = module
            while path and path[0] == "super":
                above, path = above[:-1], path[1:]
            return above + path
        return module + path if module + path[:1] in self.code else None

    def defining(self, path, depth=0):
        """The module of the file that defines what a path names."""
        known = next(path[:end] for end in range(len(path), -1, -1) if path[:end] in self.code)
        name = path[len(known) : len(known) + 1]
        if not name or depth > 12:
            return known
        passed_on = self.passed_on[known]
        if name[0] in passed_on and passed_on[name[0]] != path:
            return self.defining(passed_on[name[0]] + path[len(known) + 1 :], depth + 1)
        if "*" in passed_on and not re.search(DEFINES.format(re.escape(name[0])), self.code[known]):
            return self.defining(passed_on["*"][:-1] + name, depth + 1)
        return known

    def circles(self):
        """Groups of files that import each other in a circle. That a child imports its page makes none."""
        edges = {}
        for module, target in self.imports:
            if module[: len(target)] != target:
                edges.setdefault(module, set()).add(target)
        reached = {module: reachable(edges, module) for module in edges}
        groups = {frozenset(other for other in found if module in reached.get(other, ())) for module, found in reached.items()}
        return sorted(sorted("/".join(module) for module in group) for group in groups if len(group) > 1)


def reachable(edges, start):
    found, left = set(), [start]
    while left:
        new = edges.get(left.pop(), set()) - found
        found |= new
        left += new
    return found
