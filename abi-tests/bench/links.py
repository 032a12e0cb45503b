"""What several network links give, what failover costs, and how long a lost link is felt."""
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "clients"))
import where  # noqa: E402
from rails import LINKS, Rails  # noqa: E402

M = 1 << 20
RATE = "400mbit"
RATE_BYTES = 400e6 / 8


class Slow(Rails):
    """Links that carry so much and no more."""

    def __enter__(self):
        super().__enter__()
        for h in (0, 1):
            for n in range(LINKS):
                self.do(h, "tc", "qdisc", "add", "dev", f"{'ab'[h]}{n}", "root", "tbf", "rate", RATE, "burst", "256kb", "latency", "50ms")
        return self

    def lose(self, link):
        """What is sent by it vanishes."""
        for h in (0, 1):
            self.undrop(link, (h,))
            self.drop(link, (h,))


def over(hosts, lib, links, size, count, **more):
    """Starts a bandwidth test between the two hosts over the first `links` links: server, client."""
    run = []
    for h in (0, 1):
        env = where.environ(lib, "tcp", UCX_WARN_UNUSED_ENV_VARS="n", UCX_NET_DEVICES=",".join(f"{'ab'[h]}{n}" for n in range(links)), **more)
        peer = [] if h == 0 else ["10.9.0.1", "-f", "-t", "tag_bw", "-s", str(size), "-n", str(count), "-w", "5"]
        out = subprocess.PIPE if h else subprocess.DEVNULL
        run.append(subprocess.Popen([*hosts.on(h), where.PERFTEST, "-p", "13456", *peer], env=env, stdout=out, stderr=subprocess.DEVNULL, text=True))
        time.sleep(0.5)
    return run


def end(run):
    for p in run:
        p.kill()
        p.wait()


def bandwidth(hosts, lib, links, **more):
    """MB/s"""
    server, client = over(hosts, lib, links, M, 100, **more)
    try:
        out = client.communicate(timeout=60)[0]
        return float([line for line in out.split("\n") if line.strip()][-1].split()[7])
    except (IndexError, ValueError, subprocess.TimeoutExpired):
        return None
    finally:
        end((server, client))


def two_rails(table, options):
    """Twice the links, at least 1.8 times the bytes."""
    for name, more in (("", {}), (" put_zcopy", {"UCX_RNDV_SCHEME": "put_zcopy"}), (" FAILOVER", {"UCX_FAILOVER_ENABLE": "y"})):
        what = f"rails 2 of {RATE}{name}"
        if options.cases not in what:
            continue
        with Slow() as hosts:
            got = [[bandwidth(hosts, options.ours, links, **more) for _ in range(min(options.rounds, 3))] for links in (1, 2)]
        one, two = ([v for v in values if v] for values in got)
        table.row(what + ", against 1", two, one, "MB/s", True, 1.8)


WINDOW, ENOUGH = 0.1, 0.5


def full_from(samples):
    """When `samples`, of a time and the bytes until then, begin to show half a second at nine tenths of what a link carries."""
    since, at = None, 0
    for t, sent in samples:
        while t - samples[at][0] > WINDOW:
            at += 1
        past = samples[max(at - 1, 0)]
        if t - past[0] < WINDOW:
            continue
        if (sent - past[1]) / (t - past[0]) < 0.9 * RATE_BYTES:
            since = None
        elif since is None:
            since = t
        elif t - since > ENOUGH:
            return since
    return None


def lost_at(log):
    """When a process wrote that it had lost a lane."""
    with open(log) as f:
        found = re.search(r"\[(\d+\.\d+)\].*lane \d+ to worker \w+ is lost", f.read())
    return float(found[1]) if found else None


