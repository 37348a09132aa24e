#!/usr/bin/env python3
"""Writes the array files beside it with NumPy, for `tests/npy.rs`. Their bytes are what NumPy 2.4.6 writes."""

from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
FILES = {
    "c_f4": np.arange(6, dtype="<f4").reshape(2, 3) / 2,
    "fortran_i2": np.asfortranarray(np.arange(24, dtype="<i2").reshape(2, 3, 4)),
    "reversed_f8": np.array([1.5, -2.25, 1e300], dtype=">f8"),
    "reversed_c8": np.array([1 + 2j, 3 - 4j], dtype=">c8"),
    "bool": np.array([[True, False], [False, True]]),
    "half": np.array([0.5, -2.0], dtype="<f2"),
    "scalar_u8": np.array(2**63, dtype="<u8"),
    "empty_i4": np.zeros((3, 0, 2), dtype="<i4"),
    "record": np.array([(1.5, 7), (-2.0, 9)], dtype=[("x", "<f4"), ("n", "<u4")]),
    "object": np.array([None, 1], dtype=object),
}

if __name__ == "__main__":
    for name, array in FILES.items():
        np.save(HERE / f"{name}.npy", array, allow_pickle=True)
    arrays = {name: FILES[name] for name in ("c_f4", "fortran_i2", "empty_i4")}
    np.savez(HERE / "stored.npz", **arrays)
    np.savez_compressed(HERE / "deflated.npz", **arrays)
