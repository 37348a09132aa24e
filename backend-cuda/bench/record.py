#!/usr/bin/env python3
"""Runs benches and checks on this machine's card and records what they print, for pages.py to make tables of.

    record.py --commit 1234abc copy large awkward middle joins overhead transfer compute picked    # benches, by name
    record.py --commit 1234abc --seed 7 drawn            # 200 shapes drawn anew
    record.py --commit 1234abc suite golden tiles        # checks, by name
    record.py --commit 1234abc --output FILE copy        # what such a command printed elsewhere (needs --device, --driver, --date)
    record.py --list

Benches go to recorded/CARD/NAME.jsonl, checks to a line of recorded/CARD/checks.jsonl. CARD is h100 on an NVIDIA H100.
It runs target/release/devarray and the test programs that `cargo test --release --no-run` puts into target/release/deps;
`--programs FOLDER` takes both from another folder. Needs Python alone.
"""

import argparse
import datetime
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import calls
import hard
import shapes
from checks import CHECKS, summary
from records import FOLDER, mean, read_lines

ROOT = Path(__file__).resolve().parents[2]
BENCHES = {
    "copy": "bench copy --backend cuda --json",
    **{name: f"bench copy --backend cuda --json $(python3 backend-cuda/bench/shapes.py {name})" for name in (*shapes.lists(), "drawn")},
    "joins": "bench joins --backend cuda --json",
    "compute": "bench compute --backend cuda --json",
    "hard": "bench compute --backend cuda --json $(python3 -c 'import hard; print(*hard.CASES)')",
    "calls": "bench call --backend cuda --json $(python3 -c 'import calls; print(*(case.ours for case in calls.CASES))')",
    "transfer": "bench transfer --backend cuda --json",
    "overhead": "bench overhead --backend cuda --json",
}
# Benches that are ignored tests of `backend-cuda/tests/card.rs`.
TESTED = {"picked": "hardware_gathers::speeds"}


def program(folder, name):
    """The newest program of a name, with or without the hash that cargo puts behind it."""
    named = re.compile(re.escape(name) + r"(-[0-9a-f]{16})?$")
    found = [path for place in (folder, folder / "deps") if place.is_dir() for path in place.iterdir() if named.match(path.name)]
    if not found:
        raise SystemExit(f"{folder}: no program {name}")
    return str(max(found, key=lambda path: path.stat().st_mtime).resolve())


def arguments_of(name, folder, seed):
    """The command of a run: environment, words, folder to run in."""
    if name in TESTED:
        return {}, [program(folder, "card"), "--ignored", "--nocapture", "--exact", TESTED[name]], ROOT / "backend-cuda"
    if name in BENCHES:
        words = BENCHES[name].split(" $(")[0].split()
        if name in shapes.lists():
            words += shapes.lists()[name]
        if name == "hard":
            words += hard.CASES
        if name == "calls":
            words += [case.ours for case in calls.CASES]
        if name == "drawn":
            words += shapes.drawn(seed)
        return {}, [program(folder, "devarray"), *words], ROOT
    check = CHECKS[name]
    words = shlex.split(check.command)
    variables = {}
    while "=" in words[0]:
        variable, value = words.pop(0).split("=", 1)
        variables[variable] = value
    if check.test:
        return variables, [program(folder, check.test), *words[words.index("--") + 1 :]], ROOT / "backend-cuda"
    if words[0] == "devarray":
        words[0] = program(folder, "devarray")
    return variables, words, ROOT


def machine(arguments):
    """Device, driver and date, asked of the driver where they are not given."""
    device, driver = arguments.device, arguments.driver
    if not (device and driver):
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        first = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0]
        device, driver = (part.strip() for part in first.split(","))
    date = arguments.date or datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return {"device": device, "driver": driver, "date": date, "commit": arguments.commit}


def run(name, arguments):
    """The command's output, its status, its seconds."""
    if arguments.output:
        return Path(arguments.output).read_text(encoding="utf-8"), arguments.status, None
    variables, words, folder = arguments_of(name, Path(arguments.programs), arguments.seed)
    began = time.monotonic()
    try:
        done = subprocess.run(words, cwd=folder, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=arguments.seconds, check=False)
    except subprocess.TimeoutExpired as late:
        printed = late.stdout or b""
        text = printed.decode(errors="replace") if isinstance(printed, bytes) else printed
        return text + f"\nended after {arguments.seconds:.0f} s\n", 124, time.monotonic() - began
    return done.stdout, done.returncode, time.monotonic() - began


def record_bench(folder, name, header, text, seed):
    if name in TESTED:
        command = f"cargo test --release -p devarray-cuda --test card -- --ignored --nocapture --exact {TESTED[name]}"
    else:
        command = "devarray " + BENCHES[name].replace("shapes.py drawn", f"shapes.py drawn --seed {seed}")
    lines = [line for line in text.splitlines() if line.startswith("{")]
    if not lines:
        raise SystemExit(f"{name}: no line was printed\n{text[-2000:]}")
    header = {"run": {"command": command, **header}}
    (folder / f"{name}.jsonl").write_text("\n".join([json.dumps(header), *lines]) + "\n", encoding="utf-8")
    ratios = [ratio for line in map(json.loads, lines) if (ratio := line.get("ratio"))]
    lowest = min(ratios, default=float("nan"))
    print(f"{name}: {len(lines)} lines, geometric mean {mean(ratios):.4f}, lowest {lowest:.3f}", flush=True)


def record_check(card, folder, name, header, text, status, seconds):
    check = CHECKS[name]
    line = {"name": name, "what": check.what, "command": check.command, "result": summary(text), "passed": status == 0}
    line |= {"seconds": seconds and round(seconds, 1), **header}
    others = [other for other in read_lines(card, "checks") if other["name"] != name]
    lines = [json.dumps(each, ensure_ascii=False) for each in [*others, line]]
    (folder / "checks.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{name}: status {status}, {line['result']}", flush=True)
    if status:
        print(text[-3000:], file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="print every name and its command")
    parser.add_argument("--commit", help="what the programs were built from")
    parser.add_argument("--programs", default=str(ROOT / "target/release"))
    parser.add_argument("--seconds", type=float, default=600, help="after which a command is ended")
    parser.add_argument("--seed", type=int, default=shapes.DRAWN_SEED, help="of the list `drawn`")
    parser.add_argument("--output", help="what the command printed elsewhere")
    parser.add_argument("--status", type=int, default=0, help="and how it ended")
    parser.add_argument("--device")
    parser.add_argument("--driver")
    parser.add_argument("--date")
    arguments = parser.parse_args()
    if arguments.list:
        for name, command in [*BENCHES.items(), *TESTED.items(), *((name, check.command) for name, check in CHECKS.items())]:
            print(f"{name:<12}{command}")
        return
    unknown = [name for name in arguments.names if name not in BENCHES and name not in TESTED and name not in CHECKS]
    if unknown or not arguments.names or not arguments.commit or (arguments.output and len(arguments.names) > 1):
        parser.error(f"no such run: {unknown[0]}" if unknown else "name runs and their commit; --output takes one name")
    header = machine(arguments)
    card = re.search(r"\b[A-Z]+\d+\w*", header["device"])[0].lower()
    folder = FOLDER / card
    folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names:
        text, status, seconds = run(name, arguments)
        if name in BENCHES or name in TESTED:
            record_bench(folder, name, header, text, arguments.seed)
        else:
            record_check(card, folder, name, header, text, status, seconds)


if __name__ == "__main__":
    main()
