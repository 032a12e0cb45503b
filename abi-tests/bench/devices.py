"""Copies between the devices of a real driver, and between them and the host: times, which a simulated
driver doesn't have. Without a GPU nothing is measured, and that is said."""
import ctypes.util
import os
import subprocess

import where

K, M = 1 << 10, 1 << 20
FAST = "sm,cuda_copy,cuda_ipc"
BETWEEN = [(f"cuda_ipc {what} bandwidth {size // M} MiB", f"{test} -m cuda", size, max(8, 4096 // (size // M)))
           for what, test in (("get", "ucp_get"), ("put", "ucp_put_bw"), ("tag", "tag_bw"))
           for size in (M, 4 * M, 16 * M, 64 * M, 256 * M)]
COPIES = [(f"cuda_copy {what} {size} B {kind}", f"{test} -m {kind}", size)
          for what, test in (("put latency", "put_lat -D short"), ("get latency", "get -D short -O 1"))
          for kind in ("cuda", "host,cuda") for size in (8, 64, 512, 4 * K, 64 * K)]


def modules(options):
    """Genuine UCX's module for memory of devices is ucx_perftest's, on both."""
    return {"UCX_MODULE_DIR": os.path.join(options.genuine, "ucx")}


def path(options, lib):
    return f"{lib}:{os.path.abspath(options.driver)}" if options.driver else lib


def alone(options, lib, test, size):
    """Microseconds of a copy, in one process."""
    command = ["taskset", "-c", "0", where.PERFTEST, "-l", "-d", "cuda", "-x", "cuda_copy", "-f", "-t", *test.split()]
    command += ["-s", str(size), "-n", "20000", "-w", "1000"]
    env = where.environ(path(options, lib), UCX_WARN_UNUSED_ENV_VARS="n", **modules(options))
    try:
        out = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60).stdout
        return float([line for line in out.split("\n") if line.strip()][-1].split()[3])
    except (IndexError, ValueError, subprocess.TimeoutExpired):
        return None


def all_rows(table, options, sides, perftest, alternate):
    if not any(options.cases in name for name, *_ in BETWEEN + COPIES):
        return
    if not options.driver and not ctypes.util.find_library("cuda"):
        print("cuda_ipc, cuda_copy: there is no driver of a GPU, nothing was measured", flush=True)
        return
    for name, test, size, count in BETWEEN:
        if options.cases in name:
            measure = lambda lib: perftest(path(options, lib), FAST, test, size, count, "bw", more=modules(options))  # noqa: B023, E731
            got = alternate(options.rounds, sides, measure)
            table.row(name, got["ours"], got["genuine"], "MB/s", True, 1.0)
    for name, test, size in COPIES:
        if options.cases in name:
            got = alternate(options.rounds, sides, lambda lib: alone(options, lib, test, size))  # noqa: B023
            table.row(name, got["ours"], got["genuine"], "us", False, 1.0)

