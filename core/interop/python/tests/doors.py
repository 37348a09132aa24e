#!/usr/bin/env python3
"""Every client, in both directions, with every element type and layout, writable and read-only.

    doors.py --module FOLDER --backend mock|cuda --table FILE

Each case asserts the elements, the strides, the address where memory is shared, and that all memory is given back once: what is alive
in the module, and the owner of the memory, are counted before and after. A refusal that is expected is told with the client's own words;
anything else fails the run. The table is written as Markdown.
"""

import argparse
import gc
import sys
import traceback
import weakref
from pathlib import Path

import numpy as np

import clients
from clients import LAYOUTS, TYPES, reference

OURS = {
    "C": lambda a: a,
    "F": lambda a: a.T,
    "sliced": lambda a: a.slice(1, 1, 3),
    "stepped": lambda a: a.slice(0, 0, 5, 2),
    "reversed": lambda a: a.flip(0),
    "0-d": None,
    "1-d": None,
    "empty": lambda a: a.slice(0, 0, 0),
    "size-1": lambda a: a.slice(0, 1, 2).slice(1, 0, 1),
    "offset": lambda a: a.slice(0, 1, 5),
    "1-d offset": None,
}

# Expected refusals, and their words: (client, direction, whether it is this case, words).
REFUSALS = [
    ("JAX", "out", lambda case: case.readonly, "the memory is read-only"),  # it asks for a legacy capsule, which cannot say so
    ("JAX", "out", lambda case: case.layout in ("sliced", "stepped", "reversed"), "trivial (compact) striding"),
    # CuPy divides bytes by the element size without a sign: its strides are then beyond all addresses.
    ("CuPy", "in", lambda case: case.layout == "reversed" and case.kind not in ("bool", "int8", "uint8"), "strides or offset overflow"),
    # Numba asks NumPy for a function that NumPy 2.5 has dropped, to transpose.
    ("Numba", "in", lambda case: case.layout == "F", "has no attribute 'row_stack'"),
    ("pyarrow", "out", lambda case: case.kind in ("bool", "complex64", "complex128"), "no primitive type of Arrow"),
    ("nanoarrow", "out", lambda case: case.kind in ("bool", "complex64", "complex128"), "no primitive type of Arrow"),
    ("pyarrow", "out", lambda case: case.rank != 1, "a column has one axis"),
    ("nanoarrow", "out", lambda case: case.rank != 1, "a column has one axis"),
]


class Case:
    def __init__(self, client, direction, kind, layout, readonly):
        self.client, self.direction, self.kind, self.layout, self.readonly = client, direction, kind, layout, readonly
        self.rank = np.ndim(LAYOUTS[layout](reference("int8")))

    def __str__(self):
        access = "read-only" if self.readonly else "writable"
        return f"{self.client.name} {self.direction} {self.kind} {self.layout} {access}"


def due(kind, layout):
    """The elements, and the strides of a layout of twenty elements in C order."""
    values = LAYOUTS[layout](reference("float32" if kind == "bfloat16" else kind))
    return np.asarray(values)


