#!/usr/bin/env python3
"""Our libraries beside genuine UCX 1.22.0: the same program on both, alternately, pinned to two
cores; medians, and the ratio of the medians (above 1: ours is better).

    bench.py [--rounds N] [--cases WORD] [--tls sm,tcp] [--ours DIR] [--genuine DIR] [--driver DIR] [--real-time]

--real-time: ucx_perftest on shared memory goes before every other program of the machine (SCHED_FIFO, for root).
Where others run, rounds differ by a tenth then and not by a factor; meanwhile these stand still.


Bars: point to point, one-sided and atomic operations and registrations 0.97 (and below 50 ns),
two slow links 1.8 times one, failover against none 0.95, a second from the loss of a link to full
speed, connections through a listener 1.0, a thousand endpoints
(time and memory of each) 2 times, start-up time 3 times, resident memory 1.5 times better,
libraries that are loaded and not used 3 times (and below 1 ms), calls of a CUDA driver not more, and
copies of devices 1.0, where there is a GPU (DIR: the folder of libcuda.so.1, if the linker doesn't know
it). The exit code says whether all hold.
"""
import argparse
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "clients"))
import where  # noqa: E402
import devices  # noqa: E402
import driver_calls  # noqa: E402
import endpoints  # noqa: E402
import links  # noqa: E402

K, M = 1 << 10, 1 << 20
LAT = [(8, 200000), (K, 100000), (8 * K, 50000), (M, 1500)]
BW = [(8, 400000), (8 * K, 60000), (M, 1500)]
# name, kind, test of ucx_perftest and its options, size, iterations on shared memory
PERFTEST = [(f"tag latency {s} B", "lat", "tag_lat", s, n) for s, n in LAT]
PERFTEST += [(f"tag bandwidth {s} B", "bw", "tag_bw", s, n) for s, n in BW]
# ucx_perftest measures gets and atomics in a stream only: one at a time is the latency.
for what, lat, bw in [("AM", "ucp_am_lat", "ucp_am_bw"), ("put", "ucp_put_lat", "ucp_put_bw"),
                      ("get", "ucp_get -O 1", "ucp_get"), ("stream", "stream_lat", "stream_bw")]:
    PERFTEST += [(f"{what} latency {s} B", "lat", lat, s, n) for s, n in LAT]
    PERFTEST += [(f"{what} bandwidth {s} B", "bw", bw, s, n) for s, n in BW]
PERFTEST += [("fetch-add latency 8 B", "lat", "ucp_fadd -O 1", 8, 200000),
             ("fetch-add rate 8 B", "bw", "ucp_fadd", 8, 200000),
             ("add rate 8 B", "bw", "ucp_add", 8, 400000)]
# UCT itself: name, kind, test of ucx_perftest and its options, size, iterations. Atomics and puts are
# done by the call; the window is what bounds a stream of messages. Iterations are for a quarter of a
# second at least: the peer polls the line that is written, and which of both has it how often settles
# only after a while.
UCT = [("am latency 8 B short", "lat", "am_lat -D short", 8, 400000), ("am latency 4096 B bcopy", "lat", "am_lat -D bcopy", 4 * K, 100000),
       ("am rate 8 B short", "bw", "am_bw -D short", 8, 800000), ("put latency 8 B short", "lat", "put_lat -D short", 8, 400000),
       ("put rate 8 B short", "bw", "put_bw -D short", 8, 20000000), ("put rate 4096 B bcopy", "bw", "put_bw -D bcopy", 4 * K, 5000000),
       ("fetch-add rate 8 B", "bw", "fadd -D short", 8, 8000000)]
