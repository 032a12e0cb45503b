"""A thousand endpoints from one process to one worker and to 50 workers of another: half of genuine
UCX's time to create them and memory per endpoint, created and connected, at most; and half of its
time until each has sent its first message. When a library connects, at creation or at the first
message, is its affair: so the time that counts is that of both together."""
import os
import subprocess

import where

# What the program prints, the name of the row, its unit, and its bar; 0: shown only.
ROWS = [("create", "creation", "us", 2.0), ("sum", "creation and first message", "us", 2.0),
        ("contact", "first message", "us", 0), ("created", "memory created", "B", 2.0),
        ("connected", "memory connected", "B", 2.0), ("served", "memory of the peer", "B", 0)]
COUNT = 1000


def build(folder):
    program = os.path.join(folder, "endpoints")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "endpoints.c")
    include = os.path.join(os.path.dirname(where.GENUINE), "include")
    subprocess.run(["gcc", "-O2", "-I", include, "-o", program, source, "-L", where.GENUINE,
                    "-Wl,--allow-shlib-undefined", "-lucp", "-lucs"], check=True)
    return program


def run(program, lib, tls, workers):
    """One run: values by name, or None."""
    try:
        ran = subprocess.run([program, str(COUNT), str(workers)], env=where.environ(lib, tls),
                             capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return None
    values = {name: float(value) for name, value in (line.split() for line in ran.stdout.splitlines())}
    return values if ran.returncode == 0 else None


def all_rows(table, options, sides, folder, alternate):
    program = None
    for tls in options.tls.split(","):
        for workers in (1, 50):
            group = f"{tls} 1000 endpoints to {workers}"
            if options.cases not in f"{group}: endpoints":
                continue
            program = program or build(folder)
            got = alternate(min(options.rounds, 5), sides, lambda lib: run(program, lib, tls, workers))  # noqa: B023
            for key, name, unit, bar in ROWS:
                column = {side: [values[key] for values in got[side]] for side in sides}
                table.row(f"{group}: {name}", column["ours"], column["genuine"], unit, False, bar)
