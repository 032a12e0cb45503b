"""What the programs over ucxx share: buffers with a pattern, a server process, proof of the libraries."""
import os
import signal
import subprocess
import sys

import numpy as np

SIZES = [1, 8, 1000, 8191, 8192, 65536, (1 << 20) + 3]
LARGE = [(4 << 20) + 1, 16 << 20]


def sizes(full):
    return SIZES + (LARGE if full else [])


def pattern(size, seed):
    """Bytes that tell their place and their message."""
    return ((np.arange(size, dtype=np.uint64) * 2654435761 + seed * 40503) >> 7).astype(np.uint8)


def expect(data, size, seed, what):
    data = np.asarray(data).view(np.uint8)
    if data.nbytes != size:
        raise AssertionError(f"{what}: {data.nbytes} bytes instead of {size}")
    bad = np.flatnonzero(data != pattern(size, seed))
    if bad.size:
        raise AssertionError(f"{what}: {bad.size} of {size} bytes are wrong, the first at {bad[0]}")


def say(text):
    print(text, flush=True)


def say_maps():
    """Lets the runner see which libraries serve this process."""
    with open("/proc/self/maps") as f:
        files = {line.split(None, 5)[5].strip() for line in f if "/libuc" in line}
    for name in sorted(files):
        if os.path.basename(name).split(".")[0] in ("libucp", "libuct", "libucs", "libucm", "libucs_signal", "libucx-rs"):
            say(f"MAPS {name}")


def serve_self(*more):
    """Starts this program again as the server; the process and the first line that it prints.
    The rest of what it says follows in our own output when it ends."""
    p = subprocess.Popen([sys.executable, sys.argv[0], *sys.argv[1:], "--serve", *more], stdout=subprocess.PIPE, text=True)
    return p, p.stdout.readline().strip()


def ended(p, rc=0, limit=30):
    """That the server ended as it should."""
    try:
        out, _ = p.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        p.kill()
        raise AssertionError("the server did not end")
    print("".join(f"{line}\n" if line.startswith("MAPS") else f"server: {line}\n" for line in out.splitlines()), end="", flush=True)
    if p.returncode != rc:
        raise AssertionError(f"the server ended with {p.returncode}")


def kill(p):
    p.send_signal(signal.SIGKILL)
    p.wait(10)
