"""Genuine UCX's own tools, of both versions, over the libraries under test: ucx_perftest, ucx_info."""
import os
import random
import re
import socket
import time

import proc
import where
from proc import Failure, mapped_only
from tests import Skip, Test, over_both, succeeded

BINARIES = {"1.22.0": (where.PERFTEST, where.INFO), "1.13.1": ("/usr/bin/ucx_perftest", "/usr/bin/ucx_info")}


def library(ctx, version):
    """The folder for one version's tool. Genuine 1.22.0 crashes under tools of 1.13.1 (data that
    these copy grew), so a baseline of those needs Debian's libraries."""
    is_baseline = os.path.realpath(ctx.lib) == os.path.realpath(ctx.genuine)
    return where.DEBIAN if version == "1.13.1" and is_baseline else ctx.lib


def listening(port):
    """Whether somebody listens on a TCP port; asking the kernel's table disturbs nobody."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as f:
            for line in f.readlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rsplit(":", 1)[1], 16) == port:
                    return True
    return False


def free_port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


def perftest_pair(ctx, version, tls, arguments, timeout=60):
    """One measurement between two processes; the client's output."""
    binary = BINARIES[version][0]
    lib = library(ctx, version)
    env = where.environ(lib, tls, UCX_WARN_UNUSED_ENV_VARS="n")
    port = free_port()
    server = proc.Background([binary, "-p", str(port)], env)
    try:
        until = time.monotonic() + 10
        while not listening(port) and server.p.poll() is None:
            if time.monotonic() > until:
                raise Failure("the server does not listen")
            time.sleep(0.02)
        r = ctx.run([binary, "-p", str(port), "127.0.0.1", *arguments], env, timeout)
    finally:
        rc, out = server.finish(10)
        if ctx.last:
            ctx.last.out += "\n--- server\n" + out
    succeeded(r)
    if rc != 0:
        raise Failure(f"the server ended with {rc}")
    mapped_only(r.mapped, lib, 0)
    return r


def perftest(version, cases, extra=()):
    def body(ctx, tls):
        # A short measurement may end between two looks at its maps: all of them count together.
        mapped = {}
        for test, size, n in cases:
            r = perftest_pair(ctx, version, tls, ["-t", test, "-s", str(size), "-n", str(n), "-w", "20", "-f", *extra])
            rows = [line.split() for line in r.out.split("--- server")[0].splitlines() if re.match(r"^\s*\d+\s", line)]
            if not rows or int(rows[-1][0]) != n:
                raise Failure(f"{test} {size}: no final line for {n} iterations")
            mapped.update(r.mapped)
        mapped_only(mapped, library(ctx, version), 2)
        ctx.note = f"{len(cases)} measurements"

    return body


TAG = [("tag_lat", 8, 1000), ("tag_lat", 1024, 1000), ("tag_lat", 8192, 500), ("tag_lat", 65536, 200),
       ("tag_lat", 1 << 20, 100), ("tag_bw", 8, 20000), ("tag_bw", 8192, 5000), ("tag_bw", 1 << 20, 100)]
TAG_MORE = [("tag_lat", 0, 1000), ("tag_sync_lat", 8, 1000), ("tag_sync_lat", 1 << 20, 50),
            ("tag_lat", 16 << 20, 10), ("tag_bw", 16 << 20, 20)]

AM = [("ucp_am_lat", 8, 500), ("ucp_am_lat", 8192, 300), ("ucp_am_bw", 8, 5000), ("ucp_am_bw", 1 << 20, 50)]
RMA = [("ucp_put_lat", 8, 500), ("ucp_put_bw", 8, 2000), ("ucp_put_bw", 1 << 20, 50), ("ucp_get", 8, 500), ("ucp_get", 1 << 20, 50)]
AMO = [(f"ucp_{op}", size, 500) for op in ("add", "fadd", "swap", "cswap") for size in (4, 8)]


def loopback(version):
    """Client and server in one process."""
    def body(ctx, tls):
        lib = library(ctx, version)
        env = where.environ(lib, tls)
        for test, size in (("tag_lat", 8), ("tag_bw", 65536), ("tag_lat", 1 << 20)):
            r = ctx.run([BINARIES[version][0], "-l", "-t", test, "-s", str(size), "-n", "500", "-w", "10", "-f"], env, 60)
            succeeded(r)
        mapped_only(r.mapped, lib, 1)

    return body


def info(version):
    def body(ctx, tls):
        lib = library(ctx, version)
        binary = BINARIES[version][1]
        env = where.environ(lib)
        r = ctx.run([binary, "-v"], env, 20)
        succeeded(r)
        # 1.13.1's tool prints its own version, 1.22.0's the library's.
        if "1.22" not in r.out and version == "1.22.0":
            raise Failure("ucx_info -v names no version 1.22")
        # -d asks UCT, whose C interface comes later.
        for option in ("-s", "-c", "-b"):
            succeeded(ctx.run([binary, option], env, 20))
        r = ctx.run([binary, "-p", "-w", "-e", "-u", "t"], env, 20)
        succeeded(r, "md 0")
        if not re.search(r"resource 0 *:  ?md \d+  dev \d+  flags -- \S+/\S+", r.out):
            raise Failure("ucx_info -p: no line of a resource")

    return body


def tests():
    found = []
    for version in BINARIES:
        found += over_both(f"ucx_perftest {version} tag", perftest(version, TAG))
        found += over_both(f"ucx_perftest {version} tag, more", perftest(version, TAG_MORE))
        found += over_both(f"ucx_perftest {version} tag, mt", perftest(version, TAG[:3], ("-T", "1", "-M", "multi")))
        found += over_both(f"ucx_perftest {version} AM", perftest(version, AM))
        found += over_both(f"ucx_perftest {version} RMA", perftest(version, RMA))
        found += over_both(f"ucx_perftest {version} atomics", perftest(version, AMO))
        found += over_both(f"ucx_perftest {version} two threads", perftest(version, [AM[1], RMA[1], RMA[3], AMO[2]], ("-T", "2", "-M", "multi")), smoke=False)
        # One-sided tests wait for memory that is written without a wake-up, with genuine UCX too.
        found += over_both(f"ucx_perftest {version} AM, sleeping", perftest(version, AM[1:3], ("-E", "sleep")), smoke=False)
        found.append(Test(f"ucx_info {version}", None, info(version)))
    found += over_both("ucx_perftest 1.22.0 loopback", loopback("1.22.0"))
    return found
