"""Settings in the environment, right and wrong: what is accepted, what is said about it, and that
nothing is said when nothing is wrong (the program is abi-tests/capi/settings.c)."""
import os
import signal
import subprocess
import time

import capi
import proc
import tools
import where
from proc import Failure
from tests import Skip, Test, over_both

WORKS = "works"
# Variable, value, how far it comes (the first line that is not OK, or 'works'), lines at warning and
# at error level, and what they must have in them.
CASES = [
    ("TSL", "tcp", WORKS, 1, 0, ["UCX_TSL", "UCX_TLS?"]),
    ("NO_SUCH_THING", "1", WORKS, 1, 0, ["UCX_NO_SUCH_THING"]),
    ("TLS", "tpc", "init NO_DEVICE", 1, 1, ["'tpc'", "did you mean 'tcp'?"]),
    ("TLS", "tcp,tpc", WORKS, 1, 0, ["did you mean 'tcp'?"]),
    ("TLS", "^tpc", WORKS, 1, 0, ["did you mean 'tcp'?"]),
    ("TLS", "TCP", "init NO_DEVICE", 1, 1, ["did you mean 'tcp'?"]),
    ("TLS", "tcp,^sm", WORKS, 1, 0, ["'^sm'", "'^' is only understood at the start of UCX_TLS"]),
    ("TLS", "", "init NO_ELEM", 0, 1, ["UCX_TLS is an empty list"]),
    ("TLS", "tcp,", WORKS, 0, 0, []),
    ("TLS", "tcp, self", WORKS, 0, 0, []),
    ("TLS", " tcp", WORKS, 0, 0, []),
    ("TLS", "tcp,tcp", WORKS, 0, 0, []),
    ("TLS", "^tcp", WORKS, 0, 0, []),
    ("TLS", "all", WORKS, 0, 0, []),
    ("TLS", "self,sm", WORKS, 0, 0, []),
    ("NET_DEVICES", "nodev9", WORKS, 1, 0, ["'nodev9'", "is not available"]),
    ("NET_DEVICES", "LO", WORKS, 1, 0, ["did you mean 'lo'?"]),
    ("NET_DEVICES", "lo,lo", WORKS, 1, 0, ["'lo'", "multiple times"]),
    ("NET_DEVICES", "lo", WORKS, 0, 0, []),
    ("RNDV_THRESH", "abc", "read INVALID_PARAM", 0, 1, ["UCX_RNDV_THRESH", "'abc'", "Expected"]),
    ("RNDV_THRESH", "", "read INVALID_PARAM", 0, 1, ["UCX_RNDV_THRESH", "''", "Expected"]),
    ("RNDV_THRESH", "8k", WORKS, 0, 0, []),
    ("RNDV_THRESH", "inf", WORKS, 0, 0, []),
    ("RNDV_THRESH", "intra:1m,inter:8k", WORKS, 0, 0, []),
    ("NUM_EPS", "many", "read INVALID_PARAM", 0, 1, ["UCX_NUM_EPS", "'many'", "Expected"]),
    ("KEEPALIVE_INTERVAL", "fast", "read INVALID_PARAM", 0, 1, ["UCX_KEEPALIVE_INTERVAL", "Expected"]),
    ("ADDRESS_VERSION", "v3", "read INVALID_PARAM", 0, 1, ["UCX_ADDRESS_VERSION", "[v1|v2]"]),
    ("ADDRESS_VERSION", "v1", WORKS, 0, 0, []),
    ("LOG_LEVEL", "loud", WORKS, 0, 1, ["UCX_LOG_LEVEL", "'loud'", "Expected"]),
    (None, None, WORKS, 0, 0, []),
]


def needs_ours(ctx):
    if os.path.realpath(ctx.lib) == os.path.realpath(ctx.genuine):
        raise Skip("genuine UCX suggests no names")


def accepted_or_named(ctx, tls):
    needs_ours(ctx)
    binary = capi.program(ctx, "settings", "1.22.0")
    problems = []
    for variable, value, outcome, warnings, errors, words in CASES:
        more = {f"UCX_{variable}": value} if variable else {}
        r = ctx.run([binary], where.environ(ctx.lib, None, UCX_LOG_FILE="stderr", **more), 30)
        lines = r.out.splitlines()
        reached = next((line for line in lines if line == WORKS or line.split()[0] in ("read", "init", "worker", "endpoint") and not line.endswith(" OK")), "nothing")
        # The hint how to silence it goes with the warning.
        said = [line for line in lines if "  UCX  " in line and "to suppress this warning" not in line]
        count = [sum(f"  UCX  {level} " in line for line in said) for level in ("WARN", "ERROR")]
        if r.rc != 0 or reached != outcome or count != [warnings, errors] or len(said) != warnings + errors or any(w not in r.out for w in words):
            problems.append(f"UCX_{variable}={value}: exit status {r.rc}, {reached}, {count[0]} warnings, {count[1]} errors, {len(said)} lines")
    if problems:
        raise Failure("; ".join(problems))
    ctx.note = f"{len(CASES)} cases"


def modified(ctx, tls):
    """ucp_config_modify tells an unknown name and a bad value."""
    binary = capi.program(ctx, "settings", "1.22.0")
    for name, value, status in (("NO_SUCH_THING", "1", "INVALID_PARAM"), ("RNDV_THRESH", "abc", "INVALID_PARAM"), ("RNDV_THRESH", "8k", "OK")):
        r = ctx.run([binary, name, value], where.environ(ctx.lib, None, UCX_LOG_FILE="stderr"), 30)
        if f"modify {status}" not in r.out.splitlines() or WORKS not in r.out.splitlines():
            raise Failure(f"{name}={value}: not {status}")


def interrupted(ctx, tls):
    """One side of a benchmark with error handling gets a Ctrl-C: the other one ends by itself, with
    an error and without an assertion."""
    needs_ours(ctx)
    for which in ("client", "server"):
        port = str(tools.free_port())
        env = where.environ(ctx.lib, tls, UCX_WARN_UNUSED_ENV_VARS="n", UCX_LOG_FILE="stderr")
        server = proc.Background([where.PERFTEST, "-e", "-p", port], env)
        client = None
        try:
            until = time.monotonic() + 20
            while not tools.listening(int(port)) and time.monotonic() < until:
                time.sleep(0.02)
            client = proc.Background([where.PERFTEST, "-e", "-p", port, "127.0.0.1", "-t", "tag_lat", "-s", "8", "-n", "1000000000"], env)
            time.sleep(2)
            ended, other = (client, server) if which == "client" else (server, client)
            if ended.p.poll() is not None or other.p.poll() is not None:
                raise Failure("the benchmark does not run")
            os.kill(ended.p.pid, signal.SIGINT)
            try:
                rc = other.p.wait(15)
            except subprocess.TimeoutExpired:
                raise Failure(f"the other side goes on when the {which} is interrupted") from None
            _, out = other.finish(1)
            if rc == 0 or rc < 0 or "ssert" in out:
                raise Failure(f"with the {which} interrupted the other side ended with {rc}: {out[-500:]}")
        finally:
            for side in (server, client):
                if side:
                    side.finish(0.1)


def tests():
    return [Test("settings", None, accepted_or_named), Test("settings, modified", None, modified)] + over_both("ucx_perftest, Ctrl-C", interrupted)
