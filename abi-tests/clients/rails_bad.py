"""Error mode FAILOVER on networks that treat it badly: cables that lose, double and reorder packets, or swallow the long
ones; links that come and go ten times a second; addresses that change; peers that are stopped; thousands of endpoints on
a link that is lost; endpoints and workers that end meanwhile."""
import os
import random
import re
import signal
import subprocess
import tempfile
import time

import capi
import where
from proc import Failure, Result
from rails import Rails, Traffic, Watched, kills, tail, until
from tests import Skip, Test

SOON = {"UCX_TCP_KEEPIDLE": "1s", "UCX_TCP_KEEPINTVL": "1s", "UCX_TCP_KEEPCNT": "2"}


class Cables(Rails):
    """The links are bad cables, whose packets a program carries (abi-tests/sim/wire.c)."""
    good = {"loss": 0, "dup": 0, "delay": 0, "jitter": 0, "most": 0}

    def __init__(self, ctx, seed, links=2):
        super().__init__(links)
        self.setup = self.lo
        self.ctx, self.seed = ctx, seed
        self.now = {}

    def __enter__(self):
        wire = self.ctx.compiled(os.path.join(where.REPO, "abi-tests", "sim", "wire.c"), "cc", "-O2")
        super().__enter__()
        command = [wire, str(self.seed), *(str(h.pid) for h in self.holders), str(self.links)]
        self.wire = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1)
        if self.wire.stdout.readline() != "ready\n":
            said = self.wire.stderr.read()
            self.__exit__()
            raise Skip(f"no TAP devices here: {said.strip()}")
        self.change("set -e\n" + "".join(self.addresses(n) for n in range(self.links)))
        return self

    def __exit__(self, *_):
        self.wire.stdin.close()
        self.wire.wait(10)
        super().__exit__()

    def treat(self, link, host, **how):
        """What becomes of packets that the host sends by this link; returns how many have been lost."""
        how = self.now[link, host] = {**self.now.get((link, host), self.good), **how}
        self.wire.stdin.write(f"{link} {host} " + " ".join(f"{name} {value}" for name, value in how.items()) + "\n")
        return int(self.wire.stdout.readline())


def bad_cables(count, ops, loss, most=True):
    """Packets are lost, doubled and overtaken all the time; a link at a time is worse than that."""
    def body(ctx, tls):
        seed = random.randrange(1 << 30)
        rng = random.Random(seed)
        hosts = Cables(ctx, seed)
        with Traffic(ctx, tls, ops, seed, SOON, hosts=hosts) as t:
            usual = {"loss": loss, "dup": 5, "delay": 100, "jitter": 1000, "most": 0}
            for link in range(hosts.links):
                for h in (0, 1):
                    hosts.treat(link, h, **usual)
            t.begun()
            for _ in range(count):
                time.sleep(0.3 * rng.random())
                link, host, lost = rng.randrange(hosts.links), rng.randrange(2), t.lost()
                kinds = [("packets of one end vanish", (host,), {"loss": 1000}), ("packets vanish", (0, 1), {"loss": 1000}),
                         ("down at one end", (), {})] + [("long packets of the leader's vanish", (0,), {"most": 600})] * most
                what, ends, worse = rng.choice(kinds)
                t.story.append(f"link {link}: {what}")
                for h in ends:
                    hosts.treat(link, h, **worse)
                if not ends:
                    hosts.down(link, (host,))
                t.until("a lane is lost", lambda: t.lost() > lost)
                for h in ends:
                    hosts.treat(link, h, **usual)
                if not ends:
                    hosts.up(link)
                t.until("all lanes are there again", t.all_there)
            vanished = sum(hosts.treat(link, h) for link in range(hosts.links) for h in (0, 1))
            for link in range(hosts.links):
                for h in (0, 1):
                    hosts.treat(link, h, **hosts.good)
        ctx.note += f"; {vanished} packets lost"
        if vanished < 50:
            raise Failure(f"only {vanished} packets were lost")

    return body


