"""Times the calls of `src/ours.rs` by NumPy, PyTorch and JAX on the CPU. Prints one JSON line per case.

usage: peers.py numpy|torch|jax [N [CASE...]]

Arrays have N x N elements, 4096 unless told. OMP_NUM_THREADS sets the number of threads. Results go into existing
arrays where the library can do that. Times are medians of 15 calls after 0.1 s of warm-up.
"""
import json
import os
import sys
import time
from types import SimpleNamespace

import numpy as np

peer, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4096
wanted = set(sys.argv[3:])
b = 4 * n * n
random = np.random.default_rng(0)
x, y = (random.standard_normal((n, n), dtype="f4") for _ in "xy")
x += 3
y += 0.5
p = np.abs(x) + np.float32(0.1)
h, h2 = x.astype("f2"), y.astype("f2")
u, u2 = (random.integers(0, 255, (n, n), dtype="u1") for _ in "uu")
d = x[: n // 2].astype("f8")
row, rows = y[0].copy(), random.integers(0, n, n)


def poly(x):
    total = x * 0.1 + 0.2
    for k in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        total = total * x + k
    return total


def heat(x):
    around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
    return x[1:-1, 1:-1] + 0.1 * (around - 4 * x[1:-1, 1:-1])


# name -> (least number of bytes to move, the call on a library with NumPy's names)
CASES = {
    "add-f32": (3 * b, lambda m, a: a.x + a.y),
    "axpy-f32": (3 * b, lambda m, a: a.x * 2.5 + a.y),
    "poly8-f32": (2 * b, lambda m, a: poly(a.x)),
    "exp-f32": (2 * b, lambda m, a: m.exp(a.x)),
    "log-f32": (2 * b, lambda m, a: m.log(a.p)),
    "sin-f32": (2 * b, lambda m, a: m.sin(a.x)),
    "tanh-f32": (2 * b, lambda m, a: m.tanh(a.x)),
    "sqrt-f32": (2 * b, lambda m, a: m.sqrt(a.p)),
    "pow-f32": (3 * b, lambda m, a: a.p**a.y),
    "gelu-f32": (2 * b, lambda m, a: 0.5 * a.x * (1 + m.tanh(0.7978845608 * (a.x + 0.044715 * a.x * a.x * a.x)))),
    "less-f32": (2 * b + n * n, lambda m, a: a.x < a.y),
    "where-f32": (3 * b, lambda m, a: m.where(a.x < a.y, a.x, a.y)),
    "rowadd-f32": (2 * b, lambda m, a: a.x + a.row),
    "tadd-f32": (3 * b, lambda m, a: a.x.T + a.y),
    "heat-f32": (2 * b, lambda m, a: heat(a.x)),
    "exp-f64": (8 * n * n, lambda m, a: m.exp(a.d)),
    "sum-f64": (4 * n * n, lambda m, a: a.d.sum()),
    "add-f16": (6 * n * n, lambda m, a: a.h + a.h2),
    "add-u8": (3 * n * n, lambda m, a: a.u + a.u2),
    "sum-f32": (b, lambda m, a: a.x.sum()),
    "sum0-f32": (b, lambda m, a: a.x.sum(0)),
    "sum1-f32": (b, lambda m, a: a.x.sum(1)),
    "max-f32": (b, lambda m, a: m.max(a.x)),
    "argmax1-f32": (b, lambda m, a: a.x.argmax(1)),
    "var1-f32": (b, lambda m, a: a.x.var(1)),
    "cumsum1-f32": (2 * b, lambda m, a: m.cumsum(a.x, 1)),
    "softmax1-f32": (2 * b, None),
    "dot-f32": (2 * b, lambda m, a: (a.x * a.y).sum()),
    "copyT-f32": (2 * b, None),
    "copy-f32": (2 * b, None),
    "take-rows-f32": (2 * b, None),
    "small-add-1000": (0, None),
}


def arrays(convert):
    names = dict(x=x, y=y, p=p, h=h, h2=h2, u=u, u2=u2, d=d, row=row, rows=rows)
    return SimpleNamespace(**{name: convert(values) for name, values in names.items()})


def thousand(call):
    def calls():
        for _ in range(1000):
            call()

    return calls


def numpy_calls():
    a = arrays(lambda values: values)
    o, od, oh, ou = map(np.empty_like, (x, d, h, u))
    ones, out = np.ones(1000, "f4"), np.empty(1000, "f4")

    def softmax():
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    own = {
        "add-f32": lambda: np.add(x, y, out=o),
        "exp-f32": lambda: np.exp(x, out=o),
        "log-f32": lambda: np.log(p, out=o),
        "sin-f32": lambda: np.sin(x, out=o),
        "tanh-f32": lambda: np.tanh(x, out=o),
        "sqrt-f32": lambda: np.sqrt(p, out=o),
        "pow-f32": lambda: np.power(p, y, out=o),
        "rowadd-f32": lambda: np.add(x, row, out=o),
        "tadd-f32": lambda: np.add(x.T, y, out=o),
        "exp-f64": lambda: np.exp(d, out=od),
        "add-f16": lambda: np.add(h, h2, out=oh),
        "add-u8": lambda: np.add(u, u2, out=ou),
        "cumsum1-f32": lambda: np.cumsum(x, 1, out=o),
        "softmax1-f32": softmax,
        "copyT-f32": lambda: np.copyto(o, x.T),
        "copy-f32": lambda: np.copyto(o, x),
        "take-rows-f32": lambda: np.take(x, rows, 0, out=o),
        "small-add-1000": thousand(lambda: np.add(ones, ones, out=out)),
    }
    return own, lambda call: lambda: call(np, a)


def torch_calls():
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
    a = arrays(torch.from_numpy)
    o, od, oh, ou = map(torch.empty_like, (a.x, a.d, a.h, a.u))
    ones, out = torch.ones(1000), torch.empty(1000)
    own = {
        "add-f32": lambda: torch.add(a.x, a.y, out=o),
        "axpy-f32": lambda: torch.add(a.y, a.x, alpha=2.5, out=o),
        "exp-f32": lambda: torch.exp(a.x, out=o),
        "log-f32": lambda: torch.log(a.p, out=o),
        "sin-f32": lambda: torch.sin(a.x, out=o),
        "tanh-f32": lambda: torch.tanh(a.x, out=o),
        "sqrt-f32": lambda: torch.sqrt(a.p, out=o),
        "pow-f32": lambda: torch.pow(a.p, a.y, out=o),
        "gelu-f32": lambda: torch.nn.functional.gelu(a.x, approximate="tanh"),
        "rowadd-f32": lambda: torch.add(a.x, a.row, out=o),
        "tadd-f32": lambda: torch.add(a.x.T, a.y, out=o),
        "exp-f64": lambda: torch.exp(a.d, out=od),
        "add-f16": lambda: torch.add(a.h, a.h2, out=oh),
        "add-u8": lambda: torch.add(a.u, a.u2, out=ou),
        "max-f32": lambda: a.x.max(),
        "softmax1-f32": lambda: torch.softmax(a.x, 1),
        "dot-f32": lambda: torch.dot(a.x.reshape(-1), a.y.reshape(-1)),
        "cumsum1-f32": lambda: torch.cumsum(a.x, 1, out=o),
        "copyT-f32": lambda: o.copy_(a.x.T),
        "copy-f32": lambda: o.copy_(a.x),
        "take-rows-f32": lambda: torch.index_select(a.x, 0, a.rows, out=o),
        "small-add-1000": thousand(lambda: torch.add(ones, ones, out=out)),
    }
    return own, lambda call: lambda: call(torch, a)


def jax_calls():
    os.environ["JAX_PLATFORMS"] = "cpu"
    if os.environ.get("OMP_NUM_THREADS") == "1":
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    a = arrays(jnp.asarray)
    names = sorted(vars(a))

    def jitted(call):
        compiled = jax.jit(lambda values: call(jnp, SimpleNamespace(**dict(zip(names, values)))))
        values = [getattr(a, name) for name in names]
        return lambda: jax.block_until_ready(compiled(values))

    own = {
        "softmax1-f32": jitted(lambda m, a: jax.nn.softmax(a.x, 1)),
        "copyT-f32": jitted(lambda m, a: m.copy(a.x.T)),
        "copy-f32": jitted(lambda m, a: m.copy(a.x)),
        "take-rows-f32": jitted(lambda m, a: m.take(a.x, a.rows, 0)),
    }
    return own, jitted


def median(call):
    until = time.perf_counter() + .1
    call()
    while time.perf_counter() < until:
        call()
    seconds = []
    for _ in range(15):
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    return sorted(seconds)[7]


own, general = {"numpy": numpy_calls, "torch": torch_calls, "jax": jax_calls}[peer]()
for name, (len_bytes, call) in CASES.items():
    call = own.get(name) or (call and general(call))
    if call is None or (wanted and name not in wanted):
        continue
    try:
        seconds = median(call)
        line = {"case": name, "peer": peer, "ms": seconds * 1e3, "gbps": len_bytes / seconds / 1e9}
    except Exception as error:  # reports a case that the library lacks, and goes on with the others
        line = {"case": name, "peer": peer, "error": f"{type(error).__name__}: {error}"[:120]}
    print(json.dumps(line), flush=True)
