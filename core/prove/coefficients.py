#!/usr/bin/env python3
"""Prints the coefficients of the polynomials in core/function/src/elementary, with their errors.

    pip install mpmath && python3 coefficients.py [TABLE...]

Weighted least squares on Chebyshev nodes, which is near to the minimax polynomial. The coefficients are rounded to f64
one after the other, lowest first, and those that follow are fitted again, so that they make up for the rounding.
"""

import sys

import mpmath as mp

mp.mp.prec = 240
TINY = mp.mpf(10) ** -25
QUARTER_TURN, SQUARE = mp.mpf("0.6175"), mp.mpf("0.3467") ** 2
LOG_END = mp.mpf("0.02945")


def fit(function, start, end, terms, error):
    """Coefficients; `error(t, d)` is what an error d of the polynomial at t does to the result, relative to it."""
    start, end = mp.mpf(start), mp.mpf(end)

    def at(t):
        return function(t if abs(t) > TINY else TINY)

    def solve(fixed):
        free, count = terms - len(fixed), 4 * (terms - len(fixed))
        rows, sides = mp.matrix(count, free), mp.matrix(count, 1)
        for i in range(count):
            t = (start + end) / 2 + (end - start) / 2 * mp.cos((2 * i + 1) * mp.pi / (2 * count))
            weight = abs(error(t if abs(t) > TINY else TINY, mp.mpf(1)))
            for j in range(free):
                rows[i, j] = weight * (t / end) ** (j + len(fixed))
            sides[i] = weight * (at(t) - sum(c * t**j for j, c in enumerate(fixed)))
        solution = mp.lu_solve(rows.T * rows, rows.T * sides)
        return solution[0] / end ** len(fixed)

    fixed = []
    while len(fixed) < terms:
        fixed.append(mp.mpf(float(solve(fixed))))
    steps = [start + (end - start) * (i + mp.mpf(1) / 3) / 400 for i in range(400)]
    worst = max(abs(error(t, sum(c * t**j for j, c in enumerate(fixed)) - at(t))) for t in steps)
    return fixed, mp.log(worst, 2)


def scaled_erfc(x):
    return mp.exp(x * x) * mp.erfc(x)


def of_quotient(t):
    return 3 * (1 + t) / (1 - t)


def g(t):
    return scaled_erfc(of_quotient(t)) * (1 + 2 * of_quotient(t))


def quotient(x):
    return (mp.mpf(x) - 3) / (mp.mpf(x) + 3)


def root(function):
    """A function of the square root of t."""
    return lambda t: function(mp.sqrt(t))


FAR_MIDDLE = mp.mpf(0.2509836987071388)
G_FIRST = mp.mpf(float(g(mp.mpf(0))))
G_FIRST += mp.mpf(float(g(mp.mpf(0)) - G_FIRST))


def far(u):
    return 1 / (u + FAR_MIDDLE) - 2


LOG = root(lambda s: 2 * mp.atanh(s) / s - 2)
TABLES = {
    "exponential EXP": lambda: fit(lambda r: (mp.expm1(r) - r) / r**2, "-0.3467", "0.3467", 11,
                                   lambda r, d: d * r * r / mp.expm1(r)),
    "single exponential EXP": lambda: fit(lambda r: (mp.expm1(r) - r) / r**2, "-0.3467", "0.3467", 9,
                                          lambda r, d: d * r * r / mp.exp(r)),
    "single exponential EXPM1": lambda: fit(lambda r: (mp.expm1(r) - r) / r**2, "-0.3467", "0.3467", 10,
                                            lambda r, d: d * r * r / mp.expm1(r)),
    "hyperbolic COSH": lambda: fit(root(lambda r: (mp.cosh(r) - 1) / r**2), 0, SQUARE, 5, lambda t, d: d * t),
    "hyperbolic SINH": lambda: fit(root(lambda r: (mp.sinh(r) - r) / r**3), 0, SQUARE, 5, lambda t, d: d * t),
    "single hyperbolic TANH": lambda: fit(root(lambda z: (mp.tanh(z) / z - 1) / z**2), 0, mp.mpf("0.17335") ** 2, 5,
                                          lambda t, d: d * t),
    "logarithm LOG": lambda: fit(lambda t: LOG(t) / t, 0, LOG_END, 7, lambda t, d: d * t / 2),
    "power LOG_TAIL": lambda: fit(lambda t: (LOG(max(t, TINY**0.5)) - 2 * max(t, TINY**0.5) / 3) / max(t, TINY**0.5)**2,
                                  0, LOG_END, 8, lambda t, d: d * t * t / 2),
    "trigonometric SIN": lambda: fit(root(lambda r: (mp.sin(r) / r - 1) / r**2), 0, QUARTER_TURN, 6,
                                     lambda t, d: d * t),
    "trigonometric COS": lambda: fit(root(lambda r: (mp.cos(r) - 1 + r * r / 2) / r**4), 0, QUARTER_TURN, 6,
                                     lambda t, d: d * t * t / mp.cos(mp.sqrt(t))),
    # The library's differ from these in their last bits: see there.
    "single trigonometric SIN_WIDE": lambda: fit(root(lambda r: (mp.sin(r) / r - 1) / r**2), 0,
                                                 mp.mpf("1.572") ** 2, 8,
                                                 lambda t, d: d * t * mp.sqrt(t) / mp.sin(mp.sqrt(t))),
    "single trigonometric COS": lambda: fit(root(lambda r: (mp.cos(r) - 1) / r**2), 0, QUARTER_TURN, 7,
                                            lambda t, d: d * t / mp.cos(mp.sqrt(t))),
    "inverse_trigonometric ATAN": lambda: fit(root(lambda z: (mp.atan(z) / z - 1) / z**2), 0, "0.1915", 12,
                                              lambda t, d: d * t),
    "inverse_trigonometric ASIN": lambda: fit(root(lambda z: (mp.asin(z) / z - 1) / z**2), 0, "0.25001", 13,
                                              lambda t, d: d * t),
    "error_function ERF": lambda: fit(root(lambda x: mp.erf(x) / x - 1), 0, "1.0001", 13, lambda t, d: d),
    "error_function ERFC, less its first": lambda: fit(lambda t: (g(t) - G_FIRST) / t, quotient("0.498"), quotient(28),
                                                       22, lambda t, d: d * t / g(t)),
    "single error_function ERFC": lambda: fit(g, quotient("0.498"), quotient("10.1"), 19, lambda t, d: d / g(t)),
    "single error_function ERF_FAR": lambda: fit(lambda u: scaled_erfc(far(u)), 1 / mp.mpf("5.93") - FAR_MIDDLE,
                                                 mp.mpf(1) / 3 - FAR_MIDDLE, 13,
                                                 lambda u, d: d * mp.exp(-(far(u) ** 2))),
}


def main():
    for name, table in TABLES.items():
        if len(sys.argv) == 1 or any(word in name for word in sys.argv[1:]):
            coefficients, error = table()
            print(f"{name}: error 2^{float(error):.1f}")
            for coefficient in coefficients:
                print(f"    {float(coefficient)!r},", flush=True)


if __name__ == "__main__":
    main()
