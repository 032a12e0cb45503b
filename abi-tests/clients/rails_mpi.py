"""Unmodified MPI programs on two hosts joined by two links that are lost and come back: UCX_FAILOVER_ENABLE=y. MPICH's launcher
works between network namespaces; it has a link of its own, since it is not what is tested."""
import glob
import os
import random
import re
import tempfile
import time

import where
from launchers import MPICH
from proc import Background, Failure, Result
from rails import LINKS, Rails, all_in_use, tail, ways_to_die
from tests import Skip, Test

# How hydra reaches the other host: HOST COMMAND..., the host being the process that holds the namespace.
AGENT = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
shift
exec nsenter -t %d -n sh -c "$*"
"""


class Connected(Rails):
    def __init__(self):
        super().__init__()
        self.setup += """
ip link add c0 type veth peer name c1; ip link set c1 netns $1
ip addr add 10.8.0.1/24 dev c0; ip link set c0 up
nsenter -t $1 -n ip addr add 10.8.0.2/24 dev c1; nsenter -t $1 -n ip link set c1 up
"""


class Lanes:
    """What the logs of all processes say."""

    def __init__(self, folder):
        self.folder = folder

    def count(self):
        """(times a lane was lost, lanes that are missing now)"""
        lost, missing = 0, set()
        for path in sorted(glob.glob(f"{self.folder}/log.*")):
            with open(path) as f:
                for line in f:
                    m = re.search(r"lane (\d+) to worker (\w+) is (lost|in use)", line)
                    if m and m[3] == "lost":
                        lost += 1
                        missing.add((path, m[1], m[2]))
                    elif m:
                        missing.discard((path, m[1], m[2]))
        return lost, missing

    def begun(self):
        """Both processes have both lanes."""
        logs = [open(path).read() for path in glob.glob(f"{self.folder}/log.*")]
        return sum(all_in_use(log) for log in logs) >= 2


def start(ctx, hosts, folder, program):
    agent = f"{folder}/agent"
    with open(agent, "w") as f:
        f.write(AGENT % hosts.holders[1].pid)
    os.chmod(agent, 0o755)
    env = MPICH.environ(ctx, "tcp", UCX_FAILOVER_ENABLE="y", UCX_FAILOVER_RECOVERY_INTERVAL="50ms", UCX_FAILOVER_DETECT_TIME="300ms",
                        UCX_NET_DEVICES=",".join(f"{h}{n}" for h in "ab" for n in range(LINKS)), UCX_WARN_INVALID_CONFIG="n",
                        UCX_LOG_LEVEL="diag", UCX_LOG_FILE=f"{folder}/log.%p")
    env.pop("MPIR_CVAR_NOLOCAL", None)
    command = [*hosts.on(0), MPICH.mpirun, "-launcher", "ssh", "-launcher-exec", agent, "-iface", "c0", "-hosts", "10.8.0.1,10.8.0.2",
               "-ppn", "1", "-np", "2", *program]
    return Background(command, env)


def kill_one(hosts, rng, lanes, running, story):
    """One link is lost, noticed, and comes back. False if the program has ended meanwhile."""
    link, (what, kill, mend) = ways_to_die(hosts, rng)
    story.append(f"link {link}: {what}")
    before, _ = lanes.count()
    kill()
    try:
        if what == "down for a moment":
            time.sleep(0.05 * rng.random())
        elif not wait(running, lambda: lanes.count()[0] > before):
            return False
    finally:
        mend()
    return wait(running, lambda: not lanes.count()[1])


def wait(running, condition):
    end = time.monotonic() + 60
    while not condition():
        if running.p.poll() is not None:
            return False
        if time.monotonic() > end:
            raise Failure("waited 60 s for lanes to be lost, or to be there again")
        time.sleep(0.02)
    return True


def body_for(kills, program, repeat):
    """`program`: from the folder for files to the command. `repeat`: it ends by itself, and is started again."""
    def body(ctx, tls):
        if os.path.realpath(ctx.lib) == os.path.realpath(ctx.genuine):
            raise Skip("genuine UCX fails here")
        seed = random.randrange(1 << 30)
        rng, story, outputs, done = random.Random(seed), [], [], 0
        with Connected() as hosts:
            end = time.monotonic() + 60 + 20 * kills
            while done < kills:
                folder = tempfile.mkdtemp(dir=ctx.scratch)
                lanes = Lanes(folder)
                running = start(ctx, hosts, folder, program(ctx, folder))
                wait(running, lanes.begun)
                while done < kills and running.p.poll() is None:
                    time.sleep(0.3 * rng.random())
                    done += kill_one(hosts, rng, lanes, running, story)
                open(f"{folder}/stop", "w").close()
                rc, out = running.finish(120)
                outputs.append(out)
                logs = "\n".join(tail(path) for path in glob.glob(f"{folder}/log.*"))
                ctx.last = Result(rc, f"seed {seed}\n{out}\n{logs}\n{'; '.join(story[-5:])}", False, {}, 0)
                if rc != 0 or re.search(r"[Ff]ail|[Ee]rror|BAD TERM", out):
                    raise Failure(f"seed {seed}, after {len(story)} kills ({story[-1:]}): status {rc}: {out[-300:]}")
                MPICH.selected(ctx.last, 2)
                if not repeat and "ok end" not in out:
                    raise Failure("no 'ok end' in the output")
                if repeat and "Integrity check passed" not in out:
                    raise Failure("NetPIPE has checked nothing")
                if time.monotonic() > end:
                    raise Failure(f"{done} kills only")
        ctx.note = f"{done} kills, {len(outputs)} runs"

    return body


def ring(ctx, folder):
    return [ctx.compiled(os.path.join(where.HERE, "mpi", "ring.c"), MPICH.compiler), str(8 << 20), f"{folder}/stop"]


def netpipe(ctx, folder):
    return ["/usr/bin/NPmpich2", "-i", "-u", str(4 << 20), "-n", "60", "-o", f"{folder}/np.out"]


def tests():
    return [Test("rails, mpich-4.0.2 ring, 3 kills", "tcp", body_for(3, ring, False)),
            Test("rails, mpich-4.0.2 ring, 10 kills", "tcp", body_for(10, ring, False), smoke=False),
            Test("rails, NetPIPE on mpich-4.0.2, 10 kills", "tcp", body_for(10, netpipe, True), smoke=False)]
