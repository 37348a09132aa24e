#!/usr/bin/env python3
"""Measures PyTorch (eager and compiled), CuPy and JAX on copies that `devarray bench copy` measures, on the same card.

    devarray bench copy --json > ours.jsonl
    peers.py --ours ours.jsonl > peers.jsonl

One JSON line a case: {"case", "torch", "inductor", "cupy", "xla"} in GB/s, 2 x result bytes over the median time, null where a
library cannot do it or is not there. As the bench does it: warm, results that fit the cache taken in turn from several
buffers, medians of rounds of at least 2 ms. Each library is a process of its own. Compiled results are compared with eager ones
before they are timed. The last lines are PyTorch's copies between host and device.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time

import cases

ROUNDS, ROUND_S, MAX_REPEATS = 9, 2e-3, 256
COLD_BYTES, MAX_SETS = 256 << 20, 32
LIBRARIES = ("torch", "inductor", "cupy", "xla")


def median_seconds(call, sets, clock):
    """Median seconds of `call(set)`, by `clock(work)`, which returns the seconds that `work` took on the device."""

    def times(count, first):
        for k in range(first, first + count):
            call(k % sets)  # what it returns is dropped at once, and its memory used again

    times(max(sets, 3), 0)
    once = clock(lambda: times(4, 0)) / 4
    repeats = 1
    while repeats < MAX_REPEATS and repeats * once < ROUND_S:
        repeats *= 2

    def measure():
        call(0)
        return clock(lambda: times(repeats, 1)) / repeats

    return statistics.median(measure() for _ in range(ROUNDS))


def sets_of(result_bytes):
    return max(1, min(MAX_SETS, COLD_BYTES // (2 * result_bytes)))


class Torch:
    def __init__(self, compiled):
        import torch

        self.torch, self.compiled = torch, compiled
        self.types = {
            "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "f16": torch.float16,
            "u16": torch.uint16, "bf16": torch.bfloat16, "u32": torch.uint32, "i32": torch.int32, "f32": torch.float32,
            "u64": torch.uint64, "i64": torch.int64, "f64": torch.float64, "c64": torch.complex64, "c128": torch.complex128,
        }  # fmt: skip

    def clock(self, work):
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3

    def view(self, array, steps):
        for operation, argument in steps:
            if operation == "permute":
                array = array.permute(argument)
            elif operation == "index":
                array = array[argument]  # ValueError for a step below 0, which PyTorch has no views for
            elif operation == "squeeze":
                array = array.squeeze(argument) if argument else array.squeeze()
            elif operation == "broadcast":
                array = array.expand(argument)
            elif operation == "reshape":
                array = array.view(argument)
            else:
                raise ValueError(operation)
        return array

    def base(self, case):
        # Random bits, as ours are: memory may be faster with calmer data.
        top = 2 if case.dtype == "bool" else 256
        words = self.torch.randint(0, top, (math.prod(case.shape) * case.width,), dtype=self.torch.uint8, device="cuda")
        return words.view(self.types[case.dtype]).view(case.shape)

    def seconds(self, case, sets):
        torch = self.torch
        bases = [self.base(case) for _ in range(sets)]
        if self.compiled:
            torch._dynamo.reset()
            copy = torch.compile(lambda x: self.view(x, case.steps).clone(memory_format=torch.contiguous_format), dynamic=False)
            expected, found = self.view(bases[0], case.steps), copy(bases[0])
            same = torch.equal(found.view(torch.uint8), expected.contiguous().view(torch.uint8))  # NaN included
            if not found.is_contiguous() or not same:
                raise RuntimeError("the compiled copy is wrong")
            return median_seconds(lambda k: copy(bases[k]), sets, self.clock)
        views = [self.view(base, case.steps) for base in bases]
        results = [torch.empty(view.shape, dtype=view.dtype, device="cuda") for view in views]
        return median_seconds(lambda k: results[k].copy_(views[k]), sets, self.clock)

    def free(self):
        self.torch.cuda.empty_cache()


class CuPy:
    def __init__(self):
        import cupy

        self.cupy = cupy

    def clock(self, work):
        start, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        start.record()
        work()
        end.record()
        end.synchronize()
        return self.cupy.cuda.get_elapsed_time(start, end) / 1e3

    def seconds(self, case, sets):
        cupy = self.cupy
        names = {"bool": "?", "f16": "f2", "f32": "f4", "f64": "f8", "c64": "c8", "c128": "c16"}
        if case.dtype == "bf16":
            raise ValueError("CuPy has no bf16")
        dtype = names.get(case.dtype) or case.dtype[0] + str(case.width)
        top, count = 2 if case.dtype == "bool" else 256, math.prod(case.shape) * case.width
        words = [cupy.random.randint(0, top, count, dtype="u1") for _ in range(sets)]
        bases = [word.view(dtype).reshape(case.shape) for word in words]
        views = [cases.apply(base, case.steps, cupy) for base in bases]
        results = [cupy.empty(view.shape, view.dtype) for view in views]
        return median_seconds(lambda k: cupy.copyto(results[k], views[k]), sets, self.clock)

    def free(self):
        self.cupy.get_default_memory_pool().free_all_blocks()


class Xla:
    def __init__(self):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax = jax
        assert jax.devices()[0].platform == "gpu", "JAX sees no GPU"

    def clock(self, work):
        # JAX has no events: its host clock, from idle to idle.
        start = time.perf_counter()
        work()
        self.jax.block_until_ready(self.last)
        return time.perf_counter() - start

    def base(self, case, dtype, seed):
        bits = self.jax.random.bits(self.jax.random.key(seed), (math.prod(case.shape) * max(1, case.width // 8),), f"uint{8 * min(case.width, 8)}")
        if dtype == "bool" or dtype.startswith("complex"):
            return bits.astype(dtype)[: math.prod(case.shape)].reshape(case.shape)
        return self.jax.lax.bitcast_convert_type(bits, dtype).reshape(case.shape)

    def seconds(self, case, sets):
        jax, jnp = self.jax, self.jax.numpy
        names = {"bool": "bool", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128"}  # fmt: skip
        dtype = names.get(case.dtype) or {"u": "uint", "i": "int"}[case.dtype[0]] + case.dtype[1:]
        bases = [self.base(case, dtype, seed) for seed in range(sets)]
        if not case.steps:
            raise ValueError("a copy of the whole is no work to XLA")
        copy = jax.jit(lambda x: cases.apply(x, case.steps, jnp))

        def call(k):
            self.last = copy(bases[k])

        return median_seconds(call, sets, self.clock)

    def free(self):
        pass


def measure(library, texts, deadline):
    """Prints a line a case as it is done."""
    peer = {"torch": lambda: Torch(False), "inductor": lambda: Torch(True), "cupy": CuPy, "xla": Xla}[library]()
    for text in texts:
        if time.monotonic() > deadline:
            print(f"{library}: out of time before {text}", file=sys.stderr)
            break
        case = cases.parse(text)
        try:
            found = cases.strides_of(case)
            if found is None:
                raise ValueError("a reshape has to copy")
            result_bytes = math.prod(found[0]) * case.width
            seconds = peer.seconds(case, sets_of(result_bytes))
            print(json.dumps({"case": text, library: 2 * result_bytes / seconds / 1e9}), flush=True)
        except Exception as error:  # a library that cannot do a case is a finding, not a failure
            print(f"{library}: {text}: {type(error).__name__}: {str(error)[:150]}", file=sys.stderr)
        peer.free()


def transfers(sizes):
    """PyTorch's copies between host and device, pinned and pageable, by the host's clock."""
    import torch

    for size in sizes:
        device = torch.empty(size, dtype=torch.uint8, device="cuda")
        for kind in ("pinned", "pageable"):
            host = torch.randint(0, 255, (size,), dtype=torch.uint8)
            host = host.pin_memory() if kind == "pinned" else host
            for direction, to, source in (("to-device", device, host), ("from-device", host, device)):
                taken = []
                for _ in range(ROUNDS):
                    torch.cuda.synchronize()
                    start = time.perf_counter()
                    to.copy_(source, non_blocking=kind == "pinned")
                    torch.cuda.synchronize()
                    taken.append(time.perf_counter() - start)
                name = f"{kind}-{direction}-{size >> 20}MiB"
                print(json.dumps({"case": name, "torch": size / statistics.median(taken) / 1e9}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True, help="lines of `devarray bench copy --json`: which cases to measure")
    parser.add_argument("--seconds", type=float, default=120, help="time a library may take")
    parser.add_argument("--libraries", default=",".join(LIBRARIES))
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    with open(arguments.ours) as lines:
        texts = [line["case"] for line in map(json.loads, lines) if "case" in line]
    if arguments.alone == "transfers":
        return transfers([1 << 20, 16 << 20, 64 << 20, 256 << 20])
    if arguments.alone:
        return measure(arguments.alone, texts, time.monotonic() + arguments.seconds)
    merged = {text: {"case": text} for text in texts}
    for library in [*arguments.libraries.split(","), "transfers"]:
        command = [sys.executable, __file__, "--ours", arguments.ours, "--seconds", str(arguments.seconds), "--alone", library]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        for line in done.stdout.splitlines():
            if line.startswith("{"):
                line = json.loads(line)
                merged.setdefault(line["case"], {}).update(line)
    for line in merged.values():
        print(json.dumps({**dict.fromkeys(LIBRARIES), **line}))


if __name__ == "__main__":
    main()