MPI = [(f"MPI latency {s} B", "lat", "LATENCY", s, n // 2) for s, n in LAT]
MPI += [(f"MPI bandwidth {s} B", "bw", "BANDWIDTH", s, n // 2) for s, n in BW]
LAST_CORE = str(os.cpu_count() - 1)
# Goes before the programs that are measured.
FIRST: list[str] = []
# With the last three genuine UCX sends host memory eagerly: there is nothing to judge by.
SCHEMES = {"get_zcopy": 0.97, "put_zcopy": 0.97, "am": 0.97, "rkey_ptr": 0, "get_ppln": 0, "put_ppln": 0}
RNDV = [(64 * K, 20000), (M, 1500), (64 * M, 24)]


def perftest(lib, tls, test, size, count, kind, both=(), more=None):
    """One run; microseconds or MB/s, None if it failed. `both` are options of client and server."""
    env = where.environ(lib, tls, UCX_WARN_UNUSED_ENV_VARS="n", **(more or {}))
    port = str(random.randint(14000, 30000))
    # Over TCP the kernel's own threads have to come to their turn.
    pinned = [*(FIRST if tls != "tcp" else []), "taskset", "-c"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([*pinned, "0", where.PERFTEST, "-p", port, *both], env=env, **quiet)
    try:
        time.sleep(0.3)
        client = [*pinned, LAST_CORE, where.PERFTEST, "-p", port, "127.0.0.1", *both, "-f", "-t", *test.split()]
        client += ["-s", str(size), "-n", str(count), "-w", str(max(min(10, count // 4), count // 20))]
        out = subprocess.run(client, env=env, capture_output=True, text=True, timeout=60).stdout
        server.wait(10)
        fields = [line for line in out.split("\n") if line.strip()][-1].split()
        if kind == "lat":
            # The 50th percentile; of operations one after the other the average over the whole run. Their
            # percentile is that of the last 2048 alone, and jumps between runs of the same average.
            return float(fields[3] if "-O 1" in test else fields[1])
        # Bandwidth by the message rate, which has more digits where it is low.
        return float(fields[7]) * size / M
    except (IndexError, ValueError, subprocess.TimeoutExpired):
        return None
    finally:
        server.kill()
        server.wait()


def mpi(program, lib, tls, test, size, count):
    """One run of the MPI loops on Debian's OpenMPI."""
    env = where.environ(lib, tls)
    run = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", "2"]
    run += ["-mca", "plm", "isolated", "-mca", "pml", "ucx", "-mca", "pml_ucx_tls", "any"]
    run += ["-mca", "pml_ucx_devices", "any", "-x", "LD_LIBRARY_PATH", "-x", "UCX_TLS"]
    run += [program, str(size), str(count), test]
    return values(run, env).get("value")


def values(command, env):
    """The `name number` lines that a program prints."""
    try:
        ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return {}
    out = ran.stdout + ran.stderr
    pairs = (line.split() for line in out.split("\n"))
    return {p[0]: float(p[1]) for p in pairs if len(p) == 2 and p[0] in ("value", "rss")}


class Table:
    """Collects results and judges them. A row whose bar is 0 is shown only."""

    def __init__(self):
        self.better = []
        self.missed = []

    def row(self, name, ours, genuine, unit, higher_is_better, bar):
        if not ours or not genuine:
            self.missed.append(name)
            print(f"{name:32} FAILED (ours {len(ours)} results, genuine {len(genuine)})", flush=True)
            return
        o, g = statistics.median(ours), statistics.median(genuine)
        ratio = o / g if higher_is_better else g / o
        if bar:
            self.better.append(ratio)
        if ratio < bar:
            self.missed.append(name)
        verdict = "" if ratio >= bar else f"  below {bar}"
        print(f"{name:32} ours {o:10.3f}  genuine {g:10.3f} {unit:4}  x{ratio:.2f}{verdict}", flush=True)

    def finish(self):
        mean = math.exp(statistics.fmean(map(math.log, self.better))) if self.better else 0
        print(f"geometric mean x{mean:.2f} over {len(self.better)} cases; below their bar: "
              + (", ".join(self.missed) or "none"))
        return 1 if self.missed else 0


def alternate(rounds, sides, measure):
    """Runs `measure(lib)` for each side in turn; the results of each side."""
    results = {side: [] for side in sides}
    for turn in range(rounds):
        # The side that goes first changes, so that a drift of the machine hits both.
        for side in sorted(sides, reverse=turn % 2 == 1):
            value = measure(sides[side])
            if value:
                results[side].append(value)
    return results


def point_to_point(table, options, sides, program):
    for tls in options.tls.split(","):
        for cases, run in ((PERFTEST, None), (MPI, program)):
            for name, kind, test, size, count in cases:
                if options.cases not in name:
                    continue
                n = max(64, count // 10) if tls == "tcp" else count
                if run:
                    measure = lambda lib: mpi(run, lib, tls, test, size, n)  # noqa: B023, E731
                else:
                    measure = lambda lib: perftest(lib, tls, test, size, n, kind)  # noqa: B023, E731
                got = alternate(options.rounds, sides, measure)
                unit = "us" if kind == "lat" else "MB/s"
                table.row(f"{tls} {name}", got["ours"], got["genuine"], unit, kind == "bw", 0.97)


def uct(table, options, sides):
    for tl in ("sysv", "posix") if "sm" in options.tls.split(",") else ():
        for name, kind, test, size, count in UCT:
            if options.cases not in f"UCT {name}":
                continue
            measure = lambda lib: perftest(lib, None, test, size, count, kind, ("-d", "memory", "-x", tl))  # noqa: B023, E731
            got = alternate(options.rounds, sides, measure)
            unit = "us" if kind == "lat" else "MB/s"
            table.row(f"UCT {tl} {name}", got["ours"], got["genuine"], unit, kind == "bw", 0.97)


def rendezvous(table, options, sides):
    """Bandwidth of tagged messages that go by rendezvous, in each of its schemes, both sides forced to
    the same one. A scheme that a side can't use there is replaced by what that side falls back to."""
    for tls in options.tls.split(","):
        for scheme, bar in SCHEMES.items():
            for size, count in RNDV:
                name = f"{tls} rndv {scheme} {size // K} KiB"
                if options.cases not in name:
                    continue
                more = {"UCX_RNDV_SCHEME": scheme, "UCX_RNDV_THRESH": "8k"}
                n = max(16, count // 10) if tls == "tcp" else count
                measure = lambda lib: perftest(lib, tls, "tag_bw", size, n, "bw", more=more)  # noqa: B023, E731
                got = alternate(options.rounds, sides, measure)
                table.row(name, got["ours"], got["genuine"], "MB/s", True, bar)


def start_up(table, options, sides, program):
    if options.cases not in "start-up resident memory":
        return
    got = alternate(max(options.rounds, 15), sides,
                    lambda lib: values([program], where.environ(lib)))
    column = lambda side, key: [v[key] for v in got[side] if key in v]  # noqa: E731
    table.row("start-up to first message", column("ours", "value"), column("genuine", "value"), "ms", False, 3.0)
    table.row("resident memory", column("ours", "rss"), column("genuine", "rss"), "KB", False, 1.5)


def unused(table, options, sides, folder):
    """What it costs a program to have all four libraries loaded: one start to its end, less that of
    the same program without them."""
    if options.cases not in "libraries loaded and unused":
        return
    source, plain, linked = os.path.join(HERE, "unused.c"), os.path.join(folder, "plain"), os.path.join(folder, "linked")
    subprocess.run(["gcc", "-O2", "-o", plain, source], check=True)
    subprocess.run(["gcc", "-O2", "-o", linked, source, "-L", where.GENUINE, "-Wl,--allow-shlib-undefined",
                    "-Wl,--no-as-needed", "-lucp", "-luct", "-lucs", "-lucm"], check=True)

    def measure(lib):
        env = where.environ(lib)
        with_it, without = (values([plain, program, "20"], env).get("value") for program in (linked, plain))
        return max(with_it - without, 1e-3) if with_it and without else None

    got = alternate(min(options.rounds, 5), sides, measure)
    table.row("libraries loaded and unused", got["ours"], got["genuine"], "ms", False, 3.0)
    if not got["ours"] or statistics.median(got["ours"]) >= 1:
        table.missed.append("libraries loaded and unused: 1 ms")


def registrations(table, options, sides, folder):
    """A lookup of a registration that is in the cache, got and given back."""
    if options.cases not in "registration cache hit":
        return
    program = os.path.join(folder, "rcache")
    include = os.path.join(os.path.dirname(where.GENUINE), "include")
    subprocess.run(["gcc", "-O2", "-I", include, "-o", program, os.path.join(HERE, "rcache.c"), "-L", where.GENUINE,
                    "-Wl,--allow-shlib-undefined", "-lucs", "-lucm"], check=True)
    got = alternate(options.rounds, sides, lambda lib: values([program], where.environ(lib)).get("value"))
    table.row("registration cache hit", got["ours"], got["genuine"], "ns", False, 0.97)
    if not got["ours"] or statistics.median(got["ours"]) >= 50:
        table.missed.append("registration cache hit: 50 ns")


def connections(table, options, sides, program):
    """Clients of a listener that connect, exchange a message each way and close, 50 at a time."""
    if options.cases not in "connection rate" or "tcp" not in options.tls.split(","):
        return
    got = alternate(options.rounds, sides,
                    lambda lib: values([program, "1", "50", "10"], where.environ(lib, "tcp")).get("value"))
    table.row("connection rate", got["ours"], got["genuine"], "1/s", True, 1.0)


def build(folder):
    """The three C programs, compiled against genuine headers and linked by name."""
    pairs, startup = os.path.join(folder, "pairs"), os.path.join(folder, "startup")
    subprocess.run(["mpicc.openmpi", "-O2", "-o", pairs, os.path.join(HERE, "pairs.c")], check=True)
    include = os.path.join(os.path.dirname(where.GENUINE), "include")
    subprocess.run(["gcc", "-O2", "-I", include, "-o", startup, os.path.join(HERE, "startup.c"),
                    "-L", where.GENUINE, "-Wl,--allow-shlib-undefined", "-lucp", "-lucs"], check=True)
    crowd = os.path.join(folder, "crowd")
    subprocess.run(["gcc", "-O2", "-I", include, "-o", crowd, os.path.join(os.path.dirname(HERE), "capi", "crowd.c"),
                    "-L", where.GENUINE, "-Wl,--allow-shlib-undefined", "-lucp", "-lucs"], check=True)
    return pairs, startup, crowd


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--rounds", type=int, default=7)
    args.add_argument("--cases", default="")
    args.add_argument("--tls", default="sm,tcp")
    args.add_argument("--ours", default=where.OURS)
    args.add_argument("--genuine", default=where.GENUINE)
    args.add_argument("--driver")
    args.add_argument("--real-time", action="store_true")
    options = args.parse_args()
    FIRST.extend(["chrt", "-f", "10"] if options.real_time else [])
    sides = {"genuine": options.genuine, "ours": options.ours}
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        pairs, startup, crowd = build(folder)
        start_up(table, options, sides, startup)
        unused(table, options, sides, folder)
        registrations(table, options, sides, folder)
        connections(table, options, sides, crowd)
        endpoints.all_rows(table, options, sides, folder, alternate)
        driver_calls.rows(table, options)
        devices.all_rows(table, options, sides, perftest, alternate)
        uct(table, options, sides)
        point_to_point(table, options, sides, pairs)
        rendezvous(table, options, sides)
        links.all_rows(table, options, perftest, alternate)
    return table.finish()


if __name__ == "__main__":
    sys.exit(main())