def same_strides(found, due_values, item_bytes):
    """Strides of axes that are stepped along."""
    due_strides = [stride // due_values.itemsize * item_bytes for stride in due_values.strides]
    if found is None or due_values.size == 0:
        return True
    pairs = zip(found, due_strides, due_values.shape, strict=True)
    return all(one == other for one, other, extent in pairs if extent > 1)


def expect(what, found, wanted):
    if found != wanted:
        raise AssertionError(f"{what}: {found}, not {wanted}")


def values_of(module, witness, array):
    """The elements of an array of the module, by a client that was looked at before."""
    return witness.values(witness.take(module.relayout(array, "C")))


def ours(module, witness, kind, layout):
    """An array of the module's own, in a layout."""
    if OURS[layout] is None:
        # This memory has fewer axes.
        return module.relayout(witness.make_of(np.array(due(kind, layout))), "C")
    return OURS[layout](module.relayout(witness.make("C", kind, False), "C"))


def run_out(module, witness, case):
    array = ours(module, witness, case.kind, case.layout)
    array = array.as_readonly() if case.readonly else array
    values = due(case.kind, case.layout)
    taken = case.client.take(array)
    seen = case.client.values(taken)
    if seen is not None:
        expect("shape", seen.shape, values.shape)
        expect("elements", seen.astype(values.dtype).tolist(), values.tolist())
    item_bytes = 2 if case.kind == "bfloat16" else values.itemsize
    if OURS[case.layout] is not None and not same_strides(case.client.strides(taken), values, item_bytes):
        raise AssertionError(f"strides: {case.client.strides(taken)}, not {values.strides}")
    is_readonly = case.client.is_readonly(taken)
    if is_readonly is not None and values.size > 0:
        expect("read-only", is_readonly, case.readonly)
    address = case.client.address(taken)
    shared = address == array.ptr or values.size == 0 or address is None
    if case.client.shares and not shared:
        raise AssertionError(f"address: {address:#x}, not {array.ptr:#x}")
    return "pass" if shared else "copied"


def run_in(module, witness, case):
    own = case.client.make(case.layout, case.kind, case.readonly)
    values = case.client.values(own)
    array = module.asarray(own)
    expect("type", array.dtype, case.kind)
    expect("shape", array.shape, values.shape)
    expect("read-only", array.readonly, case.readonly)
    strides = case.client.strides(own)
    if strides is not None and values.size > 0:
        pairs = zip(array.strides, strides, values.shape, strict=True)
        if any(one != other for one, other, extent in pairs if extent > 1):
            raise AssertionError(f"strides: {array.strides}, not {strides}")
    if case.client.address(own) is not None and values.size > 0:
        expect("address", array.ptr, case.client.address(own))
    if case.kind != "bfloat16":
        expect("elements", values_of(module, witness, array).tolist(), values.tolist())
    try:
        kept = weakref.ref(own)
    except TypeError:
        return "pass"
    del array, own
    module.live()
    # An array that was in use when it was dropped is given back by who comes by next.
    module.asarray(witness.make("C", "int8", False))
    if kept() is not None:
        gc.collect()
    expect("the owner, when all is dropped", kept() is None, True)
    return "pass"


def run(module, witness, case):
    """The outcome: how it went, and the words of a refusal."""
    before = module.live()
    words = None
    try:
        outcome = (run_out if case.direction == "out" else run_in)(module, witness, case)
    except NotImplementedError:
        outcome = "n/a"
    except AssertionError:
        raise
    except Exception as error:
        traceback.clear_frames(error.__traceback__)
        outcome, words = "refused", f"{type(error).__name__}: {error}".splitlines()[0]
    if module.live() != before:
        gc.collect()  # an exception, or a client, may hold on to something by a cycle
    expect("alive, when all is dropped", module.live(), before)
    return outcome, words


def is_expected(case, words):
    entries = (entry for entry in REFUSALS if entry[:2] == (case.client.name, case.direction))
    return any(is_it(case) and text in words for *_, is_it, text in entries)


def table(outcomes, words):
    """Markdown: a table a client and direction, rows of types, columns of layouts; writable and read-only in each cell."""
    mark = {"pass": "yes", "copied": "copy", "n/a": "–"}
    lines = []
    for client, direction in dict.fromkeys((case.client.name, case.direction) for case in outcomes):
        to = f"{client} takes ours" if direction == "out" else f"ours takes {client}'s"
        lines += [f"\n## {to}\n", f"| type | {' | '.join(LAYOUTS)} |", "|---" * (len(LAYOUTS) + 1) + "|"]
        cells = {
            (case.kind, case.layout, case.readonly): mark.get(outcome) or f"no [{words.index(said) + 1}]"
            for case, (outcome, said) in outcomes.items()
            if (case.client.name, case.direction) == (client, direction)
        }
        for kind in dict.fromkeys(key[0] for key in cells):
            pairs = [[cells.get((kind, layout, readonly), "–") for readonly in (False, True)] for layout in LAYOUTS]
            row = [one if one == two else f"{one} / {two}" for one, two in pairs]
            lines.append(f"| {kind} | {' | '.join(row)} |")
    lines += ["\nWords:\n", *(f"{number}. `{said}`" for number, said in enumerate(words, 1))]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", required=True, type=Path)
    parser.add_argument("--backend", required=True, choices=["mock", "cuda"])
    parser.add_argument("--table", type=Path)
    parser.add_argument("--only", help="the name of one client")
    options = parser.parse_args()
    sys.path.insert(0, str(options.module.resolve()))
    import devarray_example as module

    module.use_backend(options.backend)
    witness, others = clients.of(options.backend)
    gc.disable()  # collected where it is needed: a collection takes longer than a case
    outcomes, failed = {}, []
    for client in (client for client in others if options.only in (None, client.name)):
        for direction in ("out", "in"):
            kinds = client.types if direction == "in" else TYPES
            for kind in kinds:
                for layout in client.layouts if direction == "in" else LAYOUTS:
                    for readonly in (False, True):
                        case = Case(client, direction, kind, layout, readonly)
                        try:
                            outcome = run(module, witness, case)
                        except AssertionError as error:
                            failed.append(f"{case}: {error}")
                            continue
                        if outcome[0] == "refused" and not is_expected(case, outcome[1]):
                            failed.append(f"{case}: {outcome[1]}")
                        outcomes[case] = outcome
    words = sorted({said for outcome, said in outcomes.values() if said})
    counts = {kind: sum(outcome == kind for outcome, _ in outcomes.values()) for kind in ("pass", "copied", "refused", "n/a")}
    findings = module.findings()
    text = f"# The doors, backend {options.backend}\n\n{counts}, {len(failed)} failed\n" + table(outcomes, words)
    if options.table:
        options.table.write_text(text + "\n")
    for line in failed[:100]:
        print(f"FAILED {line}")
    for finding in findings:
        print(f"FINDING {finding}")
    print(f"doors on {options.backend}: {counts}, {len(failed)} failed, {len(findings)} findings")
    return 1 if failed or findings else 0


if __name__ == "__main__":
    sys.exit(main())
