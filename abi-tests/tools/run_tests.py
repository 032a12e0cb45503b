#!/usr/bin/env python3
"""Runs the test suites one after another, shows their output, and adds up what they count.

    run_tests.py test | test-clients

Each suite prints its own counts, as "12 passed, 0 failed" or, cargo's way, "12 passed; 0 failed".
A suite that fails without counting a failure, or that counts nothing at all, counts as one. The
last line is the sum: "N passed, N failed".
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CARGO = os.environ.get("CARGO", "cargo")
COUNTS = re.compile(r"(?<!\d)(\d+) passed[,;] (\d+) failed")

CLIENTS = [sys.executable, "abi-tests/clients/run.py"]
# Tests of what is rare, which a build with overflow checks and debug assertions goes through too.
FAULTS = ["--full", "--only", "capi ", "--only", "stages and", "--only", "rails", "--only", "put_zcopy"]

# name, command, limit in seconds. All of "test" together stays under 25 minutes on a machine that
# does nothing else; the limits are for busy ones.
SUITES = {
    "test": [
        ("crate", [CARGO, "test"], 1500),
        ("loader", [sys.executable, "abi-tests/loader/run.py"], 300),
        ("services", [sys.executable, "abi-tests/services/run.py"], 300),
        ("memory", [sys.executable, "abi-tests/memory/run.py"], 300),
        ("cuda", [sys.executable, "abi-tests/cuda/run.py"], 600),
        ("clients", [*CLIENTS, "--smoke"], 1800),
    ],
    "test-clients": [
        ("memory", [sys.executable, "abi-tests/memory/run.py", "--long"], 900),
        ("cuda", [sys.executable, "abi-tests/cuda/run.py", "--long"], 4000),
        ("clients", [*CLIENTS, "--full"], 6 * 3600),
        ("checked build", [*CLIENTS, "--lib", "build/checked/lib", *FAULTS], 3 * 3600),
        ("threads", [sys.executable, "abi-tests/tsan/run.py"], 3600),
    ],
}


def run(command, limit):
    """Runs one suite: its exit code (None: out of time) and (passed, failed)."""
    passed = failed = 0
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    out_of_time = threading.Event()

    def stop():
        out_of_time.set()
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(limit, stop)
    timer.start()
    try:
        for line in process.stdout:
            print(line, end="", flush=True)
            counts = COUNTS.search(line)
            if counts:
                passed += int(counts[1])
                failed += int(counts[2])
        code = process.wait()
    finally:
        timer.cancel()
    return None if out_of_time.is_set() else code, passed, failed


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in SUITES:
        sys.exit(__doc__)
    total_passed = total_failed = 0
    summary = []
    for name, command, limit in SUITES[sys.argv[1]]:
        print(f"==== {name}: {' '.join(command)}", flush=True)
        start = time.monotonic()
        code, passed, failed = run(command, limit)
        note = ""
        if code is None:
            note = f", stopped after {limit} s"
        elif code != 0:
            note = f", exit {code}"
        elif not passed + failed:
            note = ", counted nothing"
        if note and not failed:
            failed = 1
        summary.append(
            f"{name}: {passed} passed, {failed} failed{note} ({time.monotonic() - start:.0f} s)"
        )
        total_passed += passed
        total_failed += failed
    print("====")
    print("\n".join(summary))
    print(f"{total_passed} passed, {total_failed} failed")
    sys.exit(1 if total_failed else 0)


if __name__ == "__main__":
    main()
