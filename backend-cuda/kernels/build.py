"""Compiles the kernels, or checks that what is in the tree is what they compile to.

    python -m venv venv && venv/bin/pip install nvidia-cuda-nvrtc-cu12==12.0.140 lz4==4.4.5
    venv/bin/python backend-cuda/kernels/build.py [--check [--compile]] [MODULE...]

For each module of strided/, gathers/, products/ and orders/ it writes machine code for two generations (.cubin.lz4) and text for the
others (.ptx.lz4): one text, unless the text for 8.0 has instructions that 7.0 lacks. packing.py says how
they are compressed. Needs neither a GPU nor a driver. The compiler is pinned: another version writes
another result, and a newer one text that older drivers refuse. src/probe.rs states the oldest driver
that loads the result.

built.txt has a digest of each file and of everything it was made from. --check compares these digests, which
takes a second; with --compile it compiles again and compares the files themselves.
"""

import argparse
import ctypes
import hashlib
import importlib.util
import multiprocessing
import pathlib
import sys

import packing

HERE = pathlib.Path(__file__).resolve().parent
BUILT = HERE / "built.txt"
VERSION = (12, 0)
OPTIONS = ["--std=c++17", "-default-device"]
# Suffix: architecture.
TARGETS = {".70.ptx": "compute_70", ".80.ptx": "compute_80", ".sm_80.cubin": "sm_80", ".sm_90.cubin": "sm_90"}
NEWEST = {".90.ptx": "compute_90"}
# Texts that are compiled where they run, a kernel at a time, with a function in each.
MAPPED = {
    "products/mapped": ("product.cu", ["-DMAPPED"], [".80.ptx"]),
    "products/mapped_doubles": ("product.cu", ["-DMAPPED", "-DDOUBLES"], [".90.ptx"]),
}
ONE_TEXT = [suffix for suffix in TARGETS if suffix != ".80.ptx"]
# Module: source, definitions, suffixes.
MODULES = {
    "strided/rows": ("rows.cu", [], ONE_TEXT),
    "strided/gather": ("gather.cu", [], ONE_TEXT),
    "strided/join": ("join.cu", [], ONE_TEXT),
    "strided/fill": ("fill.cu", [], [".70.ptx"]),
    "gathers/by_index": ("by_index.cu", [], ONE_TEXT),
    "products/product": ("product.cu", [], list(TARGETS)),
    "orders/sort": ("sort.cu", [], ONE_TEXT),
    "orders/index": ("index.cu", [], ONE_TEXT),
    "orders/groups": ("groups.cu", [], ONE_TEXT),
    "orders/sparse": ("sparse.cu", [], ONE_TEXT),
    "orders/found": ("found.cu", [], ONE_TEXT),
    "orders/select": ("select.cu", [], ONE_TEXT),
} | {f"strided/tile_{width}": ("tile.cu", [f"-DELEMENT_BYTES={width}"], list(TARGETS)) for width in (1, 2, 4, 8, 16)}

# Kernels that programs declare: text for all generations, beside the source.
PROGRAMS = ["../examples/kernels", "../../conformance/kernels"]


def compiler():
    """The pinned compiler library."""
    spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
    if spec is None:
        sys.exit("build.py: install nvidia-cuda-nvrtc-cu12==12.0.140 into this Python first")
    folder = pathlib.Path(list(spec.submodule_search_locations)[0]) / "lib"
    nvrtc = ctypes.CDLL(str(folder / "libnvrtc.so.12"))
    major, minor = ctypes.c_int(), ctypes.c_int()
    check(nvrtc, nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    if (major.value, minor.value) != VERSION:
        sys.exit(f"build.py: NVRTC {major.value}.{minor.value} found, {VERSION[0]}.{VERSION[1]} needed")
    return nvrtc


def check(nvrtc, code, log=""):
    """Ends the program if the compiler answered an error."""
    if code != 0:
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        sys.exit(f"build.py: {nvrtc.nvrtcGetErrorString(code).decode()}\n{log}")


def result(nvrtc, program, what):
    """The bytes of the log ("ProgramLog"), text ("PTX") or machine code ("CUBIN") of a program."""
    size = ctypes.c_size_t()
    check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


def texts(values):
    """An array of C strings."""
    values = [value if isinstance(value, bytes) else value.encode() for value in values]
    return (ctypes.c_char_p * len(values))(*values)


def compile_source(nvrtc, source, architecture, definitions):
    """The text (ended by a zero byte) or machine code of a CUDA C++ file, for an architecture."""
    program = ctypes.c_void_p()
    headers = sorted(source.parent.glob("*.cuh"))
    contents = texts(header.read_bytes() for header in headers)
    names = texts(header.name for header in headers)
    created = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), source.read_bytes(), source.name.encode(), len(headers), contents, names
    )
    check(nvrtc, created)
    options = [f"--gpu-architecture={architecture}", *OPTIONS, *definitions]
    code = nvrtc.nvrtcCompileProgram(program, len(options), texts(options))
    check(nvrtc, code, result(nvrtc, program, "ProgramLog").decode())
    compiled = result(nvrtc, program, "CUBIN" if architecture.startswith("sm_") else "PTX")
    check(nvrtc, nvrtc.nvrtcDestroyProgram(ctypes.byref(program)))
    return compiled