def recovery(table, options):
    """A link is lost in the middle of a transfer: how long after the sender has noticed until the other one is full for good."""
    for name, kill in (("that goes down", Slow.down), ("whose packets vanish", Slow.lose)):
        what = f"rails, a link {name}, to full speed"
        if options.cases not in what:
            continue
        times = []
        for _ in range(min(options.rounds, 3)):
            with Slow() as hosts, tempfile.TemporaryDirectory() as folder:
                log = os.path.join(folder, "log.%p")
                run = over(hosts, options.ours, LINKS, M, 100000, UCX_FAILOVER_ENABLE="y", UCX_FAILOVER_RECOVERY_INTERVAL="10s",
                           UCX_LOG_LEVEL="diag", UCX_LOG_FILE=log)
                try:
                    time.sleep(1.5)
                    samples = []
                    kill(hosts, 0)
                    until = time.time() + 4
                    while time.time() < until:
                        samples.append((time.time(), hosts.sent(1, 1)))
                        time.sleep(0.01)
                finally:
                    end(run)
                noticed = lost_at(log.replace("%p", str(run[1].pid)))
                full = noticed and full_from([s for s in samples if s[0] >= noticed - WINDOW])
                if full:
                    # As fine as the samples are.
                    times.append(max(full - noticed, 0.01))
        table.row(what, times, [1.0], "s", False, 1.0)


COSTS = [("latency 8 B", "lat", "tag_lat", 8, 20000), ("bandwidth 1 MiB", "bw", "tag_bw", M, 3000)]
MODES = {"with": {"UCX_FAILOVER_ENABLE": "y"}, "without": {}}


def cost(table, options, perftest, alternate):
    """Failover against no error handling: over one interface, and on shared memory, where nothing is done for it."""
    for tls, bar in (("tcp", 0.95), ("sm", 0.97)):
        for name, kind, test, size, count in COSTS if tls in options.tls.split(",") else ():
            what = f"{tls} FAILOVER against none, {name}"
            if options.cases not in what:
                continue
            n = count if tls == "tcp" else 10 * count
            devices = {"UCX_NET_DEVICES": "lo"} if tls == "tcp" else {}
            measure = lambda more: perftest(options.ours, tls, test, size, n, kind, more={**devices, **more})  # noqa: B023, E731
            got = alternate(options.rounds, MODES, measure)
            table.row(what, got["with"], got["without"], "us" if kind == "lat" else "MB/s", kind == "bw", bar)


def instructions(lib, size, count, more):
    """Instructions of the library in so many sends by shared memory, one at a time."""
    env = where.environ(lib, "sm", UCX_WARN_UNUSED_ENV_VARS="n", **more)
    server = subprocess.Popen([where.PERFTEST, "-p", "13457"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        client = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=ucp_tag_send_nbx", where.PERFTEST, "-p", "13457",
                  "127.0.0.1", "-f", "-t", "tag_lat", "-s", str(size), "-n", str(count), "-w", "2"]
        said = subprocess.run(client, env=env, capture_output=True, text=True, timeout=60).stderr
        return int(re.search(r"Collected : (\d+)", said)[1])
    except (TypeError, subprocess.TimeoutExpired):
        return None
    finally:
        end([server])


def instructions_per_send(lib, size, more):
    """Beyond the first ones, which depend on when the peer answers: the same in every run."""
    few, many = ([n for n in (instructions(lib, size, count, more) for _ in range(3)) if n] for count in (200, 2000))
    return (min(many) - min(few)) / 1800 if few and many else None


def instructions_of_sends(table, options):
    for size in (8, M) if "sm" in options.tls.split(",") else ():
        what = f"sm FAILOVER against none, sends of {size} B"
        if options.cases in what:
            got = [[n for n in (instructions_per_send(options.ours, size, MODES[side]),) if n] for side in ("with", "without")]
            table.row(what, *got, "ins", False, 0.999)


def all_rows(table, options, perftest, alternate):
    cost(table, options, perftest, alternate)
    instructions_of_sends(table, options)
    if "tcp" not in options.tls.split(","):
        return
    two_rails(table, options)
    recovery(table, options)
