"""Compiles gather.cu to gather.ptx, or checks that gather.ptx is what gather.cu compiles to.

    python -m venv venv && venv/bin/pip install nvidia-cuda-nvrtc-cu12==12.0.140
    venv/bin/python backend-cuda/kernels/build.py [--check]

Needs neither a GPU nor a driver. The compiler is pinned: another version writes another PTX, and a newer one a PTX
that older drivers refuse. src/probe.rs states the oldest driver that loads the result.
"""

import argparse
import ctypes
import importlib.util
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
VERSION = (12, 0)
OPTIONS = ["--gpu-architecture=compute_70", "--std=c++17"]


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


def text(nvrtc, program, what):
    """The log ("ProgramLog") or result ("PTX") of a program."""
    size = ctypes.c_size_t()
    check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}")(program, buffer))
    return buffer.value.decode()


def compile_ptx(nvrtc, source):
    """The PTX of a CUDA C++ source file."""
    program = ctypes.c_void_p()
    check(
        nvrtc,
        nvrtc.nvrtcCreateProgram(
            ctypes.byref(program), source.read_bytes(), source.name.encode(), 0, None, None
        ),
    )
    options = (ctypes.c_char_p * len(OPTIONS))(*(option.encode() for option in OPTIONS))
    code = nvrtc.nvrtcCompileProgram(program, len(OPTIONS), options)
    check(nvrtc, code, text(nvrtc, program, "ProgramLog"))
    ptx = text(nvrtc, program, "PTX")
    check(nvrtc, nvrtc.nvrtcDestroyProgram(ctypes.byref(program)))
    return ptx


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if gather.ptx is not current")
    arguments = parser.parse_args()
    nvrtc = compiler()
    target = HERE / "gather.ptx"
    ptx = compile_ptx(nvrtc, HERE / "gather.cu")
    if not arguments.check:
        target.write_text(ptx)
    elif not target.exists() or target.read_text() != ptx:
        sys.exit("build.py: gather.ptx is not what gather.cu compiles to; run build.py without --check")


if __name__ == "__main__":
    main()
