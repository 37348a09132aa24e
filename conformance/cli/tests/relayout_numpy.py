#!/usr/bin/env python3
"""Compares `devarray relayout` with NumPy, file for file, on random arrays and steps.

Usage: relayout_numpy.py BINARY [--backend mock|cuda] [--cases N] [--seed S]

Every output file must be byte for byte what np.save writes for the same steps: elements, dtype description and
fortran_order flag. A chain that NumPy refuses must be refused with status 2, one line, and no output file.
"""

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

import numpy as np

DTYPES = [
    "?", "i1", "u1", "<i2", ">i2", "<u2", ">u2", "<f2", ">f2", "<i4", ">i4", "<u4", ">u4", "<f4", ">f4",
    "<i8", ">i8", "<u8", ">u8", "<f8", ">f8", "<c8", ">c8", "<c16", ">c16", "S5", "<U3", "<M8[ns]", "V3",
    [("a", "<i4"), ("b", "<f8")],
    [("tag", "u1"), ("xyz", "<f4", (3,))],
    [("p", [("x", ">f2"), ("y", ">f2")]), ("q", "?", (2, 2))],
    np.dtype([("a", "u1"), ("b", "<f8")], align=True).descr,
]
MAX_EXTENT = {0: 1, 1: 40, 2: 12, 3: 7, 4: 5, 5: 4, 6: 3, 7: 3}


def random_array(rng):
    dtype = np.dtype(rng.choice(DTYPES))
    rank = rng.randint(0, 7)
    shape = tuple(0 if rng.random() < 0.03 else rng.randint(1, MAX_EXTENT[rank]) for _ in range(rank))
    count = int(np.prod(shape, dtype=int))
    raw = bytearray(rng.randbytes(count * dtype.itemsize))
    if dtype == np.bool_:
        raw = bytes(b & 1 for b in raw)
    array = np.frombuffer(bytes(raw), dtype=dtype, count=count).reshape(shape) if count else np.zeros(shape, dtype)
    return np.asfortranarray(array) if rng.random() < 0.4 and rank else array


def random_slice(rng, extent):
    def end():
        return rng.choice([None, None, rng.randint(-extent - 2, extent + 2)])

    return slice(end(), end(), rng.choice([None, 1, 2, 3, -1, -2, -3]))


def item_text(item):
    if item is None or item is Ellipsis:
        return "None" if item is None else "..."
    if isinstance(item, slice):
        text = ["" if part is None else str(part) for part in (item.start, item.stop, item.step)]
        return ":".join(text)
    return str(item)


def random_index(rng, a):
    items = []
    for extent in a.shape[: rng.randint(0, a.ndim)]:
        whole = extent == 0 or rng.random() < 0.75
        items.append(random_slice(rng, extent) if whole else rng.randint(-extent, extent - 1))
        if rng.random() < 0.15:
            items.append(None)
    if rng.random() < 0.3:
        items.insert(rng.randint(0, len(items)), Ellipsis)
    if rng.random() < 0.03:
        items.append(99)
    # Without an ellipsis, NumPy makes a scalar of a single element, and a scalar has no byte order.
    key = tuple(items) if Ellipsis in items else (*items, Ellipsis)
    return f"index({','.join(map(item_text, items))})", lambda a: a[key]


def random_permute(rng, a):
    axes = rng.sample(range(a.ndim), a.ndim)
    return f"permute({','.join(map(str, axes))})", lambda a: a.transpose(axes)


def random_flip(rng, a):
    if a.ndim == 0:
        return random_copy(rng, a)
    if rng.random() < 0.1:
        return "flip()", np.flip
    axes = tuple(axis - rng.choice([0, a.ndim]) for axis in rng.sample(range(a.ndim), rng.randint(1, a.ndim)))
    return f"flip({','.join(map(str, axes))})", lambda a: np.flip(a, axes)


def random_squeeze(rng, a):
    ones = [axis for axis, extent in enumerate(a.shape) if extent == 1]
    if not ones or rng.random() < 0.5:
        return "squeeze()", lambda a: a.squeeze()
    return f"squeeze({ones[0]})", lambda a: a.squeeze(ones[0])


