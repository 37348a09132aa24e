#!/usr/bin/env python3
"""Prints the coefficients of core/src/random/normal.rs with their errors, and the quantiles of core/tests/random/normal.txt.

    pip install mpmath && python3 normal.py [--quantiles]

Weighted least squares on Chebyshev nodes; the coefficients are rounded to f32 one after the other, lowest first, and those
that follow are fitted again. A quantile is written with its word: both in hexadecimal, the quantile as the nearest f64.
"""

import random
import struct
import sys

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


def quantile(beyond):
    """The x that |a normal number| is beyond with this probability."""
    guess = mp.sqrt(2) * mp.erfinv(1 - beyond)
    if beyond > mp.mpf("0.5"):
        return guess
    return mp.findroot(lambda x: mp.log(mp.erfc(x / mp.sqrt(2))) - mp.log(beyond), guess)


def of_w(w):
    """The quantile of `1 - x` over `x`, where `w` is `-log(1 - x²)`."""
    if w < mp.mpf("1e-12"):
        return mp.sqrt(mp.pi / 2)
    x = mp.sqrt(-mp.expm1(-w))
    return quantile(mp.exp(-w) / (1 + x)) / x


def relative(_, value):
    return 1 / value


def tables():
    yield "CENTRE", fit(of_w, 0, 5, mp.mpf("2.5"), 10, relative)
    yield "TAIL", fit(lambda s: of_w(s * s), mp.sqrt(5), "4.6", mp.mpf("3.375"), 10, relative)
    root = mp.sqrt(mp.mpf("0.5"))
    log = lambda f: mp.log1p(f) / f if abs(f) > 1e-20 else mp.mpf(1)
    yield "LOG", fit(log, root - 1, 2 * root - 1, 0, 8, lambda f, _: f)


def words():
    chosen = [0, 1, 2, 3, 0x7FFFFFFF, 0x7FFFFFFE, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x3FFFFFFF]
    # Where one polynomial ends and the other begins.
    edge = int(mp.sqrt(-mp.expm1(-5)) * 2**31)
    chosen += [edge + at for at in range(-40, 41, 8)] + [2**32 - edge + at for at in range(-40, 41, 8)]
    chosen += [sign ^ (bit + at) for sign in (0, 2**31) for bit in (1 << n for n in range(2, 31)) for at in (-1, 1)]
    generator = random.Random(27)
    return sorted(set(chosen + [generator.randrange(2**32) for _ in range(400)]))


def main():
    if "--quantiles" not in sys.argv:
        for name, (coefficients, error) in tables():
            print(name, ", ".join("%.9e" % float(c) for c in coefficients), "2^%s" % mp.nstr(error, 4))
        return
    for word in words():
        odd = word | 1
        odd = odd - 2**32 if odd >= 2**31 else odd
        value = quantile(1 - abs(mp.mpf(odd)) / 2**31)
        bits = struct.unpack("<Q", struct.pack("<d", float(mp.sign(odd) * value)))[0]
        print("%08x %016x" % (word, bits))


main()
