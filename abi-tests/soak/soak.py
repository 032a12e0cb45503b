#!/usr/bin/env python3
"""Runs an MPI program over our libraries again and again, and kills some of its ranks.

    soak.py [--minutes N]

Every round runs on other transports and numbers of ranks; every fourth one has a rank killed with
SIGKILL at a random moment after it has loaded our libraries. (Before that it connects to the
launcher, and OpenMPI 4.1's mpirun hangs in a lock of its own when a rank dies there: with `-mca pml
ob1` and no UCX at all, 6 times in 127.) After each round nothing may be left: no process, no file
in /dev/shm, no SysV segment. A round that goes on for more than two minutes has failed; where
no rank is left then, it says that it is the launcher that hangs.
"""

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "abi-tests/clients"))
import proc  # noqa: E402

LIB = ROOT / "build/lib"
LIMIT = 120
OURS = re.compile(r"ucx_shm_posix_\d+_")


def left_over():
    """Files of ours in /dev/shm (genuine UCX's have other names), and SysV segments of this user
    that no process is attached to and whose maker has gone (others may be running at the same
    time). Ours have a key; OpenMPI makes one of a page without, to see whether it can."""
    found = {f"/dev/shm/{name}" for name in os.listdir("/dev/shm") if OURS.match(name)}
    with open("/proc/sysvipc/shm", encoding="ascii") as table:
        for line in table.readlines()[1:]:
            row = line.split()
            key, maker, attached, user = int(row[0]), row[4], int(row[6]), int(row[7])
            if key and user == os.getuid() and not attached and not Path(f"/proc/{maker}").exists():
                found.add(f"segment {row[1]}")
    return found


def children(pid):
    """The processes below this one, by their ids."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        for child in (task / "children").read_text().split():
            found += [int(child), *children(int(child))]
    return found


def ranks_of(pid, program, mapped=""):
    """Those of them that run this program and have a file with this in its name mapped."""
    found = []
    for child in children(pid):
        try:
            runs = Path(f"/proc/{child}/cmdline").read_text().startswith(str(program))
            if runs and mapped in Path(f"/proc/{child}/maps").read_text():
                found.append(child)
        except OSError:
            pass  # gone meanwhile
    return found


def kill_one(pid, program):
    """Kills a rank at a random moment after it has our libraries. True if there was one."""
    library = str((LIB / "libucp.so.0").resolve())
    end = time.monotonic() + LIMIT / 2
    while not ranks_of(pid, program, library):
        if time.monotonic() > end or Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            return False
        time.sleep(0.01)
    time.sleep(random.choice((0, random.uniform(0, 0.1), random.uniform(0, 1))))
    try:
        os.kill(random.choice(ranks_of(pid, program, library)), signal.SIGKILL)
    except (IndexError, OSError):
        return False  # gone
    return True


def one_round(program, tls, ranks, kill):
    """Runs the program once. Returns what went wrong, or None."""
    command = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks)]
    command += ["-mca", "plm", "isolated", "-mca", "pml", "ucx"]
    command += ["-mca", "pml_ucx_tls", "any", "-mca", "pml_ucx_devices", "any"]
    command += ["-x", "LD_LIBRARY_PATH", "-x", "UCX_TLS", str(program), "-l"]
    env = {key: value for key, value in os.environ.items() if not key.startswith("UCX_")}
    env |= {"LD_LIBRARY_PATH": str(LIB), "UCX_TLS": tls}
    before = left_over()
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command, env=env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            if kill:
                kill = kill_one(process.pid, program)
            code = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            left = ranks_of(process.pid, program)
            return f"no end after {LIMIT} s, " + (f"ranks {left} left" if left else "the launcher's own")
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except OSError:
                pass
            process.wait()
        if code != 0 and not kill:
            log.seek(0)
            return f"exit {code}\n{log.read()}"
    time.sleep(0.2)
    left = left_over() - before
    return f"left behind: {sorted(left)}" if left else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    args = parser.parse_args()
    proc.own_shared_memory()
    end = time.monotonic() + args.minutes * 60
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "ring"
        source = ROOT / "abi-tests/demo/ring.c"
        subprocess.run(["mpicc.openmpi", "-O2", str(source), "-o", str(program)], check=True)
        while time.monotonic() < end:
            number = passed + failed
            tls = ("self,sm", "self,tcp", "self,posix", "self,sysv", "all")[number % 5]
            ranks = (2, 3, 4)[number % 3]
            kill = number % 4 == 3
            wrong = one_round(program, tls, ranks, kill)
            if wrong:
                failed += 1
            else:
                passed += 1
            note = ", one killed" if kill else ""
            print(f"{'FAIL' if wrong else 'ok'} {tls}, {ranks} ranks{note} {wrong or ''}", flush=True)
    print(f"soak: {passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