def swallowed(ctx, tls):
    """A link carries short packets only, so that its lane seems to be alive until it has much to carry: it is tried ever
    less often."""
    seed, lives, pause = random.randrange(1 << 30), 5, 0.4
    hosts = Cables(ctx, seed)
    with Traffic(ctx, tls, "taa", seed, {**SOON, "UCX_FAILOVER_RECOVERY_INTERVAL": f"{pause}s"}, hosts=hosts) as t:
        t.begun()
        hosts.treat(1, 0, most=600)
        def told():
            with open(t.run[0].log) as f:
                return re.findall(r"\[(\d+\.\d+)\].*lane 1 to worker \w+ is (lost|in use)", f.read())
        t.until(f"it is there for the {lives + 1}th time", lambda: sum(what == "in use" for _, what in told()) > lives)
        hosts.treat(1, 0, **hosts.good)
        t.until("all lanes are there again", t.all_there)
        times = [(float(when), what) for when, what in told()]
    # From a death to the next life; what was lost meanwhile again was not in use.
    rests = [next(later for later, kind in times if kind == "in use" and later > when) - when for when, what in times if what == "lost"][:lives]
    ctx.note += "; tried again after " + ", ".join(f"{rest:.1f}" for rest in rests) + " s"
    # The first life may have been a good one: much may have been carried before the link turned bad.
    if any(rest < 0.9 * max(n, 1) * pause for n, rest in enumerate(rests)):
        raise Failure(ctx.note)


def flap(hosts, rng):
    """One of the links but the last, for a tenth of a second."""
    link, one = rng.randrange(hosts.links - 1), (rng.randrange(2),)
    kill, mend = rng.choice([(lambda: hosts.down(link, one), lambda: hosts.up(link)), (lambda: hosts.down(link), lambda: hosts.up(link)),
                             (lambda: hosts.drop(link, one), lambda: hosts.undrop(link, one))])
    kill()
    time.sleep(0.1)
    mend()


def flapping(count, ops, **more):
    """Two links of three come and go."""
    def body(ctx, tls):
        seed = random.randrange(1 << 30)
        rng = random.Random(seed)
        with Traffic(ctx, tls, ops, seed, {**SOON, **more}, hosts=Rails(3)) as t:
            t.begun()
            before = t.lost()
            for _ in range(count):
                flap(t.hosts, rng)
            t.until("all lanes are there again", t.all_there)
            if t.lost() - before < count // 4:
                raise Failure(f"only {t.lost() - before} lanes were lost")

    return body


def moved(ops, **more):
    """The address of one end of a link changes, and is the old one later: until then the link leads nowhere."""
    def body(ctx, tls):
        with Traffic(ctx, tls, ops, random.randrange(1 << 30), {**SOON, **more}) as t:
            t.begun()
            for host in (0, 1):
                for link in range(t.hosts.links):
                    device, old, new = f"{'ab'[host]}{link}", f"10.9.{link}.{host + 1}/24", f"10.9.{link}.77/24"
                    before = t.lost()
                    t.hosts.do(host, "ip", "addr", "del", old, "dev", device)
                    t.hosts.do(host, "ip", "addr", "add", new, "dev", device)
                    t.until("a lane is lost", lambda: t.lost() > before)
                    time.sleep(0.5)
                    t.hosts.do(host, "ip", "addr", "del", new, "dev", device)
                    t.hosts.do(host, "ip", "addr", "add", old, "dev", device)
                    # A lane may have been opened from the new address meanwhile: it leads nowhere now.
                    t.until("nobody uses the new address", lambda: new[:-3] not in t.hosts.sockets(host))
                    t.until("all lanes are there again", t.all_there)

    return body


def one_comes_back(ctx, tls):
    """Packets of both links vanish at once. The one whose lane was given up first is back, while the other, whose lane is
    the last one then, stays away: nobody waits for as long as the last lane is waited for."""
    patient = {"UCX_KEEPALIVE_INTERVAL": "100s", "UCX_FAILOVER_DETECT_TIME": "1s"}
    with Traffic(ctx, tls, "taspgfn", random.randrange(1 << 30), patient) as t:
        t.begun()
        lead = t.run[0]
        t.hosts.down(0)
        t.until("the first lane is lost", lambda: all(p.lanes()[1] for p in t.run))
        (lane_of_first,) = lead.lanes()[1]
        t.hosts.up(0)
        t.until("all lanes are there again", t.all_there)
        for _ in range(3):
            for link in range(2):
                t.hosts.drop(link)
            t.until("a lane is lost", lambda: lead.lanes()[1])
            back = 0 if lane_of_first in lead.lanes()[1] else 1
            t.hosts.undrop(back)
            t.until("its lane is used again", lambda: len(lead.lanes()[1]) == 1 and (lane_of_first in lead.lanes()[1]) == (back == 1))
            t.hosts.undrop(1 - back)
            t.until("all lanes are there again", t.all_there)


