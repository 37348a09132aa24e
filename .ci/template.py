#!/usr/bin/env python3
"""Builds the template backend as a stranger would: from the crates as they would be published, not from this tree's folders.

    template.py          # with one of these features
    template.py --all    # with each

Expects `target/package` as `cargo package --workspace` or `cargo publish --workspace --dry-run` leaves it. The template keeps every law; with each of its features
named `broken-…` it breaks the law that its README names for it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
PACKAGES = ["devarray-layout", "devarray-function", "devarray-order", "devarray-product", "devarray", "devarray-conformance"]
ROW = re.compile(r"^\| `(broken-[a-z-]+)` \| `([a-z_:]+)` \|$", re.M)


def unpacked(name, to):
    """The folder of a packaged crate, unpacked anew from its archive."""
    # `cargo publish` keeps them in a folder of its own, `cargo package` beside the unpacked ones.
    archives = (TARGET / "package").rglob(f"{name}-*.crate")
    archive = min((path for path in archives if path.stem[len(name) + 1].isdigit()), default=None)
    if archive is None:
        sys.exit(f"template: no archive of {name} in {TARGET / 'package'}; `cargo package --workspace` makes them")
    shutil.unpack_archive(archive, to, format="gztar")
    return to / archive.stem


def main():
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        shutil.copytree(ROOT / "conformance/template", scratch / "template", ignore=shutil.ignore_patterns("target"))
        patches = [f'--config=patch.crates-io.{name}.path="{unpacked(name, scratch)}"' for name in PACKAGES]

        def test(*features):
            command = ["cargo", "test", "--quiet", "--test", "suite", *patches, *(f"--features={f}" for f in features)]
            env = {**os.environ, "CARGO_TARGET_DIR": str(TARGET / "template")}
            done = subprocess.run(command, cwd=scratch / "template", env=env, capture_output=True, text=True, check=False)
            if "test result:" not in done.stdout:
                sys.exit(f"template: the suite did not run:\n{done.stdout}{done.stderr}")
            return set(re.findall(r"^---- ([a-z_:]+) stdout ----$", done.stdout, re.M))

        if broken := test():
            sys.exit(f"template: laws do not hold: {broken}")
        ways = ROW.findall((ROOT / "conformance/template/README.md").read_text())
        wrong = 0
        tried = ways if "--all" in sys.argv[1:] else ways[:1]
        for feature, law in tried:
            broken = test(feature)
            wrong += law not in broken
            print(f"{'told by' if law in broken else 'NOT TOLD BY'} {law}, and {len(broken)} laws in all: {feature}", flush=True)
    print(f"template: every law holds; broken in {len(tried)} of {len(ways)} ways, {wrong} not told")
    return 1 if wrong or len(ways) < 5 else 0


if __name__ == "__main__":
    sys.exit(main())
