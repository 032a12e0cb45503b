"""Genuine UCX's own tools, of both versions, over the libraries under test: ucx_perftest, ucx_info."""
import os
import re
import signal
import socket
import time

import proc
import where
from proc import Failure, mapped_only
from tests import Test, over_all, over_both, succeeded

BINARIES = {"1.22.0": (where.PERFTEST, where.INFO), "1.13.1": ("/usr/bin/ucx_perftest", "/usr/bin/ucx_info")}


def library(ctx, version):
    """The folder for one version's tool. Genuine 1.22.0 crashes under tools of 1.13.1 (data that
    these copy grew), so a baseline of those needs Debian's libraries."""
    is_baseline = os.path.realpath(ctx.lib) == os.path.realpath(ctx.genuine)
    return where.DEBIAN if version == "1.13.1" and is_baseline else ctx.lib


# Round trips that take some tenths of a second.
SEEN = {"sm": 100000, "tcp": 5000}


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


def perftest_pair(ctx, version, tls, arguments, timeout=60, more=None):
    """One measurement between two processes; the client's output."""
    binary = BINARIES[version][0]
    lib = library(ctx, version)
    env = where.environ(lib, tls, UCX_WARN_UNUSED_ENV_VARS="n", **(more or {}))
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


def perftest(version, cases, extra=(), more=None):
    def body(ctx, tls):
        # A short measurement may end between two looks at its maps: all of them count together,
        # and one that is long enough to be seen.
        mapped = perftest_pair(ctx, version, tls, ["-t", "tag_lat", "-n", str(SEEN[tls]), "-f"]).mapped
        for test, size, n in cases:
            r = perftest_pair(ctx, version, tls, ["-t", test, "-s", str(size), "-n", str(n), "-w", "20", "-f", *extra], more=more)
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

STREAM = [("stream_lat", 8, 1000), ("stream_lat", 8192, 500), ("stream_lat", 1 << 20, 50),
          ("stream_bw", 8, 20000), ("stream_bw", 8192, 5000), ("stream_bw", 1 << 20, 100)]
# One of each kind, for the ways to run them all.
EACH = [TAG[0], TAG[6], AM[1], AM[3], STREAM[1], STREAM[5], RMA[1], RMA[3], AMO[2]]
# Without those that wait for memory: they write without a wake-up, with genuine UCX too.
MESSAGES = [TAG[0], TAG[7], AM[1], AM[3], STREAM[1], STREAM[5]]


def interrupted(version):
    """Ctrl-C of one side: the other ends within seconds and says so by its exit status."""
    def body(ctx, tls):
        lib = library(ctx, version)
        # Shared memory tells of a death only when it is asked.
        env = where.environ(lib, tls, UCX_WARN_UNUSED_ENV_VARS="n", UCX_KEEPALIVE_INTERVAL="500ms")
        for whom in ("client", "server"):
            port = str(free_port())
            both = {"server": proc.Background([BINARIES[version][0], "-p", port], env)}
            until = time.monotonic() + 10
            while not listening(int(port)):
                if time.monotonic() > until:
                    raise Failure("the server does not listen")
                time.sleep(0.02)
            command = [BINARIES[version][0], "-p", port, "127.0.0.1", "-e", "-t", "tag_bw", "-s", "8192", "-n", "1000000000"]
            both["client"] = proc.Background(command, env)
            time.sleep(1.5)
            if any(b.p.poll() is not None for b in both.values()):
                raise Failure("a side ended before it was interrupted")
            mapped = proc.Watch()
            mapped.look([b.p.pid for b in both.values()])
            both[whom].p.send_signal(signal.SIGINT)
            said = {}
            for name in sorted(both, key=lambda name: name != whom):
                said[name] = both[name].finish(10)
            ctx.last = proc.Result(0, "\n".join(f"--- {name}\n{out}" for name, (_, out) in said.items()), False, mapped.seen, 0)
            for name, (rc, out) in said.items():
                if rc is None:
                    raise Failure(f"the {whom} was interrupted, and the {name} did not end within 10 s")
                if rc == 0 and name != whom:
                    raise Failure(f"the {whom} was interrupted, and the {name} ended with 0")
                if "ssertion" in out:
                    raise Failure(f"the {whom} was interrupted, and the {name} speaks of an assertion")
            mapped_only({pid: files for pid, files in mapped.seen.items() if files}, lib, 2)

    return body


