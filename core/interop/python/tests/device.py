#!/usr/bin/env python3
"""On a CUDA device, with CuPy, PyTorch, Numba and JAX where they are: order across the doors, whole ways, and what a round trip costs.

    device.py --module FOLDER

A case of order is right with the wait, and its twin, which leaves the wait out, is wrong: a producer is at work on 64 MiB when the array
crosses. One line a case; exit status 1 if a case fails.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np

if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack  # Numba asks for it, and NumPy has dropped it

LEN, TIMES = 1 << 24, 100


class Unordered:
    """An array whose door makes no order, whatever is asked."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream=None, **keywords):
        return self.array.__dlpack__(stream=-1, **keywords)


class Dlpack(Unordered):
    """An array's DLPack alone."""

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)


class Interface:
    """An array's CUDA Array Interface alone, with or without its stream."""

    def __init__(self, array, stream=True):
        self.array, self.stream = array, stream

    @property
    def __cuda_array_interface__(self):
        interface = dict(self.array.__cuda_array_interface__)
        return interface if self.stream else {**interface, "stream": None}


class Arrow:
    def __init__(self, array):
        self.array = array

    def __arrow_c_device_array__(self, requested_schema=None, **keywords):
        return self.array.__arrow_c_device_array__(requested_schema, **keywords)


def ordered(name, run, twin, due):
    found = run()
    line = f"{name}: {found} of {due}"
    if twin is None:
        return found == due, line
    wrong = twin()
    return found == due and wrong != due, f"{line}, without the wait {wrong}"


