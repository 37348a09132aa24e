#!/usr/bin/env python3
"""Prints cases of other shapes than the built-in list, the same ones every time, one a line.

`shapes.py large` are 64 MiB to 1 GiB: ranks 2 to 8, odd extents, all widths, slices of permutes. `shapes.py awkward` are random.
`shapes.py middle` are transposes and permutes of 4 to 50 MB, `shapes.py small` of 64 KiB to 4 MiB. `shapes.py odd` are cubes whose sides
are odd, or 2 modulo 4, of 8 to 50 MB, and tall matrices of few columns, of 16 and 100 MB. `shapes.py wide` are matrices of few rows, an odd
number of elements apart or a multiple of 16, of 16 and 100 MB. `shapes.py everyday` is what programs do with images, tables and attention.
`shapes.py drawn --seed N` are 200 shapes of rank 2 to 7 from 33 MB,
other ones for each seed: `any` in any order, `rows` whose last axis of 100 to 500 bytes stays last, `box` of short odd sides.
"""

import argparse
import math
import random

DRAWN_SEED = 20261123

LARGE = """
rank2-odd:u8:16381x16383:permute(1,0)
rank2-odd:u16:11173x12007:permute(1,0)
rank2-odd:f32:9001x7013:permute(1,0)
rank2-odd:f64:5003x6007:permute(1,0)
rank2-odd:c128:3001x4003:permute(1,0)
rank2-tall:f32:3000000x36:permute(1,0)
rank2-wide:f16:48x2500000:permute(1,0)
rank2-tall:u8:9000001x17:permute(1,0)
rank3-rgb:u8:8192x8192x3:permute(2,0,1)
rank3-planes:u8:3x8192x8192:permute(1,2,0)
rank3-rgba:u8:8192x8192x4:permute(2,0,1)
rank3-odd:f32:317x401x311:permute(2,1,0)
rank3-odd:u8:641x511x513:permute(1,2,0)
rank3-roll:f64:250x300x350:permute(1,2,0)
rank3-c128:c128:128x192x256:permute(2,0,1)
rank4-heads:f16:16x4096x32x64:permute(0,2,1,3)
rank4-odd:f32:33x65x129x127:permute(3,1,2,0)
rank4-nhwc:bf16:61x59x57x255:permute(0,3,1,2)
rank5:i32:16x24x31x40x64:permute(3,0,4,1,2)
rank6:f32:11x13x15x17x19x21:permute(5,2,0,4,1,3)
rank7:f32:8x9x10x11x12x13x14:permute(6,4,2,0,1,3,5)
rank8:f32:8x8x10x10x8x8x8x8:permute(7,5,3,1,6,4,2,0)
rank8:u16:8x8x10x10x8x8x8x9:permute(1,0,3,2,5,4,7,6)
slice-of-permute:f32:12000x10000:permute(1,0)/index(1:-1,3:-5)
slice-of-permute:f16:1000x400x600:permute(2,0,1)/index(5:595,:,1:399)
slice-of-permute:u8:900x800x700:permute(2,1,0)/index(:,7:,:-9)
slice-steps:f32:10000x16000:index(::2,5:-5)
slice-steps:f64:6000x3000x9:index(:,::3)
reversed:f32:10000x12000:flip(0,1)
reversed:u8:20000x12001:flip(1)
reversed-transpose:i16:12001x10007:permute(1,0)/flip(1)
rows-unaligned:u8:20000x16001:index(:,3:15999)
rows-short:f32:1500000x100:index(:,7:77)
rows-short:u8:1500000x300:index(:,1:203)
every3:f32:9000x9000x3:index(...,1)
inner-slice:c64:3000x4000x8:index(...,2:7)
window:f64:600x500x400:index(10:-10,10:-10,10:-10)
repeat-rows:f16:1x20000:broadcast(8000,20000)
repeat-middle:f32:4000x1x200:broadcast(4000,150,200)
"""