# Vectors: of short pieces, of pieces that are sent in fragments, and by rendezvous.
VECTORS = ("8,16,0,24", "1000,3,9000", "300000,8,300000")
TAG_VECTORS = [(test, size, 100) for test in ("tag_lat", "tag_bw", "tag_sync_lat") for size in VECTORS]
AM_VECTORS = [(test, size, 100) for test in ("ucp_am_lat", "ucp_am_bw") for size in VECTORS]
# The tool gives ucp_am_recv_data_nbx the length in bytes as the number of a vector's entries, and
# crashes with genuine UCX too: vectors receive active messages without rendezvous only.
EAGER = {"UCX_RNDV_THRESH": "inf"}
# name -> (measurements, options): all that run in the form of "make test-clients" only.
MORE = {
    "tags, vectors": (TAG_VECTORS, ("-D", "iov,iov")),
    "tags, vector to buffer": (TAG_VECTORS, ("-D", "iov,contig")),
    "tags, buffer to vector": (TAG_VECTORS, ("-D", "contig,iov")),
    "AM, vector to buffer": (AM_VECTORS, ("-D", "iov,contig")),
    "AM, buffer to vector": (AM_VECTORS, ("-D", "contig,iov"), EAGER),
    "AM, headers": (AM, ("-H", "64")),
    "tags, any": (TAG[:5], ("-C",)),
    "tags, probed": (TAG[:5], ("-U",)),
    "one thread of many": (AM + RMA + AMO, ("-T", "1", "-M", "multi")),
    "host memory": ([TAG[0], TAG[4], *AM, *RMA], ("-m", "host")),
    "host memory on both sides": ([TAG[0], TAG[4], *AM, *RMA], ("-m", "host,host")),
    "registered before": ([TAG[4], TAG[7], *AM, *RMA], ("-z",)),
    "wake-up on": ([TAG[0], TAG[4], *AM, *RMA, *AMO], ("-I",)),
    "few outstanding": ([TAG[5], AM[2], RMA[1], RMA[3]], ("-O", "4")),
}


def loopback(version, cases=(("tag_lat", 8, 500), ("tag_bw", 65536, 500), ("tag_lat", 1 << 20, 200)), extra=(), **more):
    """Client and server in one process."""
    def body(ctx, tls):
        lib = library(ctx, version)
        env = where.environ(lib, tls, **more)
        for test, size, n in cases:
            r = ctx.run([BINARIES[version][0], "-l", "-t", test, "-s", str(size), "-n", str(n), "-w", "10", "-f", *extra], env, 60)
            succeeded(r)
        # Long enough for its maps to be looked at.
        r = ctx.run([BINARIES[version][0], "-l", "-t", "tag_lat", "-n", "5000000", "-f"], env, 60)
        succeeded(r)
        mapped_only(r.mapped, lib, 1)
        ctx.note = f"{len(cases)} measurements"

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
        for option in ("-s", "-c", "-cf", "-b", "-T", "-y", "-f"):
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
        for mode in ("recv", "recv_data"):
            cases = STREAM if mode == "recv" else [(test, size, n // 5) for test, size, n in STREAM]
            found += over_both(f"ucx_perftest {version} stream, {mode}", perftest(version, cases, ("-r", mode)))
        vectors = [("stream_bw", "100,4000,300", 2000), ("stream_lat", "8,8", 500)]
        found += over_both(f"ucx_perftest {version} stream, vectors", perftest(version, vectors, ("-D", "iov")), smoke=False)
        found += over_both(f"ucx_perftest {version} error handling", perftest(version, EACH, ("-e",)))
        for threads, mode in ((2, "multi"), (4, "multi"), (2, "serialized"), (2, "single")):
            smoke = (threads, mode) == (2, "multi")
            found += over_both(f"ucx_perftest {version} {threads} threads, {mode}",
                               perftest(version, EACH, ("-T", str(threads), "-M", mode)), smoke)
        for mode in ("serialized", "single"):
            found += over_both(f"ucx_perftest {version} one thread, {mode}", perftest(version, EACH, ("-M", mode)), smoke=False)
        found += over_both(f"ucx_perftest {version} sleeping", perftest(version, MESSAGES, ("-E", "sleep")))
        # Not with recv_data, for which ucx_perftest never wakes up, with genuine UCX either.
        found += over_both(f"ucx_perftest {version} stream, recv, sleeping",
                           perftest(version, STREAM, ("-r", "recv", "-E", "sleep")), smoke=False)
        if version == "1.22.0":  # 1.13.1 only prints that its peer is gone, and goes on
            found += over_both(f"ucx_perftest {version} interrupted", interrupted(version))
        found += over_both(f"ucx_perftest {version} AM, vectors", perftest(version, AM_VECTORS, ("-D", "iov,iov"), EAGER))
        for name, what in MORE.items():
            found += over_both(f"ucx_perftest {version} {name}", perftest(version, *what), smoke=False)
        found.append(Test(f"ucx_info {version}", None, info(version)))
    found += over_both("ucx_perftest 1.22.0 loopback", loopback("1.22.0"))
    every = loopback("1.22.0", TAG[:5] + AM + RMA + AMO + STREAM)
    found += over_all("ucx_perftest 1.22.0 loopback, everything", every, smoke=False)
    found.append(Test("ucx_perftest 1.22.0 loopback, everything", "self", every))
    vectors = loopback("1.22.0", TAG_VECTORS + AM_VECTORS, ("-D", "iov,iov"), **EAGER)
    found += over_all("ucx_perftest 1.22.0 loopback, vectors", vectors, smoke=False)
    return found
