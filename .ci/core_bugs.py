#!/usr/bin/env python3
"""Plants bugs in core, one at a time, in a copy of the tree: each must be noticed by the law of the suite named for it.

The bugs that `conformance/tests/meta` plants are in a backend. Laws about what core does by itself notice none of them;
here is one for each of those, and some for what core does between operations. Without a bug every named law must hold.

`core_bugs.py` tries all; `core_bugs.py NAME …` some. Prints a table and fails if a law holds that must not.

`core_bugs.py --programs` plants the bugs of `program_bugs.py` instead and tries random programs alone, 2,000 under each of
three schedules; `--programs NUMBER …` tries some. Prints which are found, after how many programs, and how many operations
the smallest has; fails if one is not found.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import program_bugs


class Bug(NamedTuple):
    name: str
    law: str
    path: str
    right: str
    wrong: str


BUGS = [
    Bug("an empty array asks for a byte", "buffers::zero_bytes", "core/src/array/erased.rs",
        "if layout.is_empty() {\n        return Ok(0);", "if layout.is_empty() {\n        return Ok(1);"),
    Bug("a copy of no elements goes on", "copies::zero_size", "core/src/operations.rs",
        "if plan.len_bytes() == 0 {", "if plan.len_bytes() == usize::MAX {"),
    Bug("a size beyond isize::MAX is asked for", "layouts::overflow", "core/src/array/erased.rs",
        "len_bytes.filter(|&n| isize::try_from(n).is_ok()).ok_or(", "len_bytes.ok_or("),
    Bug("a destination may repeat elements", "algebra::inconsistent_layouts", "core/src/copy/plan.rs",
        "if dst.injectivity() != Injectivity::Injective {", "if dst.injectivity() == Injectivity::Injective {"),
    Bug("a longer buffer is taken", "host::refused", "core/src/host/transfer.rs",
        "if found != len {", "if found < len {"),
    Bug("a failed free is not told of", "errors::failing_drop_is_told", "core/src/allocation.rs",
        "drop(timeline);\n            core.report(error);", "drop(timeline);\n            drop(error);"),
    Bug("a reader replaces the readers before it", "regressions::last_reader", "core/src/hazards/uses.rs",
        "self.0.retain(|u| !dominates(u) && !is_done(u));",
        "self.0.retain(|u| !dominates(u) && !is_done(u) && (u.write || next.write));"),
    Bug("a free waits for nobody", "buffers::drop_with_work_pending", "core/src/hazards/timeline.rs",
        "uses.conflicting(&next)\n            .try_for_each(", "uses.conflicting(&next)\n            .take(0)\n            .try_for_each("),
    Bug("reads conflict with nothing", "copies::readers_then_writer", "core/src/hazards/uses.rs",
        "(self.write || other.write) && self.footprint", "(self.write && other.write) && self.footprint"),
    Bug("strict streams refuse nothing", "errors::strict_refuses", "core/src/context.rs",
        "StreamHandle::open(&self.0, Mode::Strict)", "StreamHandle::open(&self.0, Mode::Automatic)"),
    Bug("every part is put at the front", "joins::concatenate", "core/src/array/join.rs",
        "            start = end;", "            start = 0;"),
    Bug("both margins hold the first element", "joins::pad", "core/src/array/pad.rs",
        "Walk::once(before + extent, after, extent - 1, 0)", "Walk::once(before + extent, after, 0, 0)"),
    Bug("the last margin is not filled", "joins::pad", "core/src/array/pad.rs",
        "push(&[], first + span, whole.len() - first - span)?;", "let _ = whole.len() - first - span;"),
    Bug("the first element is repeated for all", "joins::repeat", "core/src/array/repeat.rs",
        "from_pitch: 1, ", "from_pitch: 0, "),
    Bug("functions wait for nobody who writes their inputs", "functions::ordered", "core/src/operations/map.rs",
        "touches.push(input.touch(false));", "let _ = input.touch(false);"),
    Bug("a function of no elements goes on", "functions::empty", "core/src/operations/map.rs",
        "if result.layout.is_empty() {\n            return Ok(());", "if result.layout.is_empty() && shape.len() > 99 {\n            return Ok(());"),
    Bug("inputs are repeated to fit the result", "functions::refused", "core/src/array/compute.rs",
        "if result.layout.shape() != &expected[..] {", "if result.layout.shape().len() < expected.len() {"),
    Bug("positions of a reduction count along other axes", "reductions::axes", "core/src/array/reduce.rs",
        "element.program().with_positions(&order)", "element.program().with_positions(&[])"),
    Bug("a gather waits for nobody who writes its indices", "gathers::ordered", "core/src/operations/gather.rs",
        "(Some(indices), false)", "(None, false)"),
    Bug("positions of indices are those of their memory", "gathers::told", "core/src/array/picked.rs",
        "unsigned(positions.strides())", "unsigned(indices.strides())"),
    Bug("a wait for an event tells of no index", "gathers::waits", "core/src/stream.rs",
        "        self.core.tell(end)", "        end"),
    Bug("elements are chosen from nothing", "gathers::refused", "core/src/array/picked.rs",
        "self.indexed_axes.iter().all(|axis| axis.extent > 0)", "!self.indexed_axes.is_empty()"),
]


def copy_of_the_tree(root, to):
    git = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(git, capture_output=True, check=True).stdout.decode().split("\0")
    for path in filter(None, listed):
        if (root / path).is_file():
            # New times: cargo goes by them, and what an earlier run built here was made of other text.
            (to / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / path, to / path)


SCHEDULES = ["lazy", "reverse_lazy", "random"]


def broken_laws(tree, laws, target):
    """Those of the laws that the simulator does not keep over this core, under one schedule or another."""
    cargo = ["cargo", "test", "--quiet", "--locked", "-p", "devarray-mock", "--test", "conformance"]
    env = {**os.environ, "CARGO_TARGET_DIR": str(target), "CARGO_INCREMENTAL": "0"}
    built = subprocess.run([*cargo, "--no-run"], cwd=tree, env=env, capture_output=True, text=True, check=False)
    if built.returncode:
        sys.exit(f"core_bugs: a planted bug does not compile:\n{built.stderr}")
    tests = [f"{schedule}::{law}" for law in laws for schedule in SCHEDULES]
    done = subprocess.run([*cargo, "--", "--exact", *tests], cwd=tree, env=env, capture_output=True, text=True, check=False)
    if f"running {len(tests)} test" not in done.stdout:
        sys.exit(f"core_bugs: the laws did not run:\n{done.stdout}{done.stderr}")
    return [law for law in laws if any(f"---- {s}::{law} stdout ----" in done.stdout for s in SCHEDULES)]


PROGRAMS = 2000
LIMIT_SECONDS = 600
TOLD = re.compile(r"found: program (\d+) under (\w+), (\d+) operations")


def programs_find(tree, number, target):
    """What random programs alone show of a planted bug: the words for the table, and whether they found it."""
    cargo = ["cargo", "test", "--quiet", "--locked", "-p", "devarray-conformance", "--test", "programs"]
    env = {**os.environ, "CARGO_TARGET_DIR": str(target), "CARGO_INCREMENTAL": "0", "DEVARRAY_PROGRAMS": str(PROGRAMS),
           "DEVARRAY_PLANTED": str(number)}
    command = [*cargo, "--", "--exact", "many", "--ignored"]
    built = subprocess.run([*cargo, "--no-run"], cwd=tree, env=env, capture_output=True, text=True, check=False)
    if built.returncode:
        sys.exit(f"core_bugs: a planted bug does not compile:\n{built.stderr}")
    try:
        done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "found: it never ends", True
    if "running 1 test" not in done.stdout:
        sys.exit(f"core_bugs: the programs did not run:\n{done.stdout}{done.stderr}")
    if told := TOLD.search(done.stdout):
        program, schedule, operations = told.groups()
        return f"found: {operations} operations, program {program}, {schedule}", True
    return ("NOT FOUND", False) if done.returncode == 0 else ("found: the process ends", True)


def programs(numbers):
    """Random programs alone against each planted bug."""
    root = Path(__file__).resolve().parent.parent
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "core-bugs"
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch)
        copy_of_the_tree(root, tree)
        if wrong := program_bugs.plant(tree):
            sys.exit("\n".join(wrong))
        told, found = programs_find(tree, 0, target)
        if found:
            sys.exit(f"core_bugs: without a bug: {told}")
        places = list(enumerate(program_bugs.PLACES, 1))
        chosen = [(number, place) for number, place in places if not numbers or str(number) in numbers]
        missed = 0
        for number, place in chosen:
            text, found = programs_find(tree, number, target)
            missed += not found
            print(f"{number:2} {place.area:9} {text:50} {place.name}", flush=True)
    print(f"core_bugs: {len(chosen)} planted, {missed} not found by random programs alone")
    return 1 if missed or not chosen else 0


def main(names):
    root = Path(__file__).resolve().parent.parent
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "core-bugs"
    bugs = [bug for bug in BUGS if not names or bug.name in names]
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch)
        copy_of_the_tree(root, tree)
        held = broken_laws(tree, sorted({bug.law for bug in bugs}), target)
        wrong += [f"{law} does not hold without a bug" for law in held]
        for bug in bugs:
            file = tree / bug.path
            text = file.read_text()
            if text.count(bug.right) != 1:
                wrong.append(f"{bug.name}: {bug.path} holds what is to be replaced {text.count(bug.right)} times")
                continue
            file.write_text(text.replace(bug.right, bug.wrong))
            noticed = broken_laws(tree, [bug.law], target) == [bug.law]
            file.write_text(text)
            print(f"{'noticed' if noticed else 'SURVIVED':9} {bug.law:33} {bug.name}", flush=True)
            wrong += [] if noticed else [f"{bug.law} does not notice: {bug.name}"]
    print(*wrong, f"core_bugs: {len(bugs)} planted, {len(wrong)} wrong", sep="\n")
    return 1 if wrong or not bugs else 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(programs(arguments[1:]) if arguments[:1] == ["--programs"] else main(arguments))
