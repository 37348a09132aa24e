#!/usr/bin/env python3
"""Writes the machine code of the functions that are shipped compiled, or checks it.

`functions/shipped.bin` holds the texts that the crate writes for its ready-made functions (`tests/fake/shipped.rs` lists the
calls) and what NVIDIA's assembler makes of each. At run time a text that is there word for word is loaded as machine code; any
other is compiled by the driver. So a stale file is slow and never wrong.

    python3 backend-cuda/kernels/shipped.py            writes the file
    python3 backend-cuda/kernels/shipped.py --check    fails if it is not what would be written

Needs cargo, the package lz4 (as build.py) and ptxas (`nvidia-cuda-nvcc-cu12==12.0.140`, or the path in
PTXAS).

The file begins with the number of rows. For each row follow the FNV-1a hash of its text, the length of
the text and the lengths of its machine code for each generation. Then come these texts and codes
themselves, row after row. The first row has no hash, and holds dictionaries instead: one that texts are
compressed with, and one for the code of each generation. packing.py says how, and lengths count what is
compressed. Numbers have 8 bytes, low byte first; rows are sorted by hash.
"""

import argparse
import concurrent.futures
import importlib.util
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

from packing import pack, unpack

HERE = pathlib.Path(__file__).resolve().parent
IMAGE = HERE / "functions" / "shipped.bin"
GENERATIONS = ("sm_70", "sm_80", "sm_90")
# Parts that a dictionary is made of. An LZ4 block sees its last 64 KiB: more parts do not fit, and fewer
# have less in common with the others (8 or 16 parts: 4 % more bytes; 24: 15 %; none: twice as many).
SAMPLES = 12
DUMP = "cargo test --quiet --locked -p devarray-cuda --test fake shipped_texts -- --ignored"


def assembler():
    """The pinned assembler."""
    if "PTXAS" in os.environ:
        return os.environ["PTXAS"]
    spec = importlib.util.find_spec("nvidia.cuda_nvcc")
    if spec is None:
        sys.exit("shipped.py: install nvidia-cuda-nvcc-cu12==12.0.140 into this Python first, or set PTXAS")
    return str(pathlib.Path(list(spec.submodule_search_locations)[0]) / "bin" / "ptxas")


def texts():
    """The texts that the crate writes now."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(DUMP.split(), check=True, cwd=HERE, env={**os.environ, "TEXTS": folder}, stdout=subprocess.DEVNULL)
        return sorted({path.read_bytes() for path in pathlib.Path(folder).iterdir()})


def assembled(ptxas, text):
    """The machine code of a text, for each generation."""
    with tempfile.TemporaryDirectory() as folder:
        source, code = pathlib.Path(folder) / "map.ptx", pathlib.Path(folder) / "map.cubin"
        source.write_bytes(text)
        codes = []
        for generation in GENERATIONS:
            subprocess.run([ptxas, f"-arch={generation}", "map.ptx", "-o", "map.cubin"], check=True, cwd=folder)
            codes.append(code.read_bytes())
        return codes


def fnv(text):
    """FNV-1a of 64 bits."""
    value = 0xCBF29CE484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return value


def dictionary(parts):
    """Parts of all lengths, one behind the other."""
    parts = sorted(parts, key=lambda part: (len(part), part))
    return b"".join(parts[(2 * nth + 1) * len(parts) // (2 * SAMPLES)] for nth in range(SAMPLES))[-65536:]


def packed(entries):
    """The file of texts and their machine code."""
    entries = sorted((fnv(text), [text, *codes]) for text, codes in entries)
    dictionaries = [dictionary(parts) for parts in zip(*(parts for _, parts in entries))]
    rows = [(0, [pack(part) for part in dictionaries])]
    rows += [(digest, [pack(*part) for part in zip(parts, dictionaries)]) for digest, parts in entries]
    table = [struct.pack(f"<{1 + len(parts)}Q", digest, *map(len, parts)) for digest, parts in rows]
    return b"".join([struct.pack("<Q", len(rows)), *table, *(part for _, parts in rows for part in parts)])


def unpacked(image):
    """The texts of a file and their machine code."""
    (count,) = struct.unpack_from("<Q", image)
    words = 2 + len(GENERATIONS)
    at, rows = 8 + 8 * words * count, []
    for nth in range(count):
        dictionaries, parts = rows[0] if rows else [b""] * (words - 1), []
        for length, known in zip(struct.unpack_from(f"<{words}Q", image, 8 + 8 * words * nth)[1:], dictionaries):
            parts.append(unpack(image[at : at + length], known))
            at += length
        rows.append(parts)
    return {text: codes for text, *codes in rows[1:]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the file is not current")
    arguments = parser.parse_args()
    ptxas = assembler()
    wanted = texts()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        entries = dict(zip(wanted, pool.map(lambda text: assembled(ptxas, text), wanted)))
    if not arguments.check:
        IMAGE.parent.mkdir(exist_ok=True)
        IMAGE.write_bytes(packed(entries.items()))
        print(f"{len(entries)} texts, {IMAGE.stat().st_size} bytes")
        return
    kept = unpacked(IMAGE.read_bytes())
    stale = sum(kept.get(text) != codes for text, codes in entries.items()) + len(kept.keys() - entries.keys())
    if stale:
        sys.exit(f"shipped.py: {stale} of {len(entries)} texts or their code are not in {IMAGE.name}; run it without --check")
    print(f"{len(entries)} texts are current")


if __name__ == "__main__":
    main()
