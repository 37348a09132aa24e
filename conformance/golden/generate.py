#!/usr/bin/env python3
"""Writes random layout cases, answered by NumPy, as JSON Lines.

    python3 generate.py --cases 20000 --seed 1 > cases.jsonl
    DEVARRAY_GOLDEN=$PWD/cases.jsonl cargo test -p devarray --test layouts golden

Each case is an array `arange(n)` of a base shape and steps that act on it in order. About one case in ten asks for
something that must be an error. The same seed gives the same cases.

With `--repeated`, each case repeats elements along an axis or more and then walks them in the order of memory: a
broadcast among steps that keep it a view, and at the end a `ravel` or `copy`, mostly in order K. The cases K000 and
following of layout.jsonl are `generate.py --repeated --cases 300 --seed 45`.
"""

import argparse
import json
import random
import sys

import numpy as np

LARGEST = 600  # elements of any array of a case


def random_shape(rng):
    """A shape of rank 0 to 7 with extents of 0 and 1 among them."""
    rank = rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 7])
    while True:
        extents = [1, 1, 2, 2, 3, 3, 4, 5, 6, 7] if rank < 5 else [1, 1, 2, 2, 3]
        shape = [0 if rng.random() < 0.02 else rng.choice(extents) for _ in range(rank)]
        if np.prod(shape, dtype=int) <= LARGEST:
            return shape


def signed(rng, axis, rank):
    """The axis, at times counted from the end."""
    return axis - rank if rng.random() < 0.3 else axis


def random_slice(rng, extent):
    def position():
        return None if rng.random() < 0.35 else rng.randint(-extent - 2, extent + 2)

    return {"start": position(), "stop": position(), "step": rng.choice([None, 1, 1, 1, 2, 3, -1, -1, -2, -3])}


def random_index(rng, a, wrong):
    rank = a.ndim
    items = []
    for axis in range(rng.randint(0, rank)):
        extent = a.shape[axis]
        if extent and rng.random() < 0.25:
            items.append(rng.randint(-extent, extent - 1))
        else:
            items.append(random_slice(rng, extent))
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
        items.insert(rng.randint(0, len(items)), None)
    if rng.random() < 0.3:
        items.insert(rng.randint(0, len(items)), "...")
    if wrong:
        kind = rng.randrange(4)
        if kind == 0:
            items += ["...", "..."]
        elif kind == 1:
            items += [random_slice(rng, 3)] * (rank + 1)
        elif kind == 2:
            items = [rng.choice([99, -99])] + items[1:]
        else:
            items = [{"start": None, "stop": None, "step": 0}] + items[1:]
    return {"do": "index", "items": items}


def random_axes(rng, a, count):
    return [signed(rng, axis, a.ndim) for axis in rng.sample(range(a.ndim), count)]


def spoil_axes(rng, axes, rank):
    return rng.choice([axes + [rank], axes + [-rank - 1], axes + axes + [0], [0, 0]])


def random_factors(rng, n):
    """A shape of n elements, with extents of 1 among it."""
    shape = []
    while n > 1:
        factor = rng.choice([d for d in range(2, n + 1) if n % d == 0])
        shape.append(factor)
        n //= factor
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        shape.append(1)
    rng.shuffle(shape)
    return shape


def near_factors(rng, a):
    """A shape made from the array's own by merging and splitting, so that views are likely."""
    shape = list(a.shape)
    for _ in range(rng.randint(0, 3)):
        if len(shape) > 1 and rng.random() < 0.5:
            axis = rng.randrange(len(shape) - 1)
            shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
        elif shape:
            axis = rng.randrange(len(shape))
            shape[axis : axis + 1] = random_factors(rng, shape[axis]) if shape[axis] else [0, rng.randint(0, 3)]
    return shape


def random_reshape(rng, a, wrong):
    if a.size == 0:
        shape = random_shape(rng) + [0] if rng.random() < 0.3 else near_factors(rng, a)
    else:
        shape = near_factors(rng, a) if rng.random() < 0.7 else random_factors(rng, a.size)
    shape = [int(extent) for extent in shape]
    if shape and rng.random() < 0.3:
        shape[rng.randrange(len(shape))] = -1
    if wrong:
        shape = rng.choice([shape + [2], [-1, -1], shape + [-2], [0, -1], [-1, a.size + 1], []])
    return {"do": "reshape", "shape": shape, "order": rng.choice("CCFFA")}


