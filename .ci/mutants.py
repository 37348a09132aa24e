#!/usr/bin/env python3
"""The mutation score: how many small changes of the sources the tests notice.

`mutants.py build FOLDER` lists the mutants of the areas below by cargo-mutants, writes all of them into a copy of the
tree at once, each behind a condition, and builds the tests of that copy once. Mutants that do not compile are dropped.
`mutants.py run FOLDER [--areas A,B] [--sample N] [--seed S] [--shard K/N] [--jobs J]` tries some of them, each with the
tests that reach it, needs no compiler, and prints the score of each area and every mutant that survived. `--record`
keeps them for conformance/reports/MUTANTS.md (see mutants_page.py).

Needs cargo-mutants (`cargo install --locked cargo-mutants`). Not written at once, and so in no sample: mutants in
constants, in `const fn`, of struct fields, of types without a name, and of conditions that bind names with `let`.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

from core_bugs import copy_of_the_tree
from mutants_page import record

ROOT = Path(__file__).resolve().parent.parent
MOST_BYTES = 6 << 30  # of a process of tests
FOLDERS = {"devarray-layout": "core/layout", "devarray-function": "core/function",
           "devarray-order": "core/order", "devarray-product": "core/product", "devarray": "core",
           "devarray-mock": "backend-mock", "devarray-conformance": "conformance", "devarray-cuda": "backend-cuda"}


def cuda(modules):
    return [f"backend-cuda/src/{name}{end}" for name in modules.split() for end in [".rs", "/**"]]


# Area: the files it is made of, and the tests that are asked: a package's folder, for its unit tests, or a test of it.
# Each is asked module by module, the quick ones that reach the mutant first.
AREAS = {
    "copy": (
        ["core/layout/src/copy*", "core/layout/src/copy/**"],
        ["core/layout", "core/layouts", "core/api", "core/memory"],
    ),
    "layout": (["core/layout/src/**"], ["core/layout", "core/layouts", "core/api"]),
    "hazards": (
        ["core/src/hazards/**"],
        ["core", "core/ordering", "core/memory", "core/computing", "backend-mock/conformance", "conformance/programs"],
    ),
    "staging": (
        ["core/src/staging*", "core/src/staging/**"],
        ["core", "core/memory", "core/api", "core/ordering", "backend-mock/conformance"],
    ),
    "memory": (
        ["core/src/memory/**", "core/src/pinned_pool*", "core/src/pinned_pool/**", "core/src/allocation*",
         "core/src/allocation/**", "core/src/deferred_drop.rs"],
        ["core", "core/memory", "core/api", "core/ordering", "backend-mock/conformance", "conformance/programs"],
    ),
    "function": (["core/function/src/**"], ["core/function", "core/computing", "core/api", "backend-mock/conformance"]),
    "order": (["core/order/src/**"], ["core/order", "core/order/order"]),
    "product": (["core/product/src/**"], ["core/product", "core/product/product"]),
    "judge": (
        ["backend-mock/src/judge*", "backend-mock/src/judge/**"],
        ["backend-mock", "backend-mock/simulated", "backend-mock/mock", "backend-mock/known_bugs",
         "backend-mock/planted_bug", "backend-mock/faults", "backend-mock/conformance", "conformance/programs"],
    ),
    "cuda host": (cuda("stream event memory images gather pool context device handle kernels peer fetch "
                       "properties driver"), ["backend-cuda", "backend-cuda/fake"]),
    "cuda strided": (cuda("strided"), ["backend-cuda", "backend-cuda/fake"]),
    "cuda function": (cuda("function"), ["backend-cuda", "backend-cuda/fake"]),
}

CHOOSER = '''
/// Whether this mutant is the one asked for.
#[doc(hidden)]
#[allow(missing_docs, unreachable_pub, clippy::unwrap_used)]
pub(crate) fn mutant(number: usize) -> bool {
    use std::{io::Write, sync::{LazyLock, Mutex, atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed}}};
    static CHOSEN: AtomicUsize = AtomicUsize::new(usize::MAX);
    static MET: LazyLock<Option<(Vec<AtomicBool>, Mutex<std::fs::File>)>> = LazyLock::new(|| {
        let path = std::env::var_os("DEVARRAY_MUTANTS_MET")?;
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path).ok()?;
        Some(((0..100_000).map(|_| AtomicBool::new(false)).collect(), Mutex::new(file)))
    });
    #[cold]
    fn asked(number: usize) -> bool {
        let Some((met, file)) = &*MET else {
            let chosen = std::env::var("DEVARRAY_MUTANT").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
            CHOSEN.store(chosen, Relaxed);
            return chosen == number;
        };
        if !met[number].swap(true, Relaxed) {
            // At once: other crates append to the file as well, and numbers must not run together.
            let line = format!("{number}\n");
            let _ = file.lock().unwrap().write_all(line.as_bytes());
        }
        false
    }
    let chosen = CHOSEN.load(Relaxed);
    if chosen == usize::MAX { asked(number) } else { chosen == number }
}
'''


def cargo(command, tree, target, **more):
    env = {**os.environ, "CARGO_TARGET_DIR": str(target), "CARGO_INCREMENTAL": "0", "RUSTFLAGS": "--cap-lints=allow",
           "CARGO_PROFILE_DEV_DEBUG": "0"}
    return subprocess.run(["cargo", *command], cwd=tree, env=env, capture_output=True, text=True, check=False, **more)


def folder_of(path):
    """The folder of the package that a file or a test belongs to."""
    return max((folder for folder in FOLDERS.values() if path == folder or path.startswith(folder + "/")), key=len)


def packages_of(areas):
    """In the order in which they are compiled."""
    parts = {folder_of(path) for area in areas for path in AREAS[area][0]}
    return [package for package, folder in FOLDERS.items() if folder in parts]


def update(tree, plain):
    """Makes the tree what the other is; what is the same keeps its time, and is not compiled again."""
    there = {path.relative_to(plain) for path in plain.rglob("*") if path.is_file()}
    for path in there:
        text = (plain / path).read_bytes()
        if not (tree / path).is_file() or (tree / path).read_bytes() != text:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(text)
    for path in tree.rglob("*"):
        if path.is_file() and path.relative_to(tree) not in there:
            path.unlink()


def write(folder, areas):
    """The tree with all mutants that compile; their lines by number."""
    tree, plain, target = folder / "tree", folder / "plain", folder / "target"
    listed, dropped = folder / "list.json", folder / "dropped.txt"
    files = [f"--file={path}" for area in AREAS if area in areas for path in AREAS[area][0]]
    packages = [f"--package={package}" for package in packages_of(areas)]
    shutil.rmtree(plain, ignore_errors=True)
    copy_of_the_tree(ROOT, plain)
    found = cargo(["mutants", "--list", "--json", *packages, *files], plain, target)
    if found.returncode:
        sys.exit(f"mutants: {found.stderr}")
    if not listed.exists() or listed.read_text() != found.stdout:
        listed.write_text(found.stdout)
        dropped.write_text("")
    of = len(json.loads(found.stdout))
    for package in packages_of(areas):
        while True:
            copy_of_the_tree(ROOT, plain)
            mutants = written(folder, plain, areas)
            update(tree, plain)
            wrong = do_not_compile(tree, target, package, mutants)
            print(f"mutants: {package}: {len(mutants)} of {of} written, {len(wrong)} do not compile", flush=True)
            if not wrong:
                break
            dropped.write_text(dropped.read_text() + "\n".join(map(str, sorted(wrong))) + "\n")
    text = {file: (ROOT / file).read_text().splitlines() for _, file, _ in mutants.values()}
    return {number: (*mutant, text[mutant[1]][mutant[0] - 1].strip()) for number, mutant in mutants.items()}


def written(folder, plain, areas):
    tool = ["run", "--quiet", "--manifest-path", str(ROOT / ".ci/mutants/Cargo.toml"), "--"]
    done = cargo([*tool, str(plain), str(folder / "list.json"), str(folder / "dropped.txt")], ROOT, folder / "tool")
    if done.returncode:
        sys.exit(f"mutants: {done.stderr}")
    for package in packages_of(areas):
        path = plain / FOLDERS[package] / "src/lib.rs"
        path.write_text(path.read_text() + CHOOSER)
    mutants = {}
    for line in done.stdout.splitlines():
        number, at, rest = line.split(" ", 2)
        mutants[int(number)] = (int(at), *rest.split(": ", 1))
    return mutants


def do_not_compile(tree, target, package, mutants):
    wrong, errors = set(), []
    done = cargo(["check", "--quiet", "--message-format=json", "--all-features", "-p", package], tree, target)
    for line in done.stdout.splitlines():
        message = json.loads(line).get("message", {})
        if not isinstance(message, dict) or message.get("level") != "error":
            continue
        for part in [message, *message.get("children", [])]:
            for span in part.get("spans", []):
                wrong |= at_fault(span, mutants)
        # Arms are missing: those below are not to be left out.
        if (message.get("code") or {}).get("code") == "E0004":
            wrong |= {
                number for number, (line, file, name) in mutants.items() for span in message["spans"]
                if "delete match arm" in name and file == span["file_name"] and 0 <= line - span["line_start"] < 40
            }
        errors.append(message.get("rendered", ""))
    if done.returncode and not wrong:
        sys.exit(f"mutants: the tree does not compile:\n{''.join(errors)[:3000]}{done.stderr[-2000:]}")
    return wrong


def at_fault(span, mutants):
    """The mutants that a span of an error lies in, going by the text of its line."""
    text = "".join(line["text"] for line in span.get("text", []))
    numbers = [int(number) for number in re.findall(r"crate::mutant\((\d+)\)", text)]
    near = [int(m.group(1)) for m in re.finditer(r"crate::mutant\((\d+)\)", text) if m.start() <= span["column_start"]]
    # The one that begins last before the place, and all on the line if that is none of this round.
    chosen = near[-1:] or numbers
    return {number for number in chosen if number in mutants}


def build(folder, areas):
    folder.mkdir(parents=True, exist_ok=True)
    compiled(folder, areas, write(folder, areas))


def compiled(folder, areas, mutants):
    """Builds the tests, and asks which mutants each module of them reaches, and how long it takes."""
    plan = folder / "plan.json"
    earlier = json.loads(plan.read_text())["entries"] if plan.exists() else {}
    entries = {}
    tests = list(dict.fromkeys(test for area in areas for test in AREAS[area][1]))
    places = {folder_of(test) for test in tests}
    # All at once, so that every test meets the same features, and each package is compiled once.
    packages = [f"--package={package}" for package, place in FOLDERS.items() if place in places]
    for test in tests:
        built, place = executable(folder, test, packages), folder / "tree" / folder_of(test)
        digest = hashlib.sha256(built.read_bytes()).hexdigest()
        same = {name: entry for name, entry in earlier.items() if entry["test"] == test and entry["digest"] == digest}
        if same:
            entries |= same
        else:
            at = folder / f"{test.replace('/', '.')}.test"
            at.unlink(missing_ok=True)  # it may be running
            shutil.copyfile(built, at)
            at.chmod(0o755)
            subprocess.run(["strip", str(at)], check=False)
            for entry in entries_of(folder, test, at, place):
                entries[f"{test} {entry['module']}"] = {**entry, "digest": digest}
        plan.write_text(json.dumps({"mutants": mutants, "entries": entries}))


def executable(folder, test, packages):
    place = folder_of(test)
    binary = test.removeprefix(place).removeprefix("/")
    one = f"--test={binary}" if binary else "--lib"
    command = ["test", "--no-run", "--message-format=json", *packages, one]
    built = cargo(command, folder / "tree", folder / "target")
    if built.returncode:
        sys.exit(f"mutants: {test} does not build:\n{built.stderr[-4000:]}")
    messages = map(json.loads, built.stdout.splitlines())
    tests = (m for m in messages if m.get("executable") and m["profile"]["test"])
    return next(Path(m["executable"]) for m in tests if Path(m["manifest_path"]).parent == (folder / "tree" / place).resolve())


def entries_of(folder, test, at, place):
    listed = subprocess.run([at, "--list", "--format=terse"], cwd=place, capture_output=True, text=True, check=True)
    names = [line.removesuffix(": test") for line in listed.stdout.splitlines() if line.endswith(": test")]
    for module in dict.fromkeys(f"{name.split('::')[0]}::" if "::" in name else name for name in names):
        chosen = [module] if module.endswith("::") else ["--exact", module]
        entry = {"test": test, "module": module, "command": [str(at), *chosen, "-q"], "place": str(place)}
        log = folder / "met.txt"
        log.unlink(missing_ok=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        passed = attempt({**entry, "seconds": 900}, 0, {"DEVARRAY_MUTANTS_MET": str(log)})
        entry["seconds"] = round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, 2)
        entry["met"] = sorted({int(number) for number in log.read_text().split()}) if log.exists() else []
        asked = f"reaches {len(entry['met'])} in {entry['seconds']} s" if passed else "fails without a mutant"
        print(f"mutants: {test} {module} {asked}", flush=True)
        if passed and entry["met"]:
            yield entry


def attempt(entry, number, more=None):
    """Whether the tests of an entry pass with a mutant. One that runs on and on or wants all memory does not; nor does one
    that sleeps, but what sleeps may have had to wait for others, so it is asked twice."""
    env = {**os.environ, "DEVARRAY_MUTANT": str(number), "RUST_BACKTRACE": "0", "PROPTEST_MAX_SHRINK_ITERS": "0",
           "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1", **(more or {})}
    most_seconds = int(10 + 5 * entry["seconds"])

    def bound():
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (most_seconds, most_seconds))

    command = [*entry["command"], "--test-threads=1" if number else "--test-threads=2"]
    for _ in range(2):
        # Where others want the processors too, what waits for one is no hang.
        most_wait = (60 + most_seconds) * max(1, os.getloadavg()[0] / (os.cpu_count() or 1))
        try:
            done = subprocess.run(command, cwd=entry["place"], env=env, stdin=subprocess.DEVNULL, preexec_fn=bound,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=most_wait)
            return done.returncode == 0
        except subprocess.TimeoutExpired:
            continue
    return False


def area_of(file):
    matches = lambda globs: any(fnmatch(file, glob.replace("**", "*")) for glob in globs)
    return next((area for area, (globs, _) in AREAS.items() if matches(globs)), None)


def run(folder, options):
    plan = json.loads((folder / "plan.json").read_text())
    mutants = {int(number): tuple(mutant) for number, mutant in plan["mutants"].items()}
    entries = dict(sorted(plan["entries"].items(), key=lambda entry: entry[1]["seconds"]))
    met = {name: set(entry["met"]) for name, entry in entries.items()}
    k, n = map(int, options.shard.split("/"))
    chosen = []
    for area in options.areas.split(",") if options.areas else AREAS:
        members = sorted(number for number, (_, file, *_) in mutants.items() if area_of(file) == area)
        random.Random(f"{options.seed} {area}").shuffle(members)
        chosen += [(area, number) for number in members[: options.sample or None][k - 1 :: n]]

    def killed_by(job):
        area, number = job
        asked = [name for name, entry in entries.items() if entry["test"] in AREAS[area][1] and number in met[name]]
        return next((name for name in asked if not attempt(entries[name], number)), None)

    tried, killed, survivors = {}, {}, {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (area, number), by in zip(chosen, pool.map(killed_by, chosen)):
            tried[area] = tried.get(area, 0) + 1
            killed[area] = killed.get(area, 0) + (by is not None)
            line, file, name, code = mutants[number]
            if by is None:
                reached = any(number in numbers for numbers in met.values())
                survivor = {"file": file, "code": code, "change": name.split(": ", 1)[-1]}
                survivors.setdefault(area, []).append(survivor)
                print(f"survived{'' if reached else ', not reached'}: {number} {name} ({file}:{line})", flush=True)
            elif options.verbose:
                print(f"killed by {by}: {number} {name}", flush=True)
    for area in tried:
        print(f"{area:13} {killed[area]:4} of {tried[area]:4} killed, {killed[area] / tried[area]:.1%}")
        if options.record:
            of = sum(area_of(file) == area for _, file, *_ in mutants.values())
            record({"area": area, "seed": options.seed, "mutants": of, "tried": tried[area], "killed": killed[area],
                    "survivors": survivors.get(area, [])})
    total = sum(tried.values())
    print(f"mutants: {sum(killed.values())} of {total} killed, {sum(killed.values()) / max(total, 1):.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["build", "run"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--areas", default="")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shard", default="1/1")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    if options.what == "build":
        build(options.folder.resolve(), options.areas.split(",") if options.areas else list(AREAS))
    else:
        run(options.folder.resolve(), options)


if __name__ == "__main__":
    main()
