#!/usr/bin/env python3
"""Plants bugs in core (`planted_bugs.py`), all in one copy of the tree and awake one at a time, and tells who notices each.

`core_bugs.py` tries the laws that are named for them, under three schedules: the bugs that `conformance/tests/meta` plants
are in a backend, and laws about what core does by itself notice none of them. Without a bug every named law must hold, and
with it break.

`core_bugs.py --programs` tries random programs alone, 2,000 under each of three schedules: prints after how many programs a
bug is found, and how many operations the smallest has. Fails if one is not found, or found by a program that is not small.

Numbers choose some: `core_bugs.py --programs 3 17`. `core_bugs.py --check` only looks whether every place is still there.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from planted_bugs import PLACES, plant

ROOT = Path(__file__).resolve().parent.parent


def copy_of_the_tree(root, to):
    git = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(git, capture_output=True, check=True).stdout.decode().split("\0")
    for path in filter(None, listed):
        if (root / path).is_file():
            # New times: cargo goes by them, and what an earlier run built here was made of other text.
            (to / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / path, to / path)


def cargo_test(tree, number, package, test, *arguments, limit_seconds=None, **variables):
    """The output of a test of the tree, and how it ends, with one bug awake; none if it never ends."""
    cargo = ["cargo", "test", "--quiet", "--locked", "-p", package, "--test", test]
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "core-bugs"
    # Optimized a little: that takes as long to build, and runs many times as fast.
    env = {"CARGO_PROFILE_DEV_OPT_LEVEL": "1", "CARGO_PROFILE_DEV_DEBUG": "0", **os.environ, **variables,
           "CARGO_TARGET_DIR": str(target), "CARGO_INCREMENTAL": "0", "DEVARRAY_PLANTED": str(number)}
    run = {"cwd": tree, "env": env, "capture_output": True, "text": True, "check": False}
    built = subprocess.run([*cargo, "--no-run"], **run)
    if built.returncode:
        sys.exit(f"core_bugs: a planted bug does not compile:\n{built.stderr}")
    try:
        done = subprocess.run([*cargo, "--", "--exact", *arguments], timeout=limit_seconds, **run)
    except subprocess.TimeoutExpired:
        return None
    if not re.search(r"^running [1-9]\d* test", done.stdout, re.MULTILINE):
        sys.exit(f"core_bugs: the tests did not run:\n{done.stdout}{done.stderr}")
    return done


SCHEDULES = ["lazy", "reverse_lazy", "random"]


def law_notices(tree, number, law):
    """Whether the simulator does not keep a law over this core, under one schedule or another."""
    tests = [f"{schedule}::{law}" for schedule in SCHEDULES]
    done = cargo_test(tree, number, "devarray-mock", "conformance", *tests)
    if f"running {len(tests)} test" not in done.stdout:
        sys.exit(f"core_bugs: no law is called {law}")
    broken = any(f"---- {test} stdout ----" in done.stdout for test in tests)
    return broken, f"{'noticed' if broken else 'SURVIVED':9} {law}"


PROGRAMS = 2000
MOST_OPERATIONS = 8
LIMIT_SECONDS = 600
# Searches, if a bug ends the process: what it ends makes no program small.
SEEDS = 4
TOLD = re.compile(r"found: program (\d+) under (\w+), (\d+) operations")


def programs_find(tree, number):
    """Whether random programs alone show a planted bug by a small one, and the words for the table."""
    for seed in range(SEEDS):
        done = cargo_test(tree, number, "devarray-conformance", "programs", "many", "--ignored", limit_seconds=LIMIT_SECONDS,
                          DEVARRAY_PROGRAMS=str(PROGRAMS), DEVARRAY_PROGRAMS_SEED=str(seed))
        if done is None:
            return True, "found: it never ends"
        if told := TOLD.search(done.stdout):
            program, schedule, operations = told.groups()
            small = int(operations) <= MOST_OPERATIONS
            return small, f"{'found' if small else 'NOT SMALL'}: {operations} operations, program {program}, {schedule}"
        if done.returncode == 0:
            return False, "NOT FOUND"
    return True, "found: the process ends"


def main(arguments):
    by_programs = arguments[:1] == ["--programs"]
    wanted = arguments[by_programs:]
    concerned = [(number, place) for number, place in enumerate(PLACES, 1) if (place.area if by_programs else place.law)]
    chosen = [(number, place) for number, place in concerned if not wanted or str(number) in wanted]

    def tried(number, place):
        return programs_find(tree, number) if by_programs else law_notices(tree, number, place.law)

    missed = 0
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch)
        copy_of_the_tree(ROOT, tree)
        if wrong := plant(tree):
            sys.exit("\n".join(wrong))
        if arguments == ["--check"]:
            return 0
        for place in [chosen[0][1]] if by_programs else {place.law: place for _, place in chosen}.values():
            found, text = tried(0, place)
            if found:
                sys.exit(f"core_bugs: without a bug: {text}")
        for number, place in chosen:
            found, text = tried(number, place)
            missed += not found
            print(f"{number:2} {place.area:9} {text:50} {place.name}", flush=True)
    print(f"core_bugs: {len(chosen)} planted, {missed} not noticed")
    return 1 if missed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
