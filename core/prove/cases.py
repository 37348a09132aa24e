#!/usr/bin/env python3
"""Writes core/tests/elementary/{f32,f64}.txt: inputs and correctly rounded results, by MPFR.

    cargo run --release -- --list > found.txt      # all inputs: minutes a function
    pip install gmpy2 && python3 cases.py found.txt

found.txt, which may be absent, adds the inputs whose values are nearest to a middle between two f32.
A line is `NAME INPUT... RESULT`, bits in hexadecimal.
"""

import math
import random
import struct
import sys
from pathlib import Path

import gmpy2
from gmpy2 import mpfr

PRECISION = 400
FUNCTIONS = {
    name: getattr(gmpy2, name)
    for name in "cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh "
    "asinh acosh atanh erf erfc atan2 hypot".split()
}
FUNCTIONS["pow"] = lambda x, y: x**y
BINARY = {"atan2", "hypot", "pow"}
HARDEST = 40

SPECIAL = [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 100.0, math.inf]
SPECIAL_F32 = [2.0**-149, 2.0**-126, 2.0**-60, 2.0**-25, 2.0**-24, 2.0**-12, 88.72283, 88.72284, 103.97207, 103.97208,
               89.41598, 89.415985, 127.99999, 128.0, 149.0, 149.99998, 150.0, 10.05446, 10.054469, 17592186044416.0,
               17592182898688.0, 1e22, 2.0**127, 3.4028234663852886e38]
SPECIAL_F64 = [5e-324, 2.0**-1022, 2.0**-600, 2.0**-54, 2.0**-53, 2.0**-28, 709.782712893384, 709.7827128933841,
               745.1332191019411, 745.1332191019412, 710.4758600739439, 710.475860073944, 1023.9999999999999, 1024.0,
               1074.0, 1074.5, 1075.0, 26.543258454250988, 27.226017111108366, 1073741824.0, 1073741825.0, 1e22,
               6381956970095103.0 * 2.0**797, 1.7976931348623157e308]
# The part of the line in which a function does most.
RANGES = {"asin": 1, "acos": 1, "atanh": 1, "erf": 4, "erfc": 10, "exp": 80, "sinh": 80, "cosh": 80, "exp2": 120,
          "tanh": 5}


class Format:
    def __init__(self, name, code, bits, digits, least, most):
        self.name, self.code, self.width, self.digits = name, code, bits, digits
        self.least, self.most = least, most
        self.integer = {32: "I", 64: "Q"}[bits]

    def number(self, bits):
        return struct.unpack("<" + self.code, struct.pack("<" + self.integer, bits))[0]

    def nearest(self, number):
        try:
            return struct.unpack("<" + self.code, struct.pack("<" + self.code, number))[0]
        except OverflowError:
            return math.copysign(math.inf, number)

    def bits(self, number):
        if number != number:
            return {32: 0x7FC00000, 64: 0x7FF8000000000000}[self.width]
        return struct.unpack("<" + self.integer, struct.pack("<" + self.code, number))[0]

    def text(self, number):
        return f"{self.bits(number):0{self.width // 4}x}"

    def rounded(self, value):
        """To nearest even, once, subnormals included."""
        if not gmpy2.is_finite(value) or value == 0:
            return float(value)
        unit = max(gmpy2.get_exp(value) - self.digits, self.least)
        rounded = gmpy2.rint(value / mpfr(2) ** unit) * mpfr(2) ** unit
        limit = mpfr(2) ** self.most
        if abs(rounded) >= limit:
            return math.inf if rounded > 0 else -math.inf
        return math.copysign(float(rounded), -1.0 if gmpy2.is_signed(value) else 1.0)


F32 = Format("f32", "f", 32, 24, -149, 128)
F64 = Format("f64", "d", 64, 53, -1074, 1024)


def value(name, arguments):
    if name == "pow":
        x, y = arguments
        if y == 0 or x == 1 or (x == -1 and math.isinf(y)):
            return mpfr(1)
    return FUNCTIONS[name](*map(mpfr, arguments))


def unary(name, form, hard):
    chosen = random.Random(f"{name} {form.name}")
    inputs = list(SPECIAL)
    inputs += [form.nearest(number) for number in (SPECIAL_F32 if form is F32 else SPECIAL_F64)]
    inputs += [form.number(bits) for bits in hard]
    limit = RANGES.get(name, 8)
    inputs += [form.nearest(chosen.uniform(0, limit)) for _ in range(16)]
    inputs += [form.nearest(math.ldexp(chosen.uniform(1, 2), chosen.randint(-30, 2))) for _ in range(12)]
    inputs += [form.number(chosen.getrandbits(form.width - 1)) for _ in range(8)]
    inputs = [number for number in inputs if number == number]
    return [(number,) for number in inputs] + [(-number,) for number in inputs] + [(math.nan,)]


def binary(name, form):
    chosen = random.Random(f"{name} {form.name}")
    some = [0.0, 0.5, 1.0, 2.0, 3.0, math.inf, form.number(1), -1.0, -2.5, -3.0, -math.inf, -0.0, math.nan]
    pairs = [(x, y) for x in some for y in some]
    for _ in range(40):
        x = form.nearest(math.ldexp(chosen.uniform(1, 2), chosen.randint(-40, 40)))
        y = form.nearest(chosen.uniform(-1, 1) * (form.most / math.log2(x) if name == "pow" else 4 * x))
        pairs.append((x, y))
    return pairs


def main():
    gmpy2.get_context().precision = PRECISION
    gmpy2.get_context().emin, gmpy2.get_context().emax = -(1 << 30), 1 << 30
    found = {}
    for line in Path(sys.argv[1]).read_text().splitlines() if len(sys.argv) > 1 else []:
        words = line.split()
        if len(words) == 2 and words[1].startswith("0x"):
            found.setdefault(words[0], []).append(int(words[1], 16) & 0x7FFFFFFF)
    folder = Path(__file__).resolve().parent.parent / "tests" / "elementary"
    folder.mkdir(exist_ok=True)
    for form in (F32, F64):
        lines = []
        for name in FUNCTIONS:
            hard = nearest_to_a_middle(name, sorted(set(found.get(name, [])))) if form is F32 else []
            cases = binary(name, form) if name in BINARY else unary(name, form, hard)
            for case in dict.fromkeys(tuple(form.text(number) for number in case) for case in cases):
                numbers = [form.number(int(bits, 16)) for bits in case]
                lines.append(" ".join([name, *case, form.text(form.rounded(value(name, numbers)))]))
        (folder / f"{form.name}.txt").write_text("\n".join(lines) + "\n")
        print(f"{form.name}: {len(lines)} cases")


def nearest_to_a_middle(name, inputs):
    def distance(bits):
        exact = value(name, [F32.number(bits)])
        if not gmpy2.is_finite(exact) or exact == 0:
            return 1.0
        scaled = exact / mpfr(2) ** max(gmpy2.get_exp(exact) - 24, -149)
        return float(abs(scaled - gmpy2.floor(scaled) - mpfr(0.5)))

    return sorted(inputs, key=distance)[:HARDEST]


if __name__ == "__main__":
    main()