def outputs():
    """Every file, the source of what it should hold, the architecture and definitions."""
    for module, (source, definitions, suffixes) in (MODULES | MAPPED).items():
        for suffix in suffixes:
            text = ["-DTEXT"] if suffix.endswith(".ptx") and module not in MAPPED else []
            source_path = (HERE / module).with_name(source)
            yield HERE / f"{module}{suffix}.lz4", source_path, (TARGETS | NEWEST)[suffix], definitions + text
    for folder in PROGRAMS:
        for source in sorted((HERE / folder).glob("*.cu")):
            yield source.with_suffix(".ptx"), source, "compute_70", []


def digests(output):
    """The line of built.txt for a file: its name, the digest of what it is made from, and of itself."""
    target, source, architecture, definitions = output
    made_from = hashlib.sha256(repr((VERSION, OPTIONS, architecture, definitions)).encode())
    for path in [source, *sorted(source.parent.glob("*.cuh"))]:
        # Lines of comment change no kernel.
        code = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("//")]
        made_from.update("\0".join([path.name, *code, ""]).encode())
    content = target.read_bytes() if target.exists() else b""
    name = target.resolve().relative_to(HERE.parent.parent).as_posix()
    return f"{name} {made_from.hexdigest()[:32]} {hashlib.sha256(content).hexdigest()[:32]}"


def compiled(output):
    """What a file should hold."""
    target, source, architecture, definitions = output
    made = compile_source(compiler(), source, architecture, definitions)
    # Without the zero behind it where it is text of a program.
    return made if target.suffix == ".lz4" else made.rstrip(b"\0")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is not current")
    parser.add_argument("--compile", action="store_true", help="with --check: compile again, do not trust digests")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="orders/sort, say; every file unless named")
    arguments = parser.parse_args()
    named = [str(HERE / module) + "." for module in arguments.modules]
    every = list(outputs())
    files = [file for file in every if not named or str(file[0]).startswith(tuple(named))]
    if arguments.check:
        known = set(BUILT.read_text().splitlines())
        for file in files:
            if digests(file) not in known:
                sys.exit(f"build.py: {file[0].name} was not made from these sources; run build.py without --check")
        if not arguments.compile:
            return
    # A process for each: the names of some locals in a text count on from what the process compiled before.
    with multiprocessing.get_context("spawn").Pool(maxtasksperchild=1) as pool:
        for (target, *_), made in zip(files, pool.imap(compiled, files, chunksize=1)):
            pack, unpack = (packing.pack, packing.unpack) if target.suffix == ".lz4" else (bytes, bytes)
            if not arguments.check:
                target.write_bytes(pack(made))
            elif unpack(target.read_bytes()) != made:
                sys.exit(f"build.py: {target.name} is not what its source compiles to; run build.py without --check")
    if not arguments.check:
        # A file that was not written keeps its line, so a source that changed since is found.
        old = {line.split()[0]: line for line in BUILT.read_text().splitlines()} if BUILT.exists() else {}
        new = {line.split()[0]: line for line in map(digests, files)}
        names = [digests(file).split()[0] for file in every]
        BUILT.write_text("".join((old | new)[name] + "\n" for name in names if name in old | new))


if __name__ == "__main__":
    main()
