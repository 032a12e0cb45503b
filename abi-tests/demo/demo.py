#!/usr/bin/env python3
"""An unmodified OpenMPI 4.1.4 (Debian's binary package) over our libraries.

Builds one MPI program with Debian's mpicc, runs it over shared memory and over TCP on our libraries
and on genuine UCX 1.22.0, and prints which library files a rank had mapped, and the latencies.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OURS = ROOT / "build/lib"
GENUINE = Path(os.environ.get("UCX_RS_DEPS", ROOT / ".deps")) / "libucx/lib"
TRANSPORTS = {"shared memory": "self,sm", "TCP": "self,tcp"}
PAIRS = 3


def mpirun(program, libdir, tls, ranks, *args):
    """Runs the program over pml ucx; its output. Exits with what went wrong."""
    command = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks)]
    for name, value in {
        "plm": "isolated",
        "pml": "ucx",
        "pml_ucx_tls": "any",
        "pml_ucx_devices": "any",
    }.items():
        command += ["-mca", name, value]
    command += ["-x", "LD_LIBRARY_PATH", "-x", "UCX_TLS", str(program), *args]
    env = {key: value for key, value in os.environ.items() if not key.startswith("UCX_")}
    env |= {"LD_LIBRARY_PATH": str(libdir), "UCX_TLS": tls}
    try:
        result = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=300, check=False
        )
    except subprocess.TimeoutExpired as timeout:
        sys.exit(f"FAILED: {tls}, {ranks} ranks, {libdir}: no end after {timeout.timeout} s")
    if result.returncode != 0:
        sys.exit(
            f"FAILED: {tls}, {ranks} ranks, {libdir}: exit {result.returncode}\n"
            f"{result.stdout}{result.stderr}"
        )
    return result.stdout


def mapped(output):
    return re.findall(r"^mapped (\S+)", output, re.M)


def prove_ours(output):
    """Fails when a file with UCX's names is mapped that isn't ours."""
    files = mapped(output)
    if not files or any(Path(file).parent != OURS for file in files):
        sys.exit(f"FAILED: not only our libraries are mapped: {files}")


def latencies(program, tls):
    """size -> (ours, genuine): medians of alternated runs, in microseconds."""
    found = {}
    for _ in range(PAIRS):
        for column, libdir in enumerate((OURS, GENUINE)):
            output = mpirun(program, libdir, tls, 2, "-l")
            for size, us in re.findall(r"^latency (\d+) ([\d.]+)", output, re.M):
                found.setdefault(int(size), ([], []))[column].append(float(us))
    return {size: [statistics.median(side) for side in sides] for size, sides in found.items()}


def main():
    print("MPI:           ", subprocess.getoutput("mpirun.openmpi --version").splitlines()[0])
    proof = None
    tables = {}
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "ring"
        build = ["mpicc.openmpi", "-O2", str(HERE / "ring.c"), "-o", str(program)]
        subprocess.run(build, check=True)
        for name, tls in TRANSPORTS.items():
            for ranks in (2, 4):
                output = mpirun(program, OURS, tls, ranks)
                prove_ours(output)
                proof = mapped(output)
                print(f"{name + ':':15}", re.search(r"^ring .*", output, re.M)[0])
        for name, tls in TRANSPORTS.items():
            tables[name] = latencies(program, tls)
    print("\nFiles of UCX that a rank had mapped (/proc/PID/maps):")
    for file in proof:
        print("   ", file)
    for name, table in tables.items():
        print(f"\nMPI latency over {name}, microseconds (median of {PAIRS} alternated runs):")
        print(f"    {'bytes':>8} {'ours':>9} {'genuine':>9} {'genuine/ours':>13}")
        for size, (ours, genuine) in sorted(table.items()):
            print(f"    {size:8} {ours:9.2f} {genuine:9.2f} {genuine / ours:13.2f}")


if __name__ == "__main__":
    main()
