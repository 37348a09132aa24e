#!/usr/bin/env python3
"""The mutation score: how many small changes of the sources the tests notice.

`mutants.py build FOLDER` lists the mutants of the areas below by cargo-mutants, writes all of them into a copy of the
tree at once, each behind a condition, and builds the tests of that copy once. Mutants that do not compile are dropped.
`mutants.py run FOLDER [--areas A,B] [--sample N] [--seed S] [--shard K/N] [--jobs J]` tries some of them, each with the
tests that reach it, needs no compiler, and prints the score of each area and every mutant that survived.

Needs cargo-mutants (`cargo install --locked cargo-mutants`). Not written at once, and so in no sample: mutants in
constants, in `const fn`, of struct fields, of types without a name, and of conditions that bind names with `let`.
"""

import argparse
import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

from core_bugs import copy_of_the_tree

ROOT = Path(__file__).resolve().parent.parent
LIMIT_SECONDS = 120
FOLDERS = {"devarray": "core", "devarray-mock": "backend-mock", "devarray-conformance": "conformance"}

# Area: the files it is made of, and the tests that are asked, quick ones first; a package's name is its unit tests.
AREAS = {
    "layout": (
        ["core/src/layout/**"],
        ["devarray", "layout_shapes", "layout_axes", "layout_total", "layout_sharing", "restride", "views",
         "layout_golden", "plan_oracle", "array_transforms"],
    ),
    "copy": (
        ["core/src/copy/**"],
        ["devarray", "plan_oracle", "host_orders", "arrays", "transfer_threads"],
    ),
    "hazards": (
        ["core/src/hazards/**"],
        ["devarray", "hazards", "lifetimes", "sequential_equivalence", "programs"],
    ),
    "staging": (
        ["core/src/staging*", "core/src/staging/**"],
        ["devarray", "transfer_threads", "host_memory", "host_orders"],
    ),
    "memory": (
        ["core/src/memory/**", "core/src/pinned_pool.rs", "core/src/allocation.rs", "core/src/deferred_drop.rs"],
        ["devarray", "accounting", "release", "limits", "host_kinds", "host_memory", "lifetimes", "diagnostics",
         "programs"],
    ),
    "function": (
        ["core/src/function/**"],
        ["devarray", "function_text", "function_limits", "function_exact", "functions", "reductions", "elementary",
         "masked", "function_oracle", "function_golden", "sum_order"],
    ),
    "judge": (
        ["backend-mock/src/judge*", "backend-mock/src/judge/**"],
        ["devarray_mock", "classes", "known_bugs", "one_judge", "planted_bug", "no_findings", "mock", "explore",
         "conformance"],
    ),
}
LAST = ["conformance", "programs"]  # asked for every area, when nothing else noticed

CHOOSER = '''
/// Whether this mutant is the one asked for.
#[doc(hidden)]
#[allow(missing_docs, unreachable_pub, clippy::unwrap_used)]
pub(crate) fn mutant(number: usize) -> bool {
    use std::{io::Write, sync::{LazyLock, Mutex, atomic::{AtomicBool, Ordering::Relaxed}}};
    static CHOSEN: LazyLock<usize> =
        LazyLock::new(|| std::env::var("DEVARRAY_MUTANT").ok().and_then(|n| n.parse().ok()).unwrap_or(0));
    static MET: LazyLock<Option<(Vec<AtomicBool>, Mutex<std::fs::File>)>> = LazyLock::new(|| {
        let path = std::env::var_os("DEVARRAY_MUTANTS_MET")?;
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path).ok()?;
        Some(((0..100_000).map(|_| AtomicBool::new(false)).collect(), Mutex::new(file)))
    });
    if let Some((met, file)) = &*MET
        && !met[number].swap(true, Relaxed)
    {
        let _ = writeln!(file.lock().unwrap(), "{number}");
    }
    *CHOSEN == number
}
'''


def cargo(command, tree, target, **more):
    env = {**os.environ, "CARGO_TARGET_DIR": str(target), "CARGO_INCREMENTAL": "0", "RUSTFLAGS": "--cap-lints=allow"}
    return subprocess.run(["cargo", *command], cwd=tree, env=env, capture_output=True, text=True, check=False, **more)


def packages_of(areas):
    return sorted({"devarray-mock" if path.startswith("backend-mock") else "devarray"
                   for area in areas for path in AREAS[area][0]})


def write(folder, areas):
    """The tree with all mutants that compile; their lines by number."""
    tree, target = folder / "tree", folder / "target"
    listed, dropped = folder / "list.json", folder / "dropped.txt"
    files = [f"--file={path}" for area in areas for path in AREAS[area][0]]
    packages = [f"--package={package}" for package in packages_of(areas)]
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    copy_of_the_tree(ROOT, tree)
    found = cargo(["mutants", "--list", "--json", *packages, *files], tree, target)
    if found.returncode:
        sys.exit(f"mutants: {found.stderr}")
    if not listed.exists() or listed.read_text() != found.stdout:
        listed.write_text(found.stdout)
        dropped.write_text("")
    while True:
        copy_of_the_tree(ROOT, tree)
        tool = ["run", "--quiet", "--manifest-path", str(ROOT / ".ci/mutants/Cargo.toml"), "--"]
        written = cargo([*tool, str(tree), str(listed), str(dropped)], ROOT, folder / "tool")
        if written.returncode:
            sys.exit(f"mutants: {written.stderr}")
        for package in packages_of(areas):
            path = tree / FOLDERS[package] / "src/lib.rs"
            path.write_text(path.read_text() + CHOOSER)
        mutants = {}
        for line in written.stdout.splitlines():
            number, at, rest = line.split(" ", 2)
            mutants[int(number)] = (int(at), *rest.split(": ", 1))
        wrong = do_not_compile(tree, target, packages_of(areas), mutants)
        of = len(json.loads(listed.read_text()))
        print(f"mutants: {len(mutants)} of {of} are written, {len(wrong)} of them do not compile", flush=True)
        if not wrong:
            return mutants
        dropped.write_text(dropped.read_text() + "\n".join(map(str, sorted(wrong))) + "\n")


