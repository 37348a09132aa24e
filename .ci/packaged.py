#!/usr/bin/env python3
"""Checks each package as it would be published: from the files of its own archive, and those of the packages it needs.

    packaged.py            # all packages together
    packaged.py --alone    # one after the other: together, one could lean on features that another asks for. Minutes more

Expects archives in `target/package`, as `cargo publish --workspace --dry-run --no-verify` leaves them. All are
unpacked into one workspace, so that common dependencies are compiled once. Nothing is linked: the tests do that.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from template import TARGET, unpacked


def names():
    """The packages of the workspace that are published."""
    told = subprocess.run(["cargo", "metadata", "--format-version=1", "--no-deps"], capture_output=True, text=True, check=True)
    return [package["name"] for package in json.loads(told.stdout)["packages"] if package["publish"] != []]


def main():
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        folders = {name: unpacked(name, scratch).name for name in names()}
        members = ", ".join(f'"{folder}"' for folder in folders.values())
        patches = "".join(f'{name} = {{ path = "{folder}" }}\n' for name, folder in folders.items())
        text = f'[workspace]\nresolver = "3"\nmembers = [{members}]\n\n[patch.crates-io]\n{patches}'
        (scratch / "Cargo.toml").write_text(text)
        env = {**os.environ, "CARGO_TARGET_DIR": str(TARGET / "packaged")}
        groups = [[name] for name in folders] if "--alone" in sys.argv[1:] else [list(folders)]
        broken = []
        for group in groups:
            command = ["cargo", "check", "--quiet", *(f"--package={name}" for name in group)]
            if subprocess.run(command, cwd=scratch, env=env, check=False).returncode:
                broken += group
    print(f"packaged: {len(folders)} packages, {f'broken: {broken}' if broken else 'all compile from their archives'}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
