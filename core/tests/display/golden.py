"""Writes golden.json: arrays and what NumPy's str() makes of them. Run once: python3 golden.py

Numbers are given as text, so that every one survives JSON, not-a-numbers included. In place of the data of a large
array stands a modulus: its elements are the remainders of 0, 1, 2, ...
"""

import json
import pathlib

import numpy as np

cases = []


def counted(len, modulus, dtype, shape):
    text = str((np.arange(len) % modulus).astype(dtype).reshape(shape))
    cases.append({"dtype": dtype, "shape": list(shape), "modulus": modulus, "text": text})


def case(values, dtype, shape=None):
    array = np.array(values, dtype=dtype)
    array = array if shape is None else array.reshape(shape)
    data = [repr(item) for item in array.ravel().tolist()]
    cases.append({"dtype": dtype, "shape": list(array.shape), "data": data, "text": str(array)})


INTEGERS = ["int8", "uint8", "int16", "int32", "int64", "uint64"]
FLOATS = ["float16", "float32", "float64"]

for dtype in INTEGERS + FLOATS + ["bool"]:
    case([], dtype)
    case([], dtype, (2, 0, 3))
    case([[1, 0, 1], [0, 0, 1]], dtype)
    case(np.arange(24) % 7, dtype, (2, 3, 4))
    case(np.arange(24) % 5, dtype, (1, 2, 1, 3, 4))
    case(1, dtype)
    case([0], dtype)
    counted(60, 100, dtype, (60,))
    counted(120, 100, dtype, (2, 60))
    counted(1001, 9, dtype, (1001,))
    counted(1008, 11, dtype, (6, 168))
    counted(1008, 11, dtype, (7, 144))
    counted(2000, 13, dtype, (8, 2, 125))
for dtype in ["uint8", "float32"]:
    counted(1000, 9, dtype, (10, 100))
    counted(1024, 3, dtype, (2,) * 10)
case([-128, 127, 0], "int8")
case([-(2**63), 2**63 - 1], "int64")
case([2**64 - 1], "uint64")
case(np.arange(30) * 10**12, "int64")

SPECIAL = [
    [1.0, 2.5], [0.1, 0.2, 0.3], [1 / 3], [1 / 3, 2], [np.pi, np.e, 100.0], [-0.0, 0.0], [-1.5, 0.25], [1e-4], [9.9e-5],
    [1e-5, 1.0], [1000.0, 1.0], [1000.5, 1.0], [1e5], [999999.0], [1e6], [1234567.0], [1e7], [99999999.0], [1e8], [1e10],
    [1e300], [5e-324], [123456.789], [np.nan], [np.inf], [-np.inf], [np.nan, 1.0], [np.inf, 1.0], [-np.inf, 1.0],
    [np.nan, -np.inf, 1.25], [np.nan, 1e10], [-np.inf, 1.5e-10], [1e-10, -1e10, 0.0], [0.123456789123],
    [1.00000000123], [0.5, 1.00000000123], [1.500000001e10], [1.123456789e10, 1.0], [-1e100, 1e100],
    [0.000123, 0.0123], [12345.678, 23456.789], [2.0**24], [2.0**27], [99.99999999999], [0.999999999],
]
for values in SPECIAL:
    for dtype in FLOATS:
        with np.errstate(over="ignore"):
            case(values, dtype)
            case(values[0], dtype)
for value in [1e15, 1e16, 1.5e16, 123456789012345.6, 1e-3, 1.25e-5, 1e22, -0.1]:
    case(value, "float64")
    case(value, "float32")

for values in [[1], [1, 1], [0, 0], [[1, 1], [1, 1]], [[[1]]], np.ones((3, 1), bool), np.arange(6).reshape(2, 3) > -1]:
    case(values, "bool")
for shape in [(1001,), (26, 40), (30,), (16,)]:
    case(np.ones(shape), "bool")

rng = np.random.default_rng(7)
for _ in range(120):
    shape = tuple(rng.integers(1, 5, rng.integers(1, 4)))
    values = rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 9)
    if rng.random() < 0.5:
        values = np.round(values, rng.integers(0, 6))
    if rng.random() < 0.3:
        values = values * 10.0 ** rng.integers(-4, 4, shape)
    if rng.random() < 0.2:
        values = np.where(rng.random(shape) < 0.3, rng.choice([np.nan, np.inf, -np.inf]), values)
    with np.errstate(over="ignore"):
        case(values, FLOATS[rng.integers(0, 3)])
case(rng.standard_normal((3, 40)), "float64")
case(np.linspace(0, 1, 25), "float32")

lines = ",\n".join(json.dumps(each) for each in cases)
pathlib.Path(__file__).with_name("golden.json").write_text(f"[\n{lines}\n]\n")
