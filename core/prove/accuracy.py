#!/usr/bin/env python3
"""The largest errors of the functions of f64, and of the functions of two numbers, in ulp, against MPFR.

    cargo build --release && pip install gmpy2 && python3 accuracy.py TARGET/release/devarray-prove [POINTS [NAME...]]

POINTS random inputs (20,000 unless told) of several kinds for each function, beside those of cases.py: any bits, the
part of the line where the function does most, powers of two apart, and multiples of π/2. A line is the function, the
type, the largest error, its input, and the next largest. Exit status 1 if an error reaches 1 ulp.
"""

import math
import random
import subprocess
import sys

import gmpy2
from cases import BINARY, F32, F64, FUNCTIONS, PRECISION, RANGES, binary, unary, value
from gmpy2 import mpfr

WIDE = {"exp": 745, "expm1": 709, "sinh": 710, "cosh": 710, "exp2": 1074, "erfc": 27, "tanh": 22, "sin": 100,
        "cos": 100, "tan": 100}


def inputs(name, form, points):
    chosen = random.Random(f"{name} {points}")
    cases = binary(name, form) if name in BINARY else unary(name, form, [])
    while len(cases) < points:
        kind = len(cases) % 4
        bits, sign = chosen.getrandbits(form.width), chosen.choice([-1, 1])
        spread = sign * math.ldexp(chosen.uniform(1, 2), chosen.randint(-40, 40))
        if name == "pow":
            near_one = 1 + sign * math.ldexp(chosen.uniform(1, 2), -chosen.randint(2, 30))
            x = near_one if kind == 1 else abs(spread) if kind else abs(form.number(bits))
            x = form.nearest(x)
            power = math.log2(x) if 0 < x < math.inf else 0.0
            y = chosen.uniform(form.least - 2, form.most + 2) / (power or 1)
            cases.append((x, form.nearest(y)))
        elif name in BINARY:
            x = form.number(bits) if kind == 0 else form.nearest(spread)
            y = form.number(chosen.getrandbits(form.width)) if kind == 0 else spread * chosen.uniform(-4, 4)
            cases.append((x, form.nearest(y if kind != 2 else math.ldexp(sign, chosen.randint(-40, 40)))))
        elif kind == 0:
            cases.append((form.number(bits),))
        elif kind == 1:
            limit = WIDE.get(name, RANGES.get(name, 8))
            cases.append((form.nearest(chosen.uniform(-limit, limit)),))
        elif kind == 2:
            cases.append((form.nearest(1 + spread if name in ("log", "log2", "log10", "acosh") else spread),))
        elif name in ("sin", "cos", "tan"):
            multiple = gmpy2.const_pi() / 2 * chosen.randint(1, 1 << chosen.randint(1, 45))
            cases.append((form.nearest(float(multiple)),))
        else:
            cases.append((form.nearest(sign * math.ldexp(chosen.uniform(1, 2), chosen.randint(-6, 2))),))
    return [case for case in cases if all(number == number for number in case)]


def exact(name, numbers):
    """Like `value`; for powers that are far out of range, what they round to."""
    if name == "pow" and numbers[0] not in (0, 1, -1) and 1e25 < abs(numbers[1]) < math.inf:
        if numbers[0] < 0 or math.isinf(numbers[0]):
            return None
        return mpfr("inf") if (numbers[0] > 1) == (numbers[1] > 0) else mpfr(0)
    return value(name, numbers)


def error(form, found, wanted):
    if gmpy2.is_nan(wanted) or math.isnan(found):
        return 0.0 if gmpy2.is_nan(wanted) and math.isnan(found) else math.inf
    if wanted == 0 or gmpy2.is_infinite(wanted):
        same = found == wanted and math.copysign(1, found) == (-1 if gmpy2.is_signed(wanted) else 1)
        return 0.0 if same else math.inf
    limit = mpfr(2) ** form.most
    found = mpfr(math.copysign(1, found)) * limit if math.isinf(found) else mpfr(found)
    if abs(wanted) > limit:
        wanted = limit if wanted > 0 else -limit
    unit = max(gmpy2.get_exp(wanted if abs(wanted) < limit else limit / 2) - form.digits, form.least)
    return float(abs(found - wanted) / mpfr(2) ** unit)


def main():
    gmpy2.get_context().precision = PRECISION
    gmpy2.get_context().emin, gmpy2.get_context().emax = -(1 << 30), 1 << 30
    program, points = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    worst = 0.0
    for name in sys.argv[3:] or FUNCTIONS:
        for form in (F64, F32) if name in BINARY else (F64,):
            cases = inputs(name, form, points)
            data = b"".join(form.bits(number).to_bytes(form.width // 8, "little") for case in cases for number in case)
            run = subprocess.run([program, "evaluate", name, form.name], input=data, capture_output=True, check=True)
            size = form.width // 8
            found = [form.number(int.from_bytes(run.stdout[at : at + size], "little"))
                     for at in range(0, len(run.stdout), size)]
            errors = sorted(((error(form, result, wanted), case, result)
                             for case, result in zip(cases, found, strict=True)
                             if (wanted := exact(name, case)) is not None), key=lambda found: found[0])
            worst = max(worst, errors[-1][0])
            print(f"{name} {form.name}: {len(errors)} inputs, largest error {errors[-1][0]:.4f} ulp of "
                  f"{errors[-1][1]} ({errors[-1][2]!r}), next {errors[-2][0]:.4f}", flush=True)
    sys.exit(worst >= 1)


if __name__ == "__main__":
    main()