def stopped(seconds, ops, **more):
    """The follower is stopped while a link is lost. It is alive: nothing fails, and all goes on later."""
    def body(ctx, tls):
        with Traffic(ctx, tls, ops, random.randrange(1 << 30), {"RAILS_PATIENCE": str(seconds + 60), **more}) as t:
            t.begun()
            for link in range(t.hosts.links):
                os.kill(t.run[1].p.pid, signal.SIGSTOP)
                time.sleep(0.5)
                before = t.run[0].lanes()[0]
                t.hosts.down(link)
                t.until("the leader's lane is lost", lambda: t.run[0].lanes()[0] > before)
                time.sleep(seconds)
                if link:
                    t.hosts.up(link)
                os.kill(t.run[1].p.pid, signal.SIGCONT)
                if not link:
                    time.sleep(0.5)
                    t.hosts.up(link)
                t.until("all lanes are there again", t.all_there)

    return body


def asleep(ctx, tls):
    """Both processes sleep whenever they have nothing to do. A lane whose packets vanish is found, and used again, all
    the same: in the time that is set for that, not after a keepalive interval."""
    more = {**SOON, "RAILS_SLEEPS": "1", "UCX_KEEPALIVE_INTERVAL": "100s"}
    with Traffic(ctx, tls, "taspgfn", random.randrange(1 << 30), more) as t:
        t.begun()
        for ends in ((0,), (1,), (0, 1)):
            for link in range(t.hosts.links):
                before = t.lost()
                t.hosts.drop(link, ends)
                t.until("a lane is lost", lambda: t.lost() > before)
                t.hosts.undrop(link, ends)
                t.until("all lanes are there again", t.all_there)


def torn(rounds, **more):
    """abi-tests/capi/torn_rails.c, with links that come and go."""
    def body(ctx, tls):
        if os.path.realpath(ctx.lib) == os.path.realpath(ctx.genuine):
            raise Skip("genuine UCX fails here")
        seed = random.randrange(1 << 30)
        rng = random.Random(seed)
        binary = capi.program(ctx, "torn_rails", "1.22.0")
        env = where.environ(ctx.lib, tls, UCX_FAILOVER_RECOVERY_INTERVAL="50ms", UCX_FAILOVER_DETECT_TIME="300ms", **SOON, **more)
        with Rails(3) as hosts:
            scratch = tempfile.mkdtemp(dir=ctx.scratch)
            run = [Watched([*hosts.on(h), binary, role, scratch, str(seed), str(rounds)], {**env, "UCX_NET_DEVICES": hosts.devices(h)},
                           f"{scratch}/{role}.log") for h, role in enumerate(("lead", "follow"))]
            open(f"{scratch}/stop", "w").close()
            try:
                end = time.monotonic() + 600
                while any(p.p.poll() is None for p in run) and time.monotonic() < end:
                    flap(hosts, rng)
                    if any(p.p.poll() not in (None, 0) for p in run):
                        break
            finally:
                lost = sum(p.lanes()[0] for p in run)
                ends = [p.finish(30) for p in run]
                said = f"seed {seed}\n" + "\n".join(f"--- status {rc}: {out}" for rc, out in ends)
                ctx.last = Result(0, said + "\n" + "\n".join(tail(p.log, 40) for p in run), False, {}, 0)
        if any(rc != 0 or not out.rstrip().endswith("end") for rc, out in ends):
            raise Failure(said[-600:])
        ctx.note = f"{lost} lanes lost; {ends[1][1].splitlines()[-2]}"
        if lost < rounds // 20:
            raise Failure(f"only {lost} lanes were lost")

    return body