def order(module, report):
    import cupy

    last = lambda array: float(cupy.asnumpy(array[-1:])[0])
    zeros = lambda: module.relayout(cupy.zeros(LEN, cupy.float32), "C")
    count = lambda: module.count_up(zeros(), TIMES)
    count()
    cupy.cuda.Device().synchronize()

    def busy(xp_zeros):
        array = xp_zeros()
        for _ in range(TIMES):
            array += 1
        return array

    def ours_last(shown):
        array = module.asarray(shown)
        return module.total(array.slice(0, LEN - 1, LEN))

    cases = [
        ("CuPy takes ours, DLPack", lambda: last(cupy.from_dlpack(count())), lambda: last(cupy.from_dlpack(Unordered(count()))), TIMES),
        ("CuPy takes ours, CUDA Array Interface", lambda: last(cupy.asarray(Interface(count()))),
         lambda: last(cupy.asarray(Interface(count(), False))), TIMES),
        ("ours takes CuPy's, DLPack", lambda: ours_last(Dlpack(busy(lambda: cupy.zeros(LEN, cupy.float32)))),
         lambda: ours_last(Unordered(busy(lambda: cupy.zeros(LEN, cupy.float32)))), TIMES),
        ("ours takes CuPy's, CUDA Array Interface", lambda: ours_last(Interface(busy(lambda: cupy.zeros(LEN, cupy.float32)))),
         lambda: ours_last(Interface(busy(lambda: cupy.zeros(LEN, cupy.float32)), False)), TIMES),
        ("ours takes ours, Arrow with its event", lambda: ours_last(Arrow(count())), None, TIMES),
    ]

    def given_back(take):
        # The free of ours comes after what CuPy still does with it: new memory, written at once, is not what CuPy reads.
        taken = take(count())
        result = busy(lambda: taken)[-1:].copy()
        del taken
        module.count_up(zeros(), 1)
        return float(cupy.asnumpy(result)[0])

    def handed_on():
        # An array that goes on to the stream that lent it is waited for by nobody, until it is used here.
        array = module.asarray(cupy.zeros(LEN, cupy.float32))
        onward = cupy.from_dlpack(array)
        for _ in range(TIMES):
            onward += 1
        del onward
        return module.total(array.slice(0, LEN - 1, LEN))

    def shown_by_a_view():
        # The export is of memory: under another layout it is used here after what other code did with it.
        array = count()
        view = cupy.from_dlpack(array.slice(0, 0, LEN))
        for _ in range(TIMES):
            view += 1
        return module.total(array.slice(0, LEN - 1, LEN))

    def written_for_the_lender():
        # The lender of the memory waits for our work when the array is dropped, which it is with each call.
        one, other = cupy.zeros(LEN, cupy.float32), cupy.zeros(LEN, cupy.float32)
        for _ in range(TIMES // 2):
            module.scale(one, 1, 1, out=other)
            module.scale(other, 1, 1, out=one)
        return last(one)

    def after_an_empty_view():
        # A view without elements is used first. The memory is still used after what its lender did with it.
        with cupy.cuda.Stream(non_blocking=True):
            array = module.asarray(busy(lambda: cupy.zeros(LEN, cupy.float32)))
            array.slice(0, 0, 0).copy()
            return module.total(array.slice(0, LEN - 1, LEN))

    def from_a_stream_of_cupys(shown):
        with cupy.cuda.Stream(non_blocking=True):
            return ours_last(shown(busy(lambda: cupy.zeros(LEN, cupy.float32))))

    cases += [
        ("ours takes CuPy's, from a stream of CuPy's", lambda: from_a_stream_of_cupys(lambda array: array),
         lambda: from_a_stream_of_cupys(lambda array: Interface(array, False)), TIMES),
        ("ours takes CuPy's, after a view without elements was used", after_an_empty_view, None, TIMES),
        ("memory given back while CuPy works", lambda: given_back(cupy.from_dlpack), None, 2 * TIMES),
        ("memory whose address is out, dropped while CuPy works", lambda: given_back(cupy.asarray), None, 2 * TIMES),
        ("ours, used after CuPy worked on a view of it", shown_by_a_view, None, 2 * TIMES),
        ("ours, used after CuPy worked on what went on to it", handed_on, None, TIMES),
        ("CuPy reads what ours wrote into its arrays", written_for_the_lender, None, TIMES),
    ]
    try:
        import torch

        side = torch.cuda.Stream()

        def torch_busy():
            with torch.cuda.stream(side):
                array = torch.zeros(LEN, device="cuda")
                for _ in range(TIMES):
                    array += 1
                return module.total(module.asarray(array).slice(0, LEN - 1, LEN))

        def torch_takes(wrap):
            array = wrap(count())
            with torch.cuda.stream(side):
                return float(torch.from_dlpack(array)[-1])

        cases += [
            ("PyTorch takes ours on its own stream", lambda: torch_takes(lambda a: a), lambda: torch_takes(Unordered), TIMES),
            ("ours takes PyTorch's from its own stream", torch_busy, None, TIMES),
        ]
    except ImportError as error:
        report(True, f"not installed: {error}")
    try:
        from numba import cuda

        cases.append(("Numba takes ours", lambda: float(cuda.as_cuda_array(count())[LEN - 1]), None, TIMES))
    except ImportError as error:
        report(True, f"not installed: {error}")
    try:
        import jax

        cases.append(("JAX takes ours", lambda: float(jax.dlpack.from_dlpack(count())[-1]), None, TIMES))
    except ImportError as error:
        report(True, f"not installed: {error}")
    for case in cases:
        try:
            report(*ordered(*case))
        except Exception as error:
            report(False, f"{case[0]}: {type(error).__name__}: {str(error)[:200]}")


def attributes(module, report):
    """An array of CuPy's comes in by its attributes as it does by its dictionary."""
    import cupy

    whole = cupy.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    layouts = {
        "C": lambda x: x, "F": cupy.asfortranarray, "turned": lambda x: x.T, "sliced": lambda x: x[:, 1:, ::2],
        "reversed": lambda x: x[::-1, :, ::-1], "one": lambda x: x[1, 2, 3, 4], "size 1": lambda x: x[:1, :, 1:2],
        "empty": lambda x: x[:, :0], "repeated": lambda x: cupy.broadcast_to(x[:1], (3, 3, 4, 5)),
    }
    found = lambda shown: {key: value for key, value in module.asarray(shown).__cuda_array_interface__.items() if key != "stream"}
    tried = wrong = 0
    for data_type in "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split():
        for name, layout in layouts.items():
            array = layout(whole.astype(data_type))
            tried += 1
            if found(array) != found(Interface(array)) or not bool((cupy.from_dlpack(module.asarray(array)) == array).all()):
                wrong += 1
                report(False, f"{name} {data_type}: {found(array)}, by its dictionary {found(Interface(array))}")
    report(wrong == 0, f"CuPy's attributes say what its dictionary does: {tried} arrays")


def ways(module, report):
    import cupy

    x = cupy.arange(12, dtype=cupy.float32).reshape(3, 4)
    out = cupy.zeros((3, 4), cupy.float32)
    module.scale(x, 2, 1, out=out)
    report(bool((out == 2 * x + 1).all()), "our map into CuPy's out")
    report(bool(cupy.allclose(cupy.from_dlpack(module.centre(x)), x - x.mean())), "our centre of CuPy's array")
    try:
        import torch

        tensor = torch.arange(12, device="cuda", dtype=torch.float64).reshape(3, 4)
        turned = cupy.from_dlpack(module.relayout(module.asarray(tensor).T, "C"))
        report(turned.tolist() == tensor.T.tolist() and turned.shape == (4, 3), "a PyTorch tensor turned by us, read by CuPy")
    except ImportError as error:
        report(True, f"not installed: {error}")
    try:
        from numba import cuda

        @cuda.jit
        def add_index(array):
            at = cuda.grid(1)
            if at < array.size:
                array[at] += at

        own = module.count_up(module.relayout(cupy.zeros(1000, cupy.float32), "C"), 1)
        add_index[8, 128](own)
        report(module.total(own) == 1000 + 999 * 1000 / 2, "a Numba kernel on our array, read by us")
        arrow_to_numba(module, report, cuda, add_index)
        vectorized(module, report)
    except ImportError as error:
        report(True, f"not installed: {error}")
    except Exception as error:
        report(False, f"Numba: {type(error).__name__}: {str(error)[:300]}")


def arrow_to_numba(module, report, cuda, add_index):
    """A column of Arrow to a kernel of Numba, and what it wrote to Arrow. No copy but where one is named."""
    import cupy

    values = cupy.arange(1000, dtype=cupy.float32)
    column = module.asarray(Arrow(module.relayout(values, "C")))

    @cuda.jit
    def double(source, target):
        at = cuda.grid(1)
        if at < source.size:
            target[at] = 2 * source[at]

    doubled = module.relayout(cupy.zeros(1000, cupy.float32), "C")
    double[8, 128](column, doubled)
    back = module.asarray(Arrow(doubled))
    same = back.ptr == doubled.ptr and bool((cupy.from_dlpack(back) == 2 * values).all())
    report(same and back.readonly, "Arrow to a Numba kernel that reads it, and what it wrote to Arrow, without a copy")
    own = column.copy()
    add_index[8, 128](own)
    back = module.asarray(Arrow(own))
    report(bool((cupy.from_dlpack(back) == 2 * values).all()), "Arrow to a copy that a Numba kernel writes in place, to Arrow")
    try:
        add_index[8, 128](column)
        report(False, "Numba writes what Arrow lent")
    except Exception as error:
        report("readonly" in str(error), f"Numba refuses to write what Arrow lent: {[line for line in str(error).splitlines() if 'readonly' in line][:1]}")
    report(bool((cupy.from_dlpack(column) == values).all()), "what Arrow lent is unchanged")


def vectorized(module, report):
    """A function of Numba's over our arrays, and into one."""
    import cupy
    from numba import vectorize

    @vectorize(["float64(float64, float64)"], target="cuda")
    def add(a, b):
        return a + b

    values = cupy.arange(10, dtype=cupy.float64)
    ours, out = module.relayout(values, "C"), module.relayout(cupy.zeros(10), "C")
    report(add(ours, 6.0).copy_to_host().tolist() == (values + 6).tolist(), "a vectorized function of Numba over ours")
    add(ours, 6.0, out=out)
    report(cupy.from_dlpack(out).tolist() == (values + 6).tolist(), "a vectorized function of Numba into ours")


def cost(module, report):
    import cupy

    x = cupy.zeros((64, 32), cupy.float32)
    own = module.relayout(x, "C")

    def cheapest(calls):
        """Microseconds of each call: the median of rounds. Every call has its turn in each round."""
        times = {name: [] for name in calls}
        for round in range(25):
            for name, call in calls.items():
                began = time.perf_counter()
                for _ in range(200):
                    call()
                if round >= 5:
                    times[name].append((time.perf_counter() - began) / 200 * 1e6)
        return {name: statistics.median(each) for name, each in times.items()}

    side = cupy.cuda.Stream(non_blocking=True)

    def on_side():
        with side:
            return cupy.from_dlpack(module.asarray(x))

    used = lambda: cupy.from_dlpack(module.scale(x, 2, 1))
    calls = {
        "CuPy from CuPy": lambda: cupy.from_dlpack(x),
        "CuPy from ours": lambda: cupy.from_dlpack(own),
        "ours from CuPy": lambda: module.asarray(x),
        "CuPy to ours to CuPy": lambda: cupy.from_dlpack(module.asarray(x)),
        "the same on a stream of CuPy's": on_side,
        "ours to CuPy to ours": lambda: module.asarray(cupy.from_dlpack(own)),
        "CuPy's interface alone": lambda: x.__cuda_array_interface__,
        "CuPy's capsule alone": lambda: x.__dlpack__(stream=1, max_version=(1, 0)),
        "our capsule alone": lambda: own.__dlpack__(stream=1, max_version=(1, 0)),
        "through a function of ours": used,
    }
    found = cheapest(calls)
    for name, each in found.items():
        print(f"cost: {name} {each:.2f} us, {each / found['CuPy from CuPy']:.2f} of CuPy from CuPy", flush=True)
    try:
        import torch

        tensor = torch.zeros((64, 32), device="cuda")
        found = cheapest({
            "PyTorch from PyTorch": lambda: torch.from_dlpack(tensor),
            "PyTorch from ours": lambda: torch.from_dlpack(own),
            "ours from PyTorch": lambda: module.asarray(tensor),
            "PyTorch to ours to PyTorch": lambda: torch.from_dlpack(module.asarray(tensor)),
        })
        for name, each in found.items():
            print(f"cost: {name} {each:.2f} us, {each / found['PyTorch from PyTorch']:.2f} of PyTorch from PyTorch", flush=True)
    except ImportError as error:
        report(True, f"not installed: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", required=True, type=Path)
    sys.path.insert(0, str(parser.parse_args().module.resolve()))
    import devarray_example as module

    module.use_backend("cuda")
    failed = 0

    def report(passed, line):
        nonlocal failed
        failed += not passed
        print("pass" if passed else "FAILED", line, flush=True)

    for part in (attributes, ways, order, cost):
        try:
            part(module, report)
        except Exception as error:
            report(False, f"{part.__name__}: {type(error).__name__}: {str(error)[:300]}")
    print(f"numpy {np.__version__}; alive at the end: {module.live()}; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
