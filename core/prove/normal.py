#!/usr/bin/env python3
"""Prints the coefficients of core/src/random/normal.rs, with their absolute errors.

    pip install mpmath && python3 normal.py

Weighted least squares on Chebyshev nodes; the coefficients are rounded to f32 one after the other, lowest first, and those
that follow are fitted again.
"""

import struct

import mpmath as mp

mp.mp.prec = 160


def f32(value):
    return mp.mpf(struct.unpack("f", struct.pack("f", float(value)))[0])


def fit(function, start, end, middle, terms, weight):
    """Coefficients of powers of `t - middle`, and the largest weighted error."""
    start, end, count = mp.mpf(start), mp.mpf(end), 6 * terms
    half = (end - start) / 2
    nodes = [(start + end) / 2 + half * mp.cos((2 * i + 1) * mp.pi / (2 * count)) for i in range(count)]
    values = [function(t) for t in nodes]
    fixed = []
    while len(fixed) < terms:
        rows, sides = mp.matrix(count, terms - len(fixed)), mp.matrix(count, 1)
        for i, (t, value) in enumerate(zip(nodes, values)):
            for j in range(terms - len(fixed)):
                rows[i, j] = weight(t, value) * ((t - middle) / half) ** (j + len(fixed))
            sides[i] = weight(t, value) * (value - sum(c * (t - middle) ** j for j, c in enumerate(fixed)))
        solution = mp.lu_solve(rows.T * rows, rows.T * sides)
        fixed.append(f32(solution[0] / half ** len(fixed)))
    errors = (
        abs(weight(t, v) * (sum(c * (t - middle) ** j for j, c in enumerate(fixed)) - v))
        for t, v in zip(nodes, values)
    )
    return fixed, mp.log(max(errors), 2)


def main():
    root, quarter = mp.sqrt(mp.mpf("0.5")), mp.pi / 4
    log = lambda f: -mp.log1p(f) / f if abs(f) > 1e-20 else mp.mpf(-1)
    even = lambda function: lambda t: function(mp.sqrt(t))
    sine = lambda v: mp.sin(quarter * v) / v if v > 1e-20 else quarter
    cosine = lambda v: mp.cos(quarter * v)
    tables = {
        "LOG": fit(log, root - 1, 2 * root - 1, 0, 8, lambda f, _: f),
        "SINE": fit(even(sine), 0, 1, 0, 4, lambda t, _: mp.sqrt(t)),
        "COSINE": fit(even(cosine), 0, 1, 0, 4, lambda t, _: mp.mpf(1)),
    }
    for name, (coefficients, error) in tables.items():
        print(name, ", ".join("%.9e" % float(c) for c in coefficients), "2^%s" % mp.nstr(error, 4))


main()