FORMS = """
TYPE:SQUARE:permute(1,0)
TYPE:CUBE:permute(2,1,0)
TYPE:CUBE:permute(1,2,0)
TYPE:ODD:permute(1,0)
TYPE:CUBE:permute(1,0,2)/index(:,1:-1)
"""


# Copies that programs make of images, tables, attention and fields, 1 to 200 MB each, of elements of one, two and four bytes.
EVERYDAY = """
channels-first:TYPE:64x224x224x3:permute(0,3,1,2)
channels-last:TYPE:64x3x224x224:permute(0,2,3,1)
thumbnails:TYPE:4000x32x32x3:permute(0,3,1,2)
icons:TYPE:20000x18x24x4:permute(0,3,1,2)
halved:TYPE:64x3x512x512:index(:,:,::2,::2)
one-channel:TYPE:64x512x512x3:index(...,1)
channels-reversed:TYPE:64x224x224x3:index(...,::-1)
cropped:TYPE:4000x64x64x3:index(:,8:-8,8:-8)
cropped-first:TYPE:4000x64x64x3:permute(0,3,1,2)/index(:,:,8:-8,8:-8)
mirrored:TYPE:64x3x224x224:index(...,::-1)
heads:TYPE:8x2048x16x64:permute(0,2,1,3)
keys:TYPE:8x2048x16x64:permute(0,2,3,1)
short-keys:TYPE:32x197x12x64:permute(0,2,3,1)
qkv:TYPE:4x1024x3x16x64:permute(2,0,3,1,4)
pixel-shuffle:TYPE:16x16x2x2x120x128:permute(0,1,4,2,5,3)
patches:TYPE:64x3x14x16x14x16:permute(0,2,4,3,5,1)
windows:TYPE:64x8x7x8x7x96:permute(0,1,3,2,4,5)
stereo:TYPE:20000000x2:permute(1,0)
some-columns:TYPE:400000x100:index(:,3:20)
table:TYPE:1000x40000:permute(1,0)
matrices:TYPE:100000x16x16:permute(0,2,1)
small-matrices:TYPE:1000000x7x7:permute(0,2,1)
volume:TYPE:301x401x251:permute(2,1,0)
fields:TYPE:46x62x16x39x8:permute(0,1,4,2,3)
"""


