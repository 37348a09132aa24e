"""The commands that show on a card that results are right, and the table of the runs."""

import re
from dataclasses import dataclass

from records import cards, read_lines, table

DEVARRAY = "target/release/devarray"


@dataclass(frozen=True)
class Check:
    """A command, and what it shows. `test` is the test file that a command runs, if it is one."""

    what: str
    command: str
    test: str = ""


def test(what, module, arguments="", variables=""):
    """The ignored tests of a module of `backend-cuda/tests/card.rs`, or the ones of them that are named."""
    command = f"{variables} cargo test --release -p devarray-cuda --test card -- --ignored {module}::{arguments}"
    return Check(what, " ".join(command.split()), "card")


CHECKS = {
    "suite": Check("the conformance suite", "devarray check --backend cuda"),
    "golden": Check(
        "golden layouts, functions and reductions; the latter also bit for bit against the simulator",
        "devarray golden --backend cuda conformance/golden/layout.jsonl conformance/golden/compute.jsonl conformance/golden/reductions.jsonl",
    ),
    "replay": Check("stream programs with known verdicts", "devarray replay --backend cuda conformance/golden/programs.jsonl"),
    "copies": test("copies and fills of any layout, more than 2³¹ elements, pitches, out of memory", "hardware", " --test-threads=1"),
    "tiles": test("strided copies of every size, width and alignment", "hardware_tiles", " --test-threads=1"),
    "overlap": test("copies of one stream whose launches overlap, and twins without the kernels' wait", "hardware_overlap", " --test-threads=1"),
    "random_joins": test("random joins of random layouts", "hardware_joins", "random", "CASES=400"),
    "order": test("order: readers, writers, frees, dropped streams, host memory", "order", " --test-threads=1"),
    "host": test("host memory registered, mapped, managed, pinned with flags", "hardware_host", " --test-threads=1"),
    "pages": test("slices of one page, registered and ended by several threads while others copy", "hardware_pages"),
    "interop": test("memory of other code, peers in place, two processes, constants", "hardware_interop", " --test-threads=1"),
    "probes": test("what CUDA leaves open", "probes", " --nocapture"),
    "digests": test("all 2³² inputs of each of the 22 functions of one `f32`", "hardware_digests"),
    "functions": test("random functions on random layouts against the interpreter", "hardware_functions", "random_functions", "CASES=2000"),
    "reductions": test(
        "random reductions and scans against the interpreter, each also in three other layouts of its elements",
        "hardware_reductions",
        "random",
        "CASES=20000",
    ),
    "strata": test(
        "every primitive, every pair and triple of primitives, functions and reductions of booleans, of integers of all widths, of"
        " selections, of halves, of `f32` with booleans, each on several arrays: a million pairs against the interpreter; before it,"
        " that planted mistakes are found",
        "hardware_strata",
        " --nocapture --test-threads=1",
        "PAIRS=1000000 SECONDS=540",
    ),
    "gathers": test("elements by index: every law, random programs beside the simulator's, many wrong indices at once", "hardware_gathers", " --test-threads=1"),
    "random": test("random numbers beside the simulator's", "hardware_random"),
    "launch": test("kernels of one's own, and functions that cudarc loaded", "hardware_launch", " --test-threads=1"),
    "programs": Check(
        "random programs", "DEVARRAY_PROGRAMS=20000 cargo test --release -p devarray-cuda --test programs -- --ignored", "programs"
    ),
    "relayout": Check(
        "array files against NumPy, every dtype, ranks 0 to 7",
        f"python3 conformance/cli/tests/relayout_numpy.py --backend cuda --cases 300 --seed 7 {DEVARRAY}",
    ),
}


def summary(text):
    """A command's output in one line: its line of strata, how many passed, or its last line."""
    strata = re.findall(r"(?:^|\.\.\. )strata: (.*)", text, re.MULTILINE)
    if strata:
        return "; ".join(strata)
    results = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed", text, re.MULTILINE)
    if results:
        return f"{sum(int(n) for n, _ in results)} passed, {sum(int(n) for _, n in results)} failed"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    counted = [line for line in lines if re.match(r"\d+ \w+, \d+ \w+", line)]
    return (counted or lines or ["nothing was printed"])[-1].replace("|", "/")


def of_checks():
    """One table a run: a card, its driver, a date and a commit."""
    runs = {}
    for card in cards():
        for line in read_lines(card, "checks"):
            runs.setdefault((line["date"], line["device"], line["driver"], line["commit"]), []).append(line)
    text = []
    for (date, device, driver, commit), lines in sorted(runs.items(), reverse=True):
        text += ["", f"## {device}, {date}, commit {commit}", "", f"Driver {driver}.", ""]
        rows = [[line["what"], f"`{line['command']}`", outcome(line)] for line in lines]
        text.append(table(["what", "command", "result"], rows, 3))
    return "\n".join(text) or "No run is recorded."


def outcome(line):
    return line["result"] if line["passed"] else f"**failed**: {line['result']}"