def do_not_compile(tree, target, packages, mutants):
    wrong, errors = set(), []
    for package in packages:
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
        if wrong:
            break
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
    """Builds the tests, and asks which mutants they reach."""
    tree, target = folder / "tree", folder / "target"
    tests = {test for area in areas for test in AREAS[area][1]} | set(LAST)
    command = ["test", "--no-run", "--message-format=json", *(f"--package={package}" for package in FOLDERS)]
    folders = [tree / folder / "tests" for folder in FOLDERS.values()]
    known = {path.stem for at in folders for path in at.glob("*.rs")}
    known |= {path.parent.name for at in folders for path in at.glob("*/main.rs")}
    units = [*command[:3], *(f"--package={package}" for package in packages_of(areas)), "--lib"]
    lines = []
    for command in [[*command, *(f"--test={test}" for test in sorted(tests & known))], units]:
        built = cargo(command, tree, target)
        if built.returncode:
            sys.exit(f"mutants: the tests do not build:\n{built.stderr[-4000:]}")
        lines += built.stdout.splitlines()
    binaries = {}
    for line in lines:
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"]:
            name, place = message["target"]["name"], Path(message["manifest_path"]).parent
            # Of tests of one name, those of core.
            if name in tests and (name not in binaries or place.name == "core"):
                at = folder / f"{name}.test"
                shutil.copyfile(message["executable"], at)
                at.chmod(0o755)
                subprocess.run(["strip", str(at)], check=False)
                binaries[name] = str(place)
    met = {}
    for name in sorted(binaries):
        log = folder / f"{name}.met"
        log.unlink(missing_ok=True)
        passed = attempt(folder, name, binaries[name], 0, {"DEVARRAY_MUTANTS_MET": str(log)}, limit=1800)
        if not passed:
            print(f"mutants: {name} fails without a mutant, and is not asked", flush=True)
            continue
        met[name] = sorted({int(number) for number in log.read_text().split()} if log.exists() else [])
        print(f"mutants: {name} reaches {len(met[name])}", flush=True)
    (folder / "plan.json").write_text(json.dumps({"mutants": mutants, "binaries": binaries, "met": met}))


def attempt(folder, name, place, number, more=None, limit=LIMIT_SECONDS):
    """Whether the tests of a binary pass with a mutant."""
    env = {**os.environ, "DEVARRAY_MUTANT": str(number), "RUST_BACKTRACE": "0", **(more or {})}
    command = [str((folder / f"{name}.test").resolve()), "--test-threads=1" if number else "--test-threads=2", "-q"]
    try:
        place = place if Path(place).is_dir() else str(folder)
        done = subprocess.run(command, cwd=place, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def area_of(file):
    matches = lambda globs: any(fnmatch(file, glob.replace("**", "*")) for glob in globs)
    return next((area for area, (globs, _) in AREAS.items() if matches(globs)), None)


def run(folder, options):
    plan = json.loads((folder / "plan.json").read_text())
    mutants = {int(number): tuple(mutant) for number, mutant in plan["mutants"].items()}
    met = {name: set(numbers) for name, numbers in plan["met"].items()}
    k, n = map(int, options.shard.split("/"))
    chosen = []
    for area in options.areas.split(",") if options.areas else AREAS:
        members = sorted(number for number, (_, file, _) in mutants.items() if area_of(file) == area)
        random.Random(f"{options.seed} {area}").shuffle(members)
        chosen += [(area, number) for number in members[: options.sample or None][k - 1 :: n]]

    def killed_by(job):
        area, number = job
        asked = [name for name in [*AREAS[area][1], *LAST] if number in met.get(name, ())]
        noticed = (name for name in dict.fromkeys(asked) if not attempt(folder, name, plan["binaries"][name], number))
        return next(noticed, None)

    tried, killed = {}, {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (area, number), by in zip(chosen, pool.map(killed_by, chosen)):
            tried[area] = tried.get(area, 0) + 1
            killed[area] = killed.get(area, 0) + (by is not None)
            line, file, name = mutants[number]
            if by is None:
                reached = any(number in numbers for numbers in met.values())
                print(f"survived{'' if reached else ', not reached'}: {number} {name} ({file}:{line})", flush=True)
            elif options.verbose:
                print(f"killed by {by}: {number} {name}", flush=True)
    for area in tried:
        print(f"{area:9} {killed[area]:4} of {tried[area]:4} killed, {killed[area] / tried[area]:.1%}")
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
    options = parser.parse_args()
    if options.what == "build":
        build(options.folder.resolve(), options.areas.split(",") if options.areas else list(AREAS))
    else:
        run(options.folder.resolve(), options)


if __name__ == "__main__":
    main()
