#!/usr/bin/env python3
"""Sums of f32 numbers in the order of the manual's page on reductions, with nothing but Python.

sum_order.py <FILE     the sum of numbers given by their bits, a line of 8 hexadecimal digits each
sum_order.py --cases   count, seed, sum and digest of the running sums: conformance/golden/sum_order.txt
"""

import struct
import sys


def f32(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def add(a, b):  # a sum of two f32 in f64, rounded again, is the sum rounded once
    return struct.unpack("<f", struct.pack("<f", a + b))[0]


def total(x):
    while len(x) > 1:
        x = [segment(x[at : at + 16384]) for at in range(0, len(x), 16384)]
    return add(0.0, x[0]) if x else 0.0


def segment(x):
    lanes = x[:1024]
    for k in range(1024, len(x)):
        lanes[k % 1024] = add(lanes[k % 1024], x[k])
    while len(lanes) > 1:
        lanes = pairs(lanes) + lanes[len(lanes) & ~1 :]
    return lanes[0]


def pairs(x):
    return [add(x[at], x[at + 1]) for at in range(0, len(x) - 1, 2)]


def running(x):
    blocks = [x]  # blocks[j][i] is the total of the elements i * 2**j to (i + 1) * 2**j
    while len(blocks[-1]) > 1:
        blocks.append(pairs(blocks[-1]))
    for k, element in enumerate(x):
        before, at = 0.0, 0
        for j in reversed(range(len(blocks))):
            if k >> j & 1:
                before, at = add(before, blocks[j][at >> j]), at + (1 << j)
        yield add(before, element)


def numbers(count, seed):  # either sign, 2^-15 to 2^17
    for _ in range(count):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        yield f32((seed >> 32 & 0x807FFFFF) + (112 + (seed >> 55 & 31) << 23))


def cases():
    counts = [0, 1, 2, 3, 7, 1000, 1023, 1024, 1025, 3000, 16383, 16384, 16385, 50000, 300001]
    for seed, count in enumerate(counts):
        x = list(numbers(count, seed))
        digest = 0
        for value in running(x):
            digest = (digest * 31 + bits(value)) % 2**32
        print(f"{count} {seed} {bits(total(x)):08x} {digest:08x}")


if sys.argv[1:] == ["--cases"]:
    cases()
else:
    print(f"{bits(total([f32(int(line, 16)) for line in sys.stdin])):08x}")