def random_broadcast(rng, a):
    shape = tuple(rng.randint(1, 3) if extent == 1 else extent for extent in a.shape)
    shape = tuple(rng.randint(1, 3) for _ in range(rng.randint(0, 1))) + shape
    return f"broadcast({','.join(map(str, shape))})", lambda a: np.broadcast_to(a, shape)


def random_shape(rng, size):
    shape = []
    while size > 1 and len(shape) < 5:
        factor = rng.choice([d for d in range(1, min(size, 12) + 1) if size % d == 0])
        shape.append(factor)
        size //= factor
    shape.insert(rng.randint(0, len(shape)), size)
    if shape and rng.random() < 0.3 and 0 not in shape:
        shape[rng.randrange(len(shape))] = -1
    if rng.random() < 0.03:
        shape.append(7)
    return shape


def random_reshape(rng, a):
    shape, order = random_shape(rng, a.size), rng.choice("CFA")
    return f"reshape({','.join(map(str, shape))},order={order})", lambda a: a.reshape(shape, order=order)


def random_ravel(rng, a):
    order = rng.choice("CFAK")
    return f"ravel({order})", lambda a: a.ravel(order)


def random_copy(rng, a):
    order = rng.choice("CFAK")
    return f"copy({order})", lambda a: a.copy(order)


def random_array_split(rng, a):
    if a.ndim == 0:
        return random_copy(rng, a)
    axis, sections = rng.randrange(a.ndim), rng.randint(1, 4)
    take = rng.randrange(sections)
    text = f"array_split({sections},axis={axis},take={take})"
    return text, lambda a: np.array_split(a, sections, axis)[take]


def random_split_at(rng, a):
    if a.ndim == 0:
        return random_copy(rng, a)
    axis = rng.randrange(a.ndim)
    at = sorted(rng.randint(0, a.shape[axis] + 1) for _ in range(rng.randint(1, 3)))
    at = [cut - a.shape[axis] if cut < a.shape[axis] and rng.random() < 0.3 else cut for cut in at]
    take = rng.randint(0, len(at))
    text = f"split_at({','.join(map(str, at))},axis={axis},take={take})"
    return text, lambda a: np.split(a, at, axis)[take]


STEPS = [
    random_index, random_index, random_permute, random_flip, random_squeeze, random_broadcast, random_reshape,
    random_reshape, random_ravel, random_copy, random_array_split, random_split_at,
]


def random_chain(rng, array):
    """Returns the text of a random chain and NumPy's result, or None for the result if NumPy refuses a step."""
    texts, result = [], array
    for _ in range(rng.randint(0, 5)):
        text, step = rng.choice(STEPS)(rng, result)
        texts.append(text)
        try:
            result = step(result)
        except (ValueError, IndexError):
            return "/".join(texts), None
        result = np.asarray(result)
        if result.size > 50_000:
            break
    return "/".join(texts), result


def differences(run, out_path, expected):
    """Describes the mistake of a finished run. Returns an empty text if the run is right."""
    stderr = run.stderr.decode()
    if expected is None:
        if run.returncode != 2:
            return f"status {run.returncode}, expected 2"
        if stderr.count("\n") != 1 or not stderr.startswith("devarray: "):
            return f"not one line of error: {stderr!r}"
        return "an output file was left" if out_path.exists() else ""
    if run.returncode != 0:
        return f"status {run.returncode}: {stderr.strip()}"
    with tempfile.TemporaryFile() as file:
        np.save(file, expected)
        file.seek(0)
        wanted = file.read()
    found = out_path.read_bytes()
    if found == wanted:
        return ""
    if found[:6] != wanted[:6]:
        return "not a .npy file"
    start = wanted.index(b"\n") + 1
    if found[:start] != wanted[:start]:
        return f"header {found[:start]!r}, expected {wanted[:start]!r}"
    return "elements differ"