def of_size(size, count):
    """`FORMS` in several widths, each result of about `size` bytes."""
    for dtype, width in (("u8", 1), ("f16", 2), ("f32", 4), ("f64", 8)):
        side, edge = math.isqrt(size // width), round((size / width) ** (1 / 3))
        square, cube = f"{side // 8 * 8}x{side // 8 * 8}", f"{edge // 8 * 8}x{edge // 8 * 8}x{edge // 8 * 8}"
        for form in FORMS.split()[:count]:
            form = form.replace("SQUARE", square).replace("CUBE", cube).replace("ODD", f"{side | 1}x{(side | 1) - 2}")
            yield f"{size >> 10}K:{form.replace('TYPE', dtype)}"


def odd():
    """Extents in which nothing is aligned."""
    widths = (("u8", 1), ("f16", 2), ("f32", 4), ("f64", 8))
    for size in (8, 16, 32, 50):
        for dtype, width in widths:
            edge = round((size * 1000 * 1000 / width) ** (1 / 3))
            for side in (edge | 1, edge // 4 * 4 + 2):
                for order in ("2,1,0", "1,2,0"):
                    yield f"{size}M:{dtype}:{side}x{side}x{side}:permute({order})"
    for size in (16, 100):
        for dtype, width in widths:
            for columns in (36, 51, 100, 130):
                yield f"{size}M:{dtype}:{size * 1000 * 1000 // (columns * width) | 1}x{columns}:permute(1,0)"


def wide():
    """Runs that end anywhere and are longer than a tile wants to be, or shorter."""
    rows = {
        ("u8", 1): (17, 33, 77, 130, 171, 212, 253, 301, 369),
        ("f16", 2): (33, 101, 131, 199, 251),
        ("f32", 4): (33, 101, 151, 201),
        ("f64", 8): (17, 49, 101),
    }
    for size in (16, 100):
        for (dtype, width), all_rows in rows.items():
            for count in all_rows:
                columns = size * 1000 * 1000 // (count * width)
                for apart in (columns | 1, columns // 16 * 16):
                    yield f"{size}M:{dtype}:{count}x{apart}:permute(1,0)"


def awkward(count, seed=20261121):
    """Permuted, sliced, stepped and reversed arrays of any rank and width, from 48 MB."""
    draw = random.Random(seed)
    for number in range(count):
        dtype, width = draw.choice([("u8", 1), ("i16", 2), ("f32", 4), ("f64", 8), ("c128", 16)])
        rank, elements = draw.randint(2, 8), draw.randint(64 << 20, 256 << 20) // width
        weights = [draw.random() + 0.15 for _ in range(rank)]
        shape = [max(2, round(elements ** (weight / sum(weights)))) for weight in weights]
        axes = draw.sample(range(rank), rank)
        steps = [f"permute({','.join(map(str, axes))})"]
        if draw.random() < 0.5:
            items = [draw.choice([":", ":", "1:", ":-1"]) for _ in range(rank)]
            if draw.random() < 0.3:
                items[draw.randrange(rank)] = "::2"
            steps.append(f"index({','.join(items)})")
        if draw.random() < 0.3:
            steps.append(f"flip({draw.randrange(rank)})")
        yield f"awkward{number}:{dtype}:{'x'.join(map(str, shape))}:{'/'.join(steps)}"


def drawn(seed, count=200):
    """Shapes of rank 2 to 7 whose base has 33 to 134 MB, and that no contiguous copy can make."""
    draw = random.Random(seed)
    found = []
    while len(found) < count:
        kind = draw.choice(["any", "any", "rows", "box"])
        dtype, width = draw.choice([("u8", 1), ("f16", 2), ("f32", 4), ("f64", 8)][: 2 if kind == "box" else 4])
        rank = draw.randint({"any": 2, "rows": 3, "box": 4}[kind], 7)
        shape = sides(draw, rank, draw.uniform(33e6, 134e6) / width)
        axes = draw.sample(range(rank), rank)
        if kind == "rows":
            shape = [*sides(draw, rank - 1, math.prod(shape) / (row := draw.randint(100, 500) // width)), row]
            axes = [*draw.sample(range(rank - 1), rank - 1), rank - 1]
        if kind == "box":
            shape = [side | 1 for side in shape]
        if axes == sorted(axes):
            continue
        steps = [f"permute({','.join(map(str, axes))})"]
        if draw.random() < 0.3:
            steps.append(f"index({','.join(draw.choice([':', ':', '1:', ':-1']) for _ in range(rank))})")
        found.append(f"{kind}{len(found)}:{dtype}:{'x'.join(map(str, shape))}:{'/'.join(steps)}")
    return found


def sides(draw, rank, elements):
    """Extents of about this many elements, none of them far longer than the others."""
    weights = [draw.random() + 0.4 for _ in range(rank)]
    return [max(2, round(elements ** (weight / sum(weights)))) for weight in weights]


def lists():
    """Every list, by name."""
    return {
        "large": LARGE.split(),
        "awkward": list(awkward(60)),
        "middle": [case for size in (4, 8, 16, 32, 50) for case in of_size(size * 1000 * 1000, 5)],
        "odd": list(odd()),
        "wide": list(wide()),
        "everyday": [case.replace("TYPE", dtype) for dtype in ("u8", "f16", "f32") for case in EVERYDAY.split()],
        "small": [case for size in (64, 256, 1024, 4096) for case in of_size(size << 10, 3)],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", nargs="*", metavar="LIST", default=list(lists()))
    parser.add_argument("--seed", type=int, default=DRAWN_SEED, help="of the list `drawn`")
    arguments = parser.parse_args()
    every = lists() | {"drawn": drawn(arguments.seed)}
    for name in arguments.lists:
        print(*every[name], sep="\n")


if __name__ == "__main__":
    main()
