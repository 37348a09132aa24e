#!/usr/bin/env bash
# Is host memory used only while it may be? Runs the tests of the simulator, the CPU and the core under AddressSanitizer, then two
# planted bugs that it must report. The simulator defers copies and dereferences the host's own pointers, so misuse shows.
set -euo pipefail
cd "$(dirname "$0")/.."

target=x86_64-unknown-linux-gnu
if [ "$(rustc -vV | sed -n 's/^host: //p')" != "$target" ]; then
    echo "asan: only $target is supported; the other checks do not depend on this one" >&2
    exit 1
fi

# The sanitizer's flag is not stable. Leaks are not looked for: after a wait of unknown end, leaking is what is right. An
# allocation that no machine has room for answers null, as it does without the sanitizer: tests ask for some.
export RUSTC_BOOTSTRAP=1
export RUSTFLAGS="-Zsanitizer=address ${RUSTFLAGS:-}"
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
# Laws take five times as long here, and the step `tests` tries all cases.
export DEVARRAY_LAW_CASES=8
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/asan"

# Layouts, plans and functions are not tried here, nor random programs and ranks in processes: they touch no memory, or as the
# laws do.
tests=(api memory conformance faults known_bugs mock host)
cargo test --target "$target" -p devarray-mock -p devarray-host -p devarray "${tests[@]/#/--test=}"

# What each planted bug does to memory that is gone: a download writes it, an upload reads it.
for bug in "download WRITE" "upload READ"; do
    read -r copy access <<<"$bug"
    if output=$(cargo test --target "$target" -p devarray-mock --test planted_bug -- --ignored "_$copy" 2>&1); then
        echo "$output"
        echo "asan: the bug planted in a copy ($copy) went unnoticed" >&2
        exit 1
    fi
    if ! grep -q "AddressSanitizer: heap-use-after-free" <<<"$output" || ! grep -q "^$access of size" <<<"$output"; then
        echo "$output"
        echo "asan: the bug planted in a copy ($copy) failed, but was not reported as a use after free" >&2
        exit 1
    fi
    echo "asan: the bug planted in a copy ($copy) was reported:"
    grep -m 1 "AddressSanitizer: heap-use-after-free" <<<"$output"
done
echo "asan: tests are clean, and both planted bugs were reported"
