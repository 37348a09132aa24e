#!/usr/bin/env python3
"""Follows the manual's first chapter as a reader would: writes its files and runs its commands, in order, in an empty folder.

A comment `<!-- chapter: STEP -->` before each fenced block of the page says what the reader does with it:

    run             types each line; `cd` carries over to later lines
    file PATH       writes the block to PATH
    change PATH     replaces the line after `-` by the line after `+`, which must be there once
    prints          finds each line in the output of the commands before, in this order; `…` alone skips any lines
    workflow PATH   writes the block to PATH; a machine for CI runs its `- run:` lines, but for those that fetch

The folder holds a link to this checkout. It has the same name in each run, so that cargo finds in CARGO_TARGET_DIR what an
earlier run built. New packages begin with the versions of this checkout's Cargo.lock.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "core/src/manual/a_numeric_library.md"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
FOLDER = Path(tempfile.gettempdir(), "devarray-chapter-" + hashlib.sha256(bytes(ROOT)).hexdigest()[:12])
BLOCK = re.compile(r"(?:^<!-- chapter: (\w+)(?: (\S+))? -->\n)?^```[\w,]*\n(.*?)^```$", re.M | re.S)
FETCH = ("git clone", "rustup")
# The profile of this checkout, so that it shares builds of other packages with the chapter.
ENVIRONMENT = {**os.environ, "CARGO_TARGET_DIR": str(TARGET), "CARGO_PROFILE_DEV_DEBUG": "false", "CARGO_TERM_COLOR": "never"}


class Reader:
    def __init__(self, folder):
        self.at = folder
        self.output = ""

    def run(self, _, text):
        self.output = ""
        for line in text.splitlines():
            self.type(line)

    def type(self, line):
        began = time.monotonic()
        script = f"set -euo pipefail\n{line}\npwd >&3"
        read, write = os.pipe()
        done = subprocess.run(["bash", "-c", f"exec 3>&{write}\n{script}"], cwd=self.at, env=ENVIRONMENT, pass_fds=[write],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        os.close(write)
        with os.fdopen(read) as told:
            place = told.read().strip()
        print(f"{time.monotonic() - began:6.1f} s  {line}", flush=True)
        if done.returncode:
            sys.exit(f"chapter: status {done.returncode} of `{line}`:\n{done.stdout}")
        self.output += done.stdout
        self.at = Path(place)
        if (self.at / "Cargo.toml").exists() and not (self.at / "Cargo.lock").exists():
            shutil.copy(ROOT / "Cargo.lock", self.at)

    def file(self, path, text):
        (self.at / path).parent.mkdir(parents=True, exist_ok=True)
        (self.at / path).write_text(text, encoding="utf-8")

    def change(self, path, text):
        old, new = ([line[1:] for line in text.splitlines() if line[0] == side] for side in "-+")
        lines = (self.at / path).read_text(encoding="utf-8").splitlines()
        if len(old) != 1 or len(new) != 1 or lines.count(old[0]) != 1:
            sys.exit(f"chapter: a change of {path} is not one line by one that is there once:\n{text}")
        self.file(path, "\n".join(new[0] if line == old[0] else line for line in lines) + "\n")

    def prints(self, _, text):
        printed, at = self.output.splitlines(), 0
        for line in text.splitlines():
            if line.strip() == "…":
                continue
            if line not in printed[at:]:
                sys.exit(f"chapter: the output has no line {line!r} there:\n{self.output}")
            at = printed.index(line, at) + 1

    def workflow(self, path, text):
        self.file(path, text)
        for line in re.findall(r"^ *- run: (.*)$", text, re.M):
            if not line.startswith(FETCH):
                self.type(line)


def main():
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    if unmarked := [text for step, _, text in blocks if step not in ("run", "file", "change", "prints", "workflow")]:
        sys.exit(f"chapter: nobody follows this block:\n{unmarked[0]}")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    try:
        (FOLDER / "devarray").symlink_to(ROOT)
        reader = Reader(FOLDER)
        began = time.monotonic()
        for step, path, text in blocks:
            getattr(reader, step)(path, text)
        print(f"chapter: {len(blocks)} blocks in {time.monotonic() - began:.0f} s")
    finally:
        shutil.rmtree(FOLDER)


if __name__ == "__main__":
    main()
