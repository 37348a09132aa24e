#!/usr/bin/env python3
"""Times the solvers of core/any/examples/recorded_solvers.rs in PyTorch and CuPy, as they come and as graphs, beside ours.

    cargo build --release -p devarray-any --example recorded_solvers
    python3 backend-cuda/bench/solvers.py target/release/examples/recorded_solvers

The same steps, 20 of them a graph; the least of three runs, in milliseconds.
"""

import os
import subprocess
import sys
import time

import cupy
import torch

PLATE, HEAT_STEPS, GRID, CG_STEPS, AT_ONCE = 256, 2000, 512, 400, 20


def heat(u, v):
    """One step from u to v."""
    here = u[1:-1, 1:-1]
    v[1:-1, 1:-1] = here + (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - here * 4) * 0.2


def heat_steps(state):
    """Twenty steps, there and back."""
    for _ in range(AT_ONCE // 2):
        heat(state[0], state[1])
        heat(state[1], state[0])


def gradient_steps(state):
    """Twenty steps of conjugate gradients."""
    x, r, p, square = state
    for _ in range(AT_ONCE):
        here = p[1:-1, 1:-1]
        applied = here * 4 - (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])
        alpha = square / (here * applied).sum()
        x += here * alpha
        r -= applied * alpha
        following = (r * r).sum()
        p[1:-1, 1:-1] = r + here * (following / square)
        square[...] = following


def states(library):
    """The arrays of both solvers."""
    device = {"device": "cuda"} if library is torch else {}
    dtype = library.float32
    plate = library.ones((PLATE, PLATE), dtype=dtype, **device)
    heat_state = [plate, plate + 0]
    p = library.zeros((GRID + 2, GRID + 2), dtype=dtype, **device)
    p[1:-1, 1:-1] = 1
    r = library.ones((GRID, GRID), dtype=dtype, **device)
    return heat_state, [r * 0, r, p, (r * r).sum()]


def timed(run, count, synchronize):
    """The least milliseconds of three times `count` runs."""
    best = float("inf")
    for _ in range(3):
        synchronize()
        begun = time.perf_counter()
        for _ in range(count):
            run()
        synchronize()
        best = min(best, (time.perf_counter() - begun) * 1e3)
    return best


def of_torch(steps, state, count):
    """PyTorch, plain and as a graph."""
    plain = timed(lambda: steps(state), count, torch.cuda.synchronize)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        steps(state)
    return plain, timed(graph.replay, count, torch.cuda.synchronize)


def of_cupy(steps, state, count):
    """CuPy, plain and as a graph, if it captures the calls."""
    wait = cupy.cuda.Device().synchronize
    plain = timed(lambda: steps(state), count, wait)
    stream = cupy.cuda.Stream(non_blocking=True)
    try:
        with stream:
            stream.begin_capture()
            steps(state)
            graph = stream.end_capture()
    except Exception as error:  # noqa: BLE001 - whatever it raises is told
        return plain, f"not captured: {type(error).__name__}"
    return plain, timed(lambda: graph.launch(stream), count, wait)


def main() -> None:
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__, "CuPy", cupy.__version__)
    ours = subprocess.run([sys.argv[1]], env=os.environ | {"DEVARRAY_DEVICE": "cuda"}, capture_output=True, text=True)
    print(ours.stdout + ours.stderr, end="")
    for name, library, measure in [("PyTorch", torch, of_torch), ("CuPy", cupy, of_cupy)]:
        plate, solver = states(library)
        for what, steps, state, count in [
            ("heat", heat_steps, plate, HEAT_STEPS // AT_ONCE),
            ("gradients", gradient_steps, solver, CG_STEPS // AT_ONCE),
        ]:
            plain, graph = measure(steps, state, count)
            graph = graph if isinstance(graph, str) else f"{graph:.2f}"
            print(f"{name}: {what}: {plain:.2f} ms, as a graph {graph}")


if __name__ == "__main__":
    main()