def crowd(count):
    """abi-tests/capi/crowd_rails.c: all endpoints of a worker lose the same lane, and have it again."""
    def body(ctx, tls):
        if os.path.realpath(ctx.lib) == os.path.realpath(ctx.genuine):
            raise Skip("genuine UCX fails here")
        binary = capi.program(ctx, "crowd_rails", "1.22.0")
        env = where.environ(ctx.lib, tls, UCX_FAILOVER_DETECT_TIME="500ms", UCX_FAILOVER_RECOVERY_INTERVAL="200ms")
        with Rails() as hosts:
            scratch = tempfile.mkdtemp(dir=ctx.scratch)
            there = lambda name: os.path.exists(f"{scratch}/{name}")
            touch = lambda name: open(f"{scratch}/{name}", "w").close()
            run = [Watched([*hosts.on(h), binary, role, scratch, str(count)], {**env, "UCX_NET_DEVICES": hosts.devices(h)},
                           f"{scratch}/{role}.log") for h, role in enumerate(("lead", "follow"))]
            lines = lambda what: sum(len(re.findall(what, open(p.log).read())) for p in run if os.path.exists(p.log))
            try:
                until("all have answered", lambda: there("met"), run, 200)
                until("all lanes are there", lambda: lines("is in use") >= 4 * count, run, 100)
                hosts.down(0)
                until("all have lost a lane", lambda: lines("is lost") >= 2 * count, run, 100)
                touch("lost")
                until("all have answered since", lambda: there("passed"), run, 200)
                hosts.up(0)
                until("all lanes are there again", lambda: lines("is in use") >= 6 * count, run, 200)
                touch("back")
            finally:
                touch("back"), touch("lost"), touch("stop")
                ends = [p.finish(200) for p in run]
                said = "\n".join(f"--- status {rc}: {out}" for rc, out in ends)
                ctx.last = Result(0, said + "\n" + "\n".join(tail(p.log, 5) for p in run), False, {}, 0)
        if any(rc != 0 or not out.rstrip().endswith("end") for rc, out in ends):
            raise Failure(said[-400:])
        ctx.note = ends[0][1].splitlines()[-2]

    return body


def sixteen(ctx, tls):
    """Sixteen links: each carries its part of large messages; all but one are lost, and are used again."""
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    with Traffic(ctx, tls, "taa", seed, {**SOON, "UCX_MAX_RNDV_RAILS": "16", "UCX_RNDV_SCHEME": "am"}, hosts=Rails(16)) as t:
        t.begun()
        def all_carry():
            before = [t.hosts.sent(0, n) for n in range(16)]
            t.until("every link carries a part", lambda: all(t.hosts.sent(0, n) > before[n] + (2 << 20) for n in range(16)))
        all_carry()
        left, *order = rng.sample(range(16), 16)
        t.story.append(f"link {left} is left")
        for n, link in enumerate(order):
            (t.hosts.down if n % 2 else t.hosts.drop)(link)
        t.until("fifteen lanes are lost", lambda: all(len(p.lanes()[1]) == 15 for p in t.run))
        sent = t.hosts.sent(0, left)
        t.until("the last one carries all", lambda: t.hosts.sent(0, left) > sent + (20 << 20))
        for n, link in enumerate(order):
            (t.hosts.up if n % 2 else t.hosts.undrop)(link)
        t.until("all lanes are there again", t.all_there)
        all_carry()


def tests():
    small, everything = {"UCX_FAILOVER_BUFFER": "64k"}, "taspgfn"
    sleeps = {"RAILS_SLEEPS": "1"}
    found = [Test("rails, bad cables, 5 times worse", "tcp", bad_cables(5, everything, 5)),
             Test("rails, bad cables, 40 times worse", "tcp", bad_cables(40, everything, 10), smoke=False),
             Test("rails, a link that swallows long packets", "tcp", swallowed),
             Test("rails, links that flap, 30 times", "tcp", flapping(30, everything)),
             Test("rails, links that flap, 600 times", "tcp", flapping(600, everything), smoke=False),
             Test("rails, links that flap, eager messages share, 100 times", "tcp",
                  flapping(100, "tas", UCX_RNDV_THRESH="inf", UCX_MAX_EAGER_RAILS="3"), smoke=False),
             Test("rails, other addresses", "tcp", moved(everything)),
             Test("rails, both links are lost, one comes back", "tcp", one_comes_back),
             Test("rails, a peer that is stopped for 3 s", "tcp", stopped(3, everything)),
             Test("rails, a peer that is stopped for 2 minutes", "tcp", stopped(120, everything), smoke=False),
             Test("rails, 10 kills, a small buffer", "tcp", kills(10, everything, small), smoke=False),
             Test("rails, 50 kills, a small buffer, whales", "tcp", kills(50, everything + "w", small), smoke=False),
             Test("rails, 10 kills, sleeping", "tcp", kills(10, everything, sleeps)),
             Test("rails, packets vanish, sleeping", "tcp", asleep),
             Test("rails, 100 kills, sleeping", "tcp", kills(100, everything, sleeps), smoke=False),
             Test("rails, ends while links flap, 60 rounds", "tcp", torn(60)),
             Test("rails, ends while links flap, 300 rounds", "tcp", torn(300), smoke=False),
             Test("sixteen rails", "tcp", sixteen),
             Test("rails, 200 endpoints lose a lane", "tcp", crowd(200)),
             Test("rails, 1000 endpoints lose a lane", "tcp", crowd(1000), smoke=False)]
    return found