def random_broadcast(rng, a, wrong):
    shape = [rng.choice([0, 2, 3, 3]) if e == 1 and rng.random() < 0.6 else e for e in a.shape]
    shape = [rng.choice([1, 2, 3]) for _ in range(rng.choice([0, 0, 1, 2]))] + shape
    if wrong:
        shape = rng.choice([shape[1:] or [2**62, 2**62], [e + 1 for e in shape] + [5], [2**62, 2**62] + shape])
    return {"do": "broadcast", "shape": [int(extent) for extent in shape]}


def random_split(rng, a, wrong):
    if a.ndim == 0:
        return {"do": "array_split", "axis": 0, "sections": 1, "take": 0}
    axis = rng.randrange(a.ndim)
    extent = a.shape[axis]
    kind = rng.choice(["split", "array_split", "split_at"] if a.ndim == 1 else ["array_split", "split_at"])
    if kind == "split":
        section = rng.randint(1, extent + 2)
        parts = -(-extent // section)
        if wrong or parts == 0:
            return {"do": "split", "section": rng.choice([0, -1]), "take": 0}
        return {"do": "split", "section": section, "take": rng.randrange(parts)}
    axis = signed(rng, axis, a.ndim)
    if kind == "array_split":
        sections = rng.randint(1, extent + 3)
        step = {"do": kind, "axis": axis, "sections": sections, "take": rng.randrange(sections)}
        return step | rng.choice([{"sections": 0}, {"sections": -1}, {"axis": a.ndim}]) if wrong else step
    at = sorted(rng.randint(0, extent + 2) for _ in range(rng.randint(0, 4)))
    # Some count from the end.
    at = [cut - extent if cut < extent and rng.random() < 0.3 else cut for cut in at]
    return {"do": kind, "axis": a.ndim if wrong else axis, "at": at, "take": rng.randint(0, len(at))}


def random_step(rng, a, wrong):
    kind = rng.choice(["index"] * 4 + ["permute"] * 3 + ["flip"] * 2 + ["reshape"] * 4 + ["ravel"] * 2 +
                      ["copy"] * 2 + ["squeeze", "broadcast", "split", "split"])
    if kind == "index":
        return random_index(rng, a, wrong)
    if kind == "permute":
        axes = random_axes(rng, a, a.ndim)
        return {"do": kind, "axes": rng.choice([axes[1:], [0] * a.ndim, axes + [0]]) if wrong and axes else axes}
    if kind == "flip":
        if rng.random() < 0.1 and not wrong:
            return {"do": kind}
        axes = random_axes(rng, a, rng.randint(0, a.ndim))
        return {"do": kind, "axes": spoil_axes(rng, axes, a.ndim) if wrong else axes}
    if kind == "squeeze":
        ones = [axis for axis in range(a.ndim) if a.shape[axis] == 1]
        if rng.random() < 0.5 and not wrong:
            return {"do": kind}
        axes = [signed(rng, axis, a.ndim) for axis in rng.sample(ones, rng.randint(0, len(ones)))]
        longer = [axis for axis in range(a.ndim) if a.shape[axis] != 1]
        return {"do": kind, "axes": longer[:1] or spoil_axes(rng, axes, a.ndim) if wrong else axes}
    if kind == "reshape":
        return random_reshape(rng, a, wrong)
    if kind == "broadcast":
        return random_broadcast(rng, a, wrong)
    if kind == "split":
        return random_split(rng, a, wrong)
    return {"do": kind, "order": rng.choice("CFAK")}


def index_item(item):
    if isinstance(item, dict):
        return slice(item["start"], item["stop"], item["step"])
    return Ellipsis if item == "..." else item


def apply(a, step):
    """One step in NumPy."""
    match step:
        case {"do": "index", "items": items}:
            items = tuple(map(index_item, items))
            # With an ellipsis NumPy returns a 0-d array rather than a scalar.
            return a[items if Ellipsis in items else items + (Ellipsis,)]
        case {"do": "permute", "axes": axes}:
            return a.transpose(axes) if axes or a.ndim == 0 else np.transpose(a, ())
        case {"do": "flip", "axes": axes}:
            # `np.flip` of a 0-d array makes a scalar.
            return np.flip(a, tuple(axes)) if axes else a[...]
        case {"do": "flip"}:
            return np.flip(a) if a.ndim else a
        case {"do": "squeeze", "axes": axes}:
            return np.squeeze(a, tuple(axes))
        case {"do": "squeeze"}:
            return np.squeeze(a)
        case {"do": "broadcast", "shape": shape}:
            return np.broadcast_to(a, shape)
        case {"do": "reshape", "shape": shape, "order": order}:
            if min(shape, default=0) < -1:
                raise ValueError("NumPy takes any negative extent for -1; its documentation knows -1 alone")
            return a.reshape(shape, order=order)
        case {"do": "ravel", "order": order}:
            return a.ravel(order)
        case {"do": "copy", "order": order}:
            return a.copy(order)
        case {"do": "split", "section": section, "take": take}:
            if a.ndim != 1 or section <= 0:
                raise ValueError("split")
            return a[take * section : (take + 1) * section]
        case {"do": "array_split", "axis": axis, "sections": sections, "take": take}:
            return np.array_split(a, sections, axis)[take]
        case {"do": "split_at", "axis": axis, "at": at, "take": take}:
            return np.array_split(a, at, axis)[take]
    raise AssertionError(step)


def any_steps(rng):
    """The steps that are asked for, one after the other: of an array, a step, which may be wrong."""
    fails_at = rng.randint(0, 3) if rng.random() < 0.1 else None
    for number in range(rng.randint(1, 6) if fails_at is None else fails_at + 1):
        yield lambda a, wrong=number == fails_at: random_step(rng, a, wrong)


def repeated_steps(rng):
    """Steps that repeat elements, and at the end one that walks them all."""

    def repeat(a):
        shape = [rng.choice([2, 3]) if e == 1 and rng.random() < 0.8 else e for e in a.shape]
        return {"do": "broadcast", "shape": [rng.choice([1, 2, 2, 3]) for _ in range(rng.choice([0, 1, 1, 2]))] + shape}

    def turn(a):
        return {"do": "permute", "axes": random_axes(rng, a, a.ndim)}

    def part(a):
        kind = rng.choice(["index"] * 4 + ["flip"] * 2 + ["permute"] * 3 + ["flip all", "split"])
        if kind == "flip all":
            return {"do": "flip"}
        if kind == "flip":
            return {"do": kind, "axes": random_axes(rng, a, rng.randint(0, a.ndim))}
        if kind == "split":
            return random_split(rng, a, False)
        return turn(a) if kind == "permute" else random_index(rng, a, False)

    yield from [part] * rng.choice([0, 0, 1])
    yield repeat
    yield from [turn] * rng.choice([0, 1, 1])
    yield from [part] * rng.choice([0, 0, 1, 2])
    yield from [repeat] * rng.choice([0, 0, 1])
    yield lambda a: {"do": rng.choice(["ravel", "ravel", "copy"]), "order": rng.choice("CFAKKKKKK")}


def random_case(rng, name, some_steps):
    base = random_shape(rng)
    first = np.arange(np.prod(base, dtype=int), dtype=np.int32).reshape(base)
    a, steps, copied = first, [], False
    for next_step in some_steps(rng):
        step = next_step(a)
        try:
            b = apply(a, step)
        except (ValueError, IndexError, TypeError, OverflowError):
            return {"id": name, "base": base, "steps": steps + [step], "expect": {"error": True}}
        if b.size > LARGEST:
            continue
        steps.append(step)
        copied = copied or step["do"] == "copy" or (a.size > 0 and b.size > 0 and not np.may_share_memory(a, b))
        a = b
    expect = {"shape": list(a.shape), "c": a.flags.c_contiguous, "f": a.flags.f_contiguous}
    if a.size:
        strides = [None if e == 1 else s // a.itemsize for s, e in zip(a.strides, a.shape)]
        expect |= {"copied": copied, "strides": strides, "values": a.reshape(-1).tolist()}
        if not copied:
            expect["offset"] = (a.__array_interface__["data"][0] - first.__array_interface__["data"][0]) // a.itemsize
    return {"id": name, "base": base, "steps": steps, "expect": expect}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeated", action="store_true")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    for number in range(arguments.cases):
        if arguments.repeated:
            case = random_case(rng, f"K{number:03}", repeated_steps)
        else:
            case = random_case(rng, f"R{arguments.seed}-{number:05}", any_steps)
        json.dump(case, sys.stdout, separators=(",", ":"))
        print()


if __name__ == "__main__":
    main()