def run_case(binary, backend, rng, directory):
    array = random_array(rng)
    steps, result = random_chain(rng, array)
    order = rng.choice("CF")
    in_path, out_path = directory / "in.npy", directory / "out.npy"
    np.save(in_path, array)
    out_path.unlink(missing_ok=True)
    command = [binary, "relayout", in_path, "-o", out_path, "--backend", backend, "--steps", steps, "--order", order]
    run = subprocess.run(command, capture_output=True, check=False)
    # np.asarray keeps 0-d arrays 0-d; np.ascontiguousarray would give them an axis.
    expected = None if result is None else np.asarray(result, order=order)
    wrong = differences(run, out_path, expected)
    leftovers = [path.name for path in directory.iterdir() if path not in (in_path, out_path)]
    if not wrong and leftovers:
        wrong = f"files were left: {leftovers}"
    if wrong:
        flags = "F" if np.isfortran(array) else "C"
        print(f"{array.dtype.descr} {array.shape} {flags} --steps '{steps}' --order {order}: {wrong}")
    return not wrong


def names():
    """Lists names of types that NumPy might know, with and without a mark of byte order, in Python's form."""
    kinds = [f"{kind}{size}" for kind in "biufcSUVmMaBO" for size in (*range(1, 17), 32)]
    known = [str(name) for name in np._core.sctypeDict if isinstance(name, str)]
    other = ["float8", "int_t", "Float64", "bool8", "float_", "string", "M8[s]", "datetime64[25s]", "m8[x]", "f+4", "f 4", "f04", "f-4", ""]
    for name in [*map(chr, range(33, 127)), *kinds, *known, *other]:
        yield from (repr(mark + name) for mark in ("", "<", ">", "=", "|"))


FORMS = [
    "{{'descr': {0}, 'fortran_order': False, 'shape': (2,), }}", "{{'shape': (+2,), 'descr': {0}, 'fortran_order': True}}\n",
    "{{u'descr': u{0}, r'fortran_order': False, 'shape': (0x2,)}} # a comment", "{{'descr': {0}, 'fortran_order': False, 'shape': (2L,)}}",
    "{{'des' 'cr': {0},\n 'fortran_order': False, 'shape': (1_0, # rows\n )}}", "{{'descr': b{0}, 'fortran_order': False, 'shape': (2,)}}",
    "{{'descr': ({0}), 'fortran_order': (False), 'shape': ((2),)}}", "{{'descr': [('a', {0}), (u'b', 'f', (2L,))], 'fortran_order': False, 'shape': (2,)}}",
    "{{'descr': {0}, 'fortran_order': 0, 'shape': (2,)}}", "{{'descr': {0}, 'fortran_order': False, 'shape': [2]}}",
    "{{'descr': {0}, 'fortran_order': False, 'shape': (+ +2,)}}", "{{'descr': {0}, 'fortran_order': False, 'shape': (2.0,)}}",
]


def run_header(binary, text, directory):
    """One header in a file, followed by another array: what NumPy reads of it is what comes out."""
    in_path, out_path = directory / "in.npy", directory / "out.npy"
    header = text.encode("latin1")
    elements = bytes(byte & 1 for byte in range(4000))
    in_path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + elements)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = np.load(in_path)
        fits = 0 < expected.dtype.itemsize and expected.dtype.kind in "biufcSUVmM"
    # A wrong header makes NumPy raise anything.
    except Exception:
        fits = False
    if fits:
        in_path.write_bytes(in_path.read_bytes()[: 10 + len(header) + expected.nbytes])
    out_path.unlink(missing_ok=True)
    run = subprocess.run([binary, "relayout", in_path, "-o", out_path, "--backend", "mock"], capture_output=True, check=False)
    wrong = differences(run, out_path, np.ascontiguousarray(expected) if fits else None)
    if wrong:
        print(f"header {text!r}: {wrong}")
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--backend", default="mock", choices=["mock", "cuda", "auto"])
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--headers", action="store_true", help="also every name of a type, and other forms of headers")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        results = [
            run_case(arguments.binary, arguments.backend, rng, pathlib.Path(name)) for _ in range(arguments.cases)
        ]
        if arguments.headers:
            texts = [FORMS[0].format(name) for name in names()]
            texts += [form.format(name) for form in FORMS[1:] for name in ("'<f4'", "'d'", "'>u2'", "'long'", "'?'")]
            results += [run_header(arguments.binary, text, pathlib.Path(name)) for text in texts]
    passed = sum(results)
    failed = len(results) - passed
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
