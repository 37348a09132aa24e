"""The layers of packages: which file may import which. For tidy.py.

`floors.txt` lists the layers of each package, the lowest first. A word names a file below the package's `src` and its folder; if
several words fit a file, the longest counts. A file may import from its own layer and from lower ones. A child may import types of its
parent module from any layer, but no constants and no functions of a higher one. Import cycles are listed with a reason. Code for tests
is ignored.
"""

import re

from imports import Package, blank

FLOORS = ".ci/floors.txt"
VISIBILITY = re.compile(r"\bpub\s*\(\s*in\s[^)]*\)")


class Floors:
    """The entries of the list for one package, and the imports of its files."""

    def __init__(self, tree, source, line, code_only):
        self.source, self.line = source, line
        self.floors, self.circles = [], []
        texts = {path.removeprefix(source + "/"): text for path, text in tree.of(".rs") if path.startswith(source + "/")}
        self.root = "lib.rs" if "lib.rs" in texts else "main.rs"
        if self.root in texts:
            texts["lib.rs"] = texts.pop(self.root)
        # The path of `pub(in path)` is not an import.
        sources = {path: VISIBILITY.sub(lambda found: blank(found[0]), code_only(text)) for path, text in texts.items()}
        self.package = Package(sources) if texts else None

    def files(self):
        """The modules of all files by the name that the list has for them."""
        return {"/".join(module) or "lib": module for module in self.package.code} if self.package else {}

    def path(self, module):
        return f"{self.source}/{self.package.path[module] if module else self.root}"

    def imports(self):
        """Each import: the file, the file that defines what is imported, the line and the path."""
        for module in self.package.code if self.package else ():
            for line, path in self.package.uses(module):
                target = self.package.defining(path)
                if target != module:
                    yield module, target, line, path

    def defines(self, module, kinds, name):
        return re.search(rf"\b(?:{kinds})\s+{re.escape(name)}\b", self.package.code[module])

    def floor(self, name):
        """The number of the floor of a file, and the word that says so."""
        fits = [(len(word), number, word) for number, words in enumerate(self.floors) for word in words
                if name == word or name.startswith(word + "/")]
        return max(fits)[1:] if fits else None


def packages(tree, code_only):
    """The packages of the list, read once for a tree."""
    if not hasattr(tree, "packages"):
        tree.packages = listed(tree, code_only)
    return tree.packages


def listed(tree, code_only):
    found = []
    for number, line in enumerate(tree.texts.get(FLOORS, "").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if not line[0].isspace():
            found.append(Floors(tree, words[0], number, code_only))
        elif words[0] == "circle":
            names, _, reason = line.partition(":")
            found[-1].circles.append((number, names.split()[1:], reason.strip()))
        else:
            found[-1].floors.append(words)
    return found


def upward(tree, code_only):
    """Imports of a higher layer. A child may import the types of its parent module, but no function and no constant."""
    for package in packages(tree, code_only):
        names = {module: name for name, module in package.files().items()}
        for module, target, line, path in package.imports():
            here, there = package.floor(names[module]), package.floor(names[target])
            is_type = module[: len(target)] == target and not package.defines(target, "const|static|fn", path[-1])
            if here and there and there[0] > here[0] and not is_type:
                imported = "::".join(path)
                message = f"imports {imported} of floor {there[0] + 1} ({there[1]}) and is of floor {here[0] + 1} ({here[1]})"
                yield package.path(module), line, message


def unlisted(tree, code_only):
    """Files without a floor, and words without a file."""
    for package in packages(tree, code_only):
        files, words = package.files(), [word for floor in package.floors for word in floor]
        for name, module in sorted(files.items()):
            if not package.floor(name):
                yield package.path(module), 1, f"{FLOORS} gives it no floor"
        for word in sorted(set(words)):
            if words.count(word) > 1:
                yield FLOORS, package.line, f"{package.source}: {word} has {words.count(word)} floors"
            if not any(name == word or name.startswith(word + "/") for name in files):
                yield FLOORS, package.line, f"{package.source}: there is no file {word}"


def circles(tree, code_only):
    """Circles that are not listed, and listed ones that are gone or have no reason."""
    for package in packages(tree, code_only):
        found = [tuple(name or "lib" for name in group) for group in package.package.circles()] if package.package else []
        named = [tuple(sorted(names)) for _, names, _ in package.circles]
        for group in found:
            if tuple(sorted(group)) not in named:
                first = package.files()[group[0]]
                yield package.path(first), 1, f"{len(group)} files import each other in a circle: {' '.join(group)}"
        for number, names, reason in package.circles:
            if tuple(sorted(names)) not in [tuple(sorted(group)) for group in found]:
                yield FLOORS, number, f"{package.source}: {' '.join(names)} is no circle any more"
            elif not reason:
                yield FLOORS, number, f"{package.source}: a circle without a reason"


def page_constants(tree, code_only):
    """Constants of a page that its children import: they belong to a file below."""
    for package in packages(tree, code_only):
        for module, page, line, path in package.imports():
            if module[: len(page)] == page and package.defines(page, "const|static", path[-1]):
                yield package.path(module), line, f"imports the constant {path[-1]} of the page above it"
