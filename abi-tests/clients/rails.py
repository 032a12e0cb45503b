"""Two hosts joined by two links, one of which is lost and comes back, again and again, while every kind of operation
goes on (abi-tests/capi/rails.c). Error mode FAILOVER: nobody sees an error, nothing is lost, doubled or out of order."""
import os
import random
import re
import subprocess
import tempfile
import time

import capi
import where
from hosts import Hosts
from proc import Background, Failure, Result
from tests import Skip, Test, succeeded

LINKS = 2
# A filter that no packet passes.
NOTHING = ["root", "tbf", "rate", "8bit", "burst", "1", "limit", "1"]


class Rails(Hosts):
    """Hosts 0 and 1; link n between devices n0 and n1 as a<n> and b<n>."""
    lo = "set -e\nip link set lo up; nsenter -t $1 -n ip link set lo up\n"

    def __init__(self, links=LINKS):
        self.links = links
        self.setup = self.lo + "".join(f"""
ip link add a{n} type veth peer name b{n}; ip link set b{n} netns $1
""" + self.addresses(n) for n in range(links))

    @staticmethod
    def addresses(n):
        return f"""
ip addr add 10.9.{n}.1/24 dev a{n}; ip link set a{n} up
nsenter -t $1 -n ip addr add 10.9.{n}.2/24 dev b{n}; nsenter -t $1 -n ip link set b{n} up
"""

    def devices(self, host):
        return ",".join(f"{'ab'[host]}{n}" for n in range(self.links))

    def do(self, host, *command):
        subprocess.run([*self.on(host), *command], check=True, capture_output=True, text=True)

    def sent(self, host, link):
        """Bytes that it has sent."""
        with open(f"/proc/{self.holders[host].pid}/net/dev") as f:
            return int(re.search(rf"{'ab'[host]}{link}:(.*)", f.read())[1].split()[8])

    def sockets(self, host):
        """The TCP connections of a host, as `ss` shows them; not those that are closed and yet to say so."""
        return subprocess.run([*self.on(host), "ss", "-Htn", "state", "established"], check=True, capture_output=True, text=True).stdout

    def down(self, link, hosts=(0, 1)):
        for h in hosts:
            self.do(h, "ip", "link", "set", f"{'ab'[h]}{link}", "down")

    def up(self, link):
        for h in (0, 1):
            self.do(h, "ip", "link", "set", f"{'ab'[h]}{link}", "up")

    def drop(self, link, hosts=(0, 1)):
        """Packets vanish; the link itself seems to work."""
        for h in hosts:
            self.do(h, "tc", "qdisc", "add", "dev", f"{'ab'[h]}{link}", *NOTHING)

    def slow(self, link, host, rate):
        """A narrow link, with a queue that is long enough for what TCP has on its way."""
        self.do(host, "tc", "qdisc", "add", "dev", f"{'ab'[host]}{link}", "root", "tbf", "rate", rate, "burst", "64kb", "latency", "1s")

    def rest(self, link, host, rests):
        """The link seems not to run by the flags that the kernel tells (RFC 2863), and carries packets all the same."""
        device = f"{'ab'[host]}{link}"
        self.do(host, "ip", "link", "set", device, "mode", "dormant" if rests else "default")
        self.do(host, "ip", "link", "set", device, "state", "dormant" if rests else "up")
        shown = subprocess.run([*self.on(host), "ip", "link", "show", device], check=True, capture_output=True, text=True).stdout
        if ("state DORMANT" in shown) != rests:
            raise Failure(f"the link's state: {shown}")

    def undrop(self, link, hosts=(0, 1)):
        for h in hosts:
            self.do(h, "tc", "qdisc", "del", "dev", f"{'ab'[h]}{link}", "root")

    def reset(self, link, host):
        """The sockets of this link are reset. A kernel that can't do that says nothing, and does nothing."""
        found = subprocess.run([*self.on(host), "ss", "-HtnK", "src", f"10.9.{link}.{host + 1}"], capture_output=True, text=True)
        if f"10.9.{link}." not in found.stdout:
            self.down(link, (host,))
            time.sleep(0.1)
            self.up(link)


def ways_to_die(hosts, rng):
    """(name, kill, mend): what happens to a link."""
    link = rng.randrange(LINKS)
    one = (rng.randrange(2),)
    return link, rng.choice([
        ("down at both ends", lambda: hosts.down(link), lambda: hosts.up(link)),
        ("down at one end", lambda: hosts.down(link, one), lambda: hosts.up(link)),
        ("down for a moment", lambda: hosts.down(link), lambda: hosts.up(link)),
        ("packets vanish", lambda: hosts.drop(link), lambda: hosts.undrop(link)),
        ("packets of one end vanish", lambda: hosts.drop(link, one), lambda: hosts.undrop(link, one)),
        ("sockets are reset", lambda: hosts.reset(link, one[0]), lambda: None),
    ])


class Watched(Background):
    """A process whose log says which lanes it has."""

    def __init__(self, command, env, log, links=LINKS):
        self.log, self.links = log, links
        super().__init__(command, {**env, "UCX_LOG_LEVEL": "diag", "UCX_LOG_FILE": log})

    def lanes(self):
        """(times a lane was lost, lanes that are missing now)"""
        lost, missing = 0, set()
        try:
            with open(self.log) as f:
                for line in f:
                    m = re.search(r"lane (\d+) to worker \w+ is (lost|in use)", line)
                    if m and m[2] == "lost":
                        lost += 1
                        missing.add(m[1])
                    elif m:
                        missing.discard(m[1])
        except FileNotFoundError:
            pass
        return lost, missing

    def holds(self):
        """(open descriptors, resident MiB)"""
        with open(f"/proc/{self.p.pid}/statm") as f:
            return len(os.listdir(f"/proc/{self.p.pid}/fd")), int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") >> 20

    def begun(self):
        """Both lanes have answered: all links were there when the process looked for them."""
        try:
            with open(self.log) as f:
                return all_in_use(f.read(), self.links)
        except FileNotFoundError:
            return False


def all_in_use(log, links=LINKS):
    return len(set(re.findall(r"lane (\d+) to worker \w+ is in use", log))) == links


def until(what, condition, processes, limit=60):
    end = time.monotonic() + limit
    while not condition():
        if any(p.p.poll() is not None for p in processes):
            raise Failure(f"a process has ended while waiting until {what}")
        if time.monotonic() > end:
            raise Failure(f"waited {limit} s until {what}")
        time.sleep(0.01)


class Traffic:
    """A leader and a follower on two hosts, with everything checked at the end."""

    def __init__(self, ctx, tls, ops, seed, more, mode="2", hosts=None):
        if os.path.realpath(ctx.lib) == os.path.realpath(ctx.genuine):
            raise Skip("genuine UCX fails here")
        self.ctx, self.seed, self.ops, self.mode, self.story = ctx, seed, ops, mode, []
        self.hosts = hosts or Rails()
        self.binary = capi.program(ctx, "rails", "1.22.0")
        self.env = where.environ(ctx.lib, tls, **{"UCX_FAILOVER_RECOVERY_INTERVAL": "50ms", "UCX_FAILOVER_DETECT_TIME": "300ms", **more})

    def __enter__(self):
        self.hosts.__enter__()
        self.dir = tempfile.mkdtemp(dir=self.ctx.scratch)
        self.run = []
        for h, role in enumerate(("lead", "follow")):
            env = {**self.env, "UCX_NET_DEVICES": self.hosts.devices(h)}
            if "UCX_FAILOVER_STATS" in env:
                env["UCX_FAILOVER_STATS"] = f"file:{self.dir}/{role}.stats"
            self.run.append(Watched([*self.hosts.on(h), self.binary, role, self.dir, str(self.seed), self.ops, self.mode], env, f"{self.dir}/{role}.log",
                                    self.hosts.links))
        return self

    def until(self, what, condition):
        until(what, condition, self.run)

    def begun(self):
        self.until("all lanes are there", lambda: all(p.begun() for p in self.run))

    def all_there(self):
        return not any(p.lanes()[1] for p in self.run)

    def lost(self):
        return sum(p.lanes()[0] for p in self.run)

    def counts(self):
        """What each process has counted, after its end: name to number."""
        found = []
        for role in ("lead", "follow"):
            with open(f"{self.dir}/{role}.stats") as f:
                found.append({name: int(n) for name, n in re.findall(r"(\w+): (\d+)$", f.read(), re.M)})
        return found

    def __exit__(self, kind, error, trace):
        lost = self.lost()
        open(f"{self.dir}/stop", "w").close()
        ends = [p.finish(150) for p in self.run]
        self.hosts.__exit__()
        said = "\n".join(f"--- status {rc}: {out}" for rc, out in ends)
        logs = "\n".join(tail(p.log) for p in self.run)
        self.ctx.last = Result(0, f"seed {self.seed}\n{said}\n{logs}\n" + "; ".join(self.story[-5:]), False, {}, 0)
        bad = [out for rc, out in ends if rc != 0 or not out.rstrip().endswith("end")]
        if bad:
            raise Failure(f"seed {self.seed}, after {len(self.story)} kills ({self.story[-1:]}): {bad[0][-300:]}")
        self.ctx.note = f"{lost} lanes lost; {ends[0][1].splitlines()[0]}"


def kills(count, ops, more=None):
    """So many deaths of a link, at random moments of a mixture of operations."""
    def body(ctx, tls):
        seed = random.randrange(1 << 30)
        rng = random.Random(seed)
        # A connection that is gone at its other end only is found soon.
        soon = {"UCX_TCP_KEEPIDLE": "1s", "UCX_TCP_KEEPINTVL": "1s", "UCX_TCP_KEEPCNT": "2"}
        with Traffic(ctx, tls, ops, seed, {**soon, **(more or {})}) as t:
            t.begun()
            first = [p.holds() for p in t.run]
            for done in range(count):
                if done == count // 5:
                    # What is used once is there by now. A link has one connection, or one each way.
                    first = [p.holds() for p in t.run]
                time.sleep(rng.choice([0, 0.01, 0.05, 0.2]) * rng.random())
                link, (what, kill, mend) = ways_to_die(t.hosts, rng)
                t.story.append(f"link {link}: {what}")
                before = [p.lanes()[0] for p in t.run]
                kill()
                if what == "down for a moment":
                    time.sleep(0.05 * rng.random())
                else:
                    t.until("a lane is lost", lambda: any(p.lanes()[0] > n for p, n in zip(t.run, before)))
                mend()
                t.until("all lanes are there again", t.all_there)
            t.until("no descriptor is left over", lambda: all(p.holds()[0] <= before[0] + LINKS for p, before in zip(t.run, first)))
            last = [p.holds() for p in t.run]
            t.story.append(f"descriptors and MiB {first}, {last}")
            if count >= 100 and any(now[1] > before[1] + 300 for now, before in zip(last, first)):
                raise Failure(f"memory grows: {t.story[-1]}")

    return body


def faults(ops, count, **more):
    """Faults are injected into one rail at both ends, until so many lanes were lost."""
    def body(ctx, tls):
        with Traffic(ctx, tls, ops, random.randrange(1 << 30), {"UCX_FAULT_LANES": "tcp/a0,tcp/b0", **more}) as t:
            t.until(f"{count} lanes are lost", lambda: t.lost() >= count)
            t.until("all lanes are there again", t.all_there)

    return body


def counted(ops, count, **more):
    """UCX_FAILOVER_STATS tells what happened: as many lanes as the log says were lost, and are used again; the
    message that was refused was sent again. What had arrived is not, since the ends agree on that first."""
    def body(ctx, tls):
        with Traffic(ctx, tls, ops, random.randrange(1 << 30), {"UCX_FAULT_LANES": "tcp/a0,tcp/b0", "UCX_FAILOVER_STATS": "file", **more}) as t:
            t.until(f"{count} lanes are lost", lambda: t.lost() >= count)
            t.until("all lanes are there again", t.all_there)
        lead, follow = t.counts()
        ctx.note = "; ".join(f"{name} {lead[name]} and {follow[name]}" for name in lead if lead[name] or follow[name])
        for own, other, p in ((lead, follow, t.run[0]), (follow, lead, t.run[1])):
            if not own["lanes_used_again"] <= own["lanes_lost"] <= p.lanes()[0]:
                raise Failure(f"{p.lanes()[0]} lanes were lost by the log; counted: {own}")
            if own["duplicates_dropped"] > other["messages_sent_again"]:
                raise Failure(f"more came twice than were sent again: {own}, {other}")
        total = {name: lead[name] + follow[name] for name in lead}
        missing = [name for name in ("lanes_lost", "lanes_used_again", "messages_sent_again") if total[name] == 0]
        if missing:
            raise Failure(f"not counted: {missing}; {total}")

    return body


def aside(ctx, tls):
    """A link that carries nothing is lost, tried again and again, and used again. Traffic on the other one isn't disturbed:
    not a message is sent a second time."""
    single = {f"UCX_MAX_{what}_RAILS": "1" for what in ("EAGER", "RNDV", "RMA")}
    more = {**single, "UCX_FAILOVER_RECOVERY_INTERVAL": "10ms", "UCX_FAILOVER_STATS": "file"}
    hosts = Rails()
    # Messages in order stay with the lane that was there first.
    nothing = " ".join(NOTHING)
    hosts.setup += f"tc qdisc add dev a1 {nothing}; nsenter -t $1 -n tc qdisc add dev b1 {nothing}\n"
    with Traffic(ctx, tls, "taspgfn", random.randrange(1 << 30), more, hosts=hosts) as t:
        def carried(mib):
            before = t.hosts.sent(0, 0)
            t.until(f"{mib} MiB have been sent", lambda: t.hosts.sent(0, 0) >= before + (mib << 20))

        carried(1)
        t.hosts.undrop(1)
        t.begun()
        t.hosts.down(1)
        t.until("its lane is lost", lambda: all(p.lanes()[1] for p in t.run))
        carried(30)
        t.hosts.up(1)
        t.until("all lanes are there again", t.all_there)
        carried(10)
    for counts in t.counts():
        seen = [counts[name] for name in ("lanes_lost", "lanes_used_again", "messages_sent_again", "duplicates_dropped")]
        if seen != [1, 1, 0, 0]:
            raise Failure(f"counted: {counts}")


def shared(mode, ops, mib=40, host=0, one=False, **more):
    """Large messages are shared among the links, without failover too: both carry a good part of the bytes that this
    host sends; or, where only `one` is to be used, the other next to nothing."""
    def body(ctx, tls):
        with Traffic(ctx, tls, ops, random.randrange(1 << 30), more, mode) as t:
            if mode == FAILOVER:
                # A lane carries nothing before the peer has answered by it.
                t.begun()
            before = [t.hosts.sent(host, n) for n in range(LINKS)]
            sent = lambda: [t.hosts.sent(host, n) - before[n] for n in range(LINKS)]
            t.until(f"{mib} MiB have been sent", lambda: sum(sent()) >= mib << 20)
            sent = sent()
        ctx.note = f"{sent[0] >> 20} and {sent[1] >> 20} MiB"
        # Small messages and acknowledgements take the first.
        if one != (min(sent) * (20 if one else 10) < max(sent)):
            raise Failure(f"{sent[0]} and {sent[1]} bytes went over the links")

    return body


def recovered(ctx, tls):
    """A link that was lost and is back carries large messages again, and nobody has noticed."""
    with Traffic(ctx, tls, "taa", random.randrange(1 << 30), {}) as t:
        t.begun()
        for kill, mend in ((t.hosts.down, t.hosts.up), (t.hosts.drop, t.hosts.undrop)):
            for link in range(LINKS):
                before = t.lost()
                kill(link)
                t.until("the lane is lost", lambda: t.lost() > before)
                mend(link)
                t.until("all lanes are there again", t.all_there)
                sent = t.hosts.sent(0, link)
                t.until("the link carries a good part again", lambda: t.hosts.sent(0, link) > sent + (30 << 20))


def resting(ctx, tls):
    """A link whose flags say that it does not run, though its driver has a carrier, as while it comes up, is not lost:
    it goes on carrying bytes."""
    with Traffic(ctx, tls, "taa", random.randrange(1 << 30), {}) as t:
        t.begun()
        before = t.lost()
        for link in range(LINKS):
            for host in (0, 1):
                t.hosts.rest(link, host, True)
            sent = t.hosts.sent(0, link)
            t.until("the link carries a good part all the same", lambda: t.hosts.sent(0, link) > sent + (10 << 20))
            for host in (0, 1):
                t.hosts.rest(link, host, False)
        if t.lost() != before:
            raise Failure(f"{t.lost() - before} lanes were lost with links that rest")


def fenced(mode, slow, **more):
    """Puts that both links share, of which one is slow: nobody sees what was put behind a fence before them."""
    def body(ctx, tls):
        if os.path.realpath(ctx.lib) == os.path.realpath(ctx.genuine):
            raise Skip("two rails of genuine UCX over this: see README")
        binary = capi.program(ctx, "fence_rails", "1.22.0")
        env = where.environ(ctx.lib, tls, UCX_FAILOVER_RECOVERY_INTERVAL="50ms", UCX_FAILOVER_DETECT_TIME="300ms", **more)
        with Rails() as hosts:
            if slow is not None:
                hosts.slow(slow, 0, "200mbit")
            scratch = tempfile.mkdtemp(dir=ctx.scratch)
            run = [Watched([*hosts.on(h), binary, role, scratch, mode],
                           {**env, "UCX_NET_DEVICES": ",".join(f"{'ab'[h]}{n}" for n in range(LINKS))},
                           f"{scratch}/{role}.log") for h, role in enumerate(("lead", "follow"))]
            ends = [p.finish(100) for p in run]
            sent = [hosts.sent(0, n) for n in range(LINKS)]
            hits = sum(tail(p.log, 10000).count("fault injection: a lane") for p in run)
            ctx.last = Result(0, "\n".join(f"--- status {rc}: {out}" for rc, out in ends) + "\n".join(tail(p.log) for p in run), False, {}, 0)
        if any(rc != 0 or not out.rstrip().endswith("end") for rc, out in ends):
            raise Failure(ctx.last.out[-400:])
        ctx.note = f"{ends[1][1].splitlines()[0]}; {sent[0] >> 20} and {sent[1] >> 20} MiB; {hits} faults"
        if min(sent) < 1 << 20:
            raise Failure(f"{sent[0]} and {sent[1]} bytes went over the links")
        if ("UCX_FAULT_LANES" in more) != (hits != 0):
            raise Failure(f"{hits} faults")

    return body


def near(ops, **more):
    """On one host, over shared memory and TCP at once, because the user wants it: both carry much, and all is right."""
    def body(ctx, tls):
        if os.path.realpath(ctx.lib) == os.path.realpath(ctx.genuine):
            raise Skip("rails.c knows what our libraries do")
        binary = capi.program(ctx, "rails", "1.22.0")
        env = where.environ(ctx.lib, "self,sm,tcp", UCX_WARN_UNUSED_ENV_VARS="n", **more)
        with Rails() as hosts:
            scratch = tempfile.mkdtemp(dir=ctx.scratch)
            run = [Watched([*hosts.on(0), binary, role, scratch, "7", ops, "0"], env, f"{scratch}/{role}.log") for role in ("lead", "follow")]
            def sent():
                with open(f"/proc/{hosts.holders[0].pid}/net/dev") as f:
                    return int(re.search(r"lo:(.*)", f.read())[1].split()[8]) >> 20
            try:
                until("10 MiB have gone over TCP", lambda: sent() >= 10, run)
            finally:
                open(f"{scratch}/stop", "w").close()
                ends = [p.finish(60) for p in run]
                ctx.last = Result(0, "\n".join(f"--- status {rc}: {out}" for rc, out in ends), False, {}, 0)
        if any(rc != 0 or not out.rstrip().endswith("end") for rc, out in ends):
            raise Failure(ctx.last.out[-400:])
        ctx.note = ends[0][1].splitlines()[0]

    return body


def stages(*arguments, devices=False, valgrind=False):
    """Every stage of every protocol, in one process. The table is the output."""
    def body(ctx, tls):
        if os.path.realpath(ctx.lib) == os.path.realpath(ctx.genuine):
            raise Skip("genuine UCX fails here")
        log = os.path.join(tempfile.mkdtemp(dir=ctx.scratch), "log")
        open(log, "w").close()
        env = where.environ(ctx.lib, None, UCX_LOG_LEVEL="diag", UCX_LOG_FILE=log, UCX_WARN_UNUSED_ENV_VARS="n")
        what, *rest = arguments
        command = [capi.program(ctx, "stages", "1.22.0"), what, *(["d0,d1"] if devices else []), log, *rest]
        if valgrind:
            command = [*capi.VALGRIND_COMMAND, *command]
        if devices:
            made = "".join(f"ip link add d{n} type veth peer name e{n}; ip addr add 10.9.{n}.1/24 dev d{n}; ip link set d{n} up; ip link set e{n} up; " for n in range(2))
            command = ["unshare", "-n", "sh", "-ec", f'ip link set lo up; {made} exec "$@"', "sh", *command]
        r = ctx.run(command, env, 900)
        succeeded(r, "end")
        if re.search(r"^==\d+== ", r.out, re.M):
            raise Failure("valgrind complains")
        print(r.out.rsplit("end", 1)[0], end="")
        ctx.note = r.out.splitlines()[-2]

    return body


FAILOVER, PEER = "2", "1"


def last_rail(kind, mode, busy):
    """All links are lost at once: every request ends, within the bound, once; then the same processes connect again."""
    def body(ctx, tls):
        if os.path.realpath(ctx.lib) == os.path.realpath(ctx.genuine):
            raise Skip("genuine UCX fails here")
        binary = capi.program(ctx, "last_rail", "1.22.0")
        keepalive, detect = 0.5, 0.3
        env = where.environ(ctx.lib, tls, UCX_KEEPALIVE_INTERVAL=f"{keepalive}s", UCX_FAILOVER_DETECT_TIME=f"{detect}s",
                            UCX_FAILOVER_RECOVERY_INTERVAL="50ms", UCX_TCP_KEEPIDLE="1s", UCX_TCP_KEEPINTVL="1s", UCX_TCP_KEEPCNT="2")
        with Rails() as hosts:
            scratch = tempfile.mkdtemp(dir=ctx.scratch)
            roles = ("lead", "follow")
            both = lambda what: all(os.path.exists(f"{scratch}/{what}-{role}") for role in roles)
            run = [Watched([*hosts.on(h), binary, role, scratch, mode, "busy" if busy else "idle"],
                           {**env, "UCX_NET_DEVICES": ",".join(f"{'ab'[h]}{n}" for n in range(LINKS))},
                           f"{scratch}/{role}.log") for h, role in enumerate(roles)]
            try:
                until("traffic is under way", lambda: both("ready"), run)
                time.sleep(0.2)
                for link in range(LINKS):
                    hosts.down(link) if kind == "down" else hosts.drop(link)
                killed = time.monotonic()
                until("both have failed", lambda: both("failed"), run)
                took = time.monotonic() - killed
                for link in range(LINKS):
                    hosts.up(link) if kind == "down" else hosts.undrop(link)
                open(f"{scratch}/again", "w").close()
            finally:
                ends = [p.finish(60) for p in run]
                said = "\n".join(f"--- status {rc}: {out}" for rc, out in ends)
                ctx.last = Result(0, said + "\n" + "\n".join(tail(p.log) for p in run), False, {}, 0)
        if any(rc != 0 or not out.rstrip().endswith("end") for rc, out in ends):
            raise Failure(said[-400:])
        # README: three keepalive intervals, two retransmissions, and the time for which all are tried again; one more
        # interval where nothing is under way; and 5 s for a machine that does other work.
        # Error mode PEER: what UCX_TCP_KEEP* say, after one interval, or two retransmissions.
        bound = (3 + (not busy)) * keepalive + 0.6 + detect + 5 if mode == FAILOVER else keepalive + 3 + 0.6 + 5
        ctx.note = f"all ended after {took:.1f} s; {'; '.join(out.splitlines()[-2] for _, out in ends)}"
        if took > bound:
            raise Failure(f"it took {took:.1f} s, the bound is {bound:.1f}")

    return body


def blinks(rounds):
    """All links are lost for a moment that may be too long: both sides go on, or both fail within the bound; then they
    connect again. Never one without the other."""
    def body(ctx, tls):
        if os.path.realpath(ctx.lib) == os.path.realpath(ctx.genuine):
            raise Skip("genuine UCX fails here")
        binary = capi.program(ctx, "last_rail", "1.22.0")
        keepalive, detect = 0.5, 0.3
        seed = random.randrange(1 << 30)
        rng = random.Random(seed)
        env = where.environ(ctx.lib, tls, UCX_KEEPALIVE_INTERVAL=f"{keepalive}s", UCX_FAILOVER_DETECT_TIME=f"{detect}s",
                            UCX_FAILOVER_RECOVERY_INTERVAL="50ms")
        with Rails() as hosts:
            scratch = tempfile.mkdtemp(dir=ctx.scratch)
            roles = ("lead", "follow")
            there = lambda name: os.path.exists(f"{scratch}/{name}")
            both = lambda what: all(there(f"{what}-{role}") for role in roles)
            touch = lambda name: open(f"{scratch}/{name}", "w").close()
            run = [Watched([*hosts.on(h), binary, role, scratch, FAILOVER, "blink", str(rounds)],
                           {**env, "UCX_NET_DEVICES": ",".join(f"{'ab'[h]}{n}" for n in range(LINKS))},
                           f"{scratch}/{role}.log") for h, role in enumerate(roles)]
            try:
                until("traffic is under way", lambda: both("ready"), run)
                for n in range(rounds):
                    time.sleep(0.1 + 0.2 * rng.random())
                    # Often about as long as a side waits before it gives up.
                    dark = rng.choice([0, 0.05, detect, detect, detect, 2 * detect]) + 0.15 * rng.random()
                    for link in range(LINKS):
                        hosts.down(link, rng.choice([(0,), (1,), (0, 1)]))
                    time.sleep(dark)
                    for link in range(LINKS):
                        hosts.up(link)
                    touch(f"check-{n}")
                    # What is awaited from a lane that still seems to be one is what takes longest.
                    until(f"both go on, or both have failed (round {n}, dark for {dark:.2f} s)",
                          lambda: both(f"alive-{n}") and not any(there(f"failed-{n}-{role}") for role in roles) or both(f"failed-{n}"), run, 30)
                    touch(f"next-{n}")
                    if there(f"failed-{n}-lead"):
                        until(f"they have connected again (round {n})", lambda: both(f"again-{n}"), run, 30)
            finally:
                ends = [p.finish(60) for p in run]
                said = f"seed {seed}\n" + "\n".join(f"--- status {rc}: {out}" for rc, out in ends)
                ctx.last = Result(0, said + "\n" + "\n".join(tail(p.log, 40) for p in run), False, {}, 0)
        if any(rc != 0 or not out.rstrip().endswith("end") for rc, out in ends):
            raise Failure(said[-400:])
        ctx.note = ends[0][1].splitlines()[-2]

    return body


def tail(path, lines=15):
    try:
        with open(path) as f:
            return "".join(f.readlines()[-lines:])
    except FileNotFoundError:
        return ""


def tests():
    found = [Test("rails, 25 kills, all operations", "tcp", kills(25, "taspgfn")),
             Test("stages and protocols, rails", "tcp", stages("rails", devices=True)),
             Test("stages and protocols, shared memory", "sm", stages("near")),
             Test("stages and protocols, deaths of endpoints", "both", stages("deaths", "1")),
             Test("stages and protocols, rails, valgrind", "tcp", stages("rails", devices=True, valgrind=True), smoke=False),
             Test("stages and protocols, shared memory, valgrind", "sm", stages("near", valgrind=True)),
             Test("stages and protocols, deaths of endpoints, valgrind", "both", stages("deaths", "2", valgrind=True), smoke=False),
             Test("stages and protocols, thousands of deaths", "both", stages("deaths", "36"), smoke=False)]
    for scheme in ("am", "put_zcopy"):
        for mode, name in (("0", "NONE"), ("1", "PEER"), ("2", "FAILOVER")):
            found.append(Test(f"two rails share {scheme}, {name}", "tcp", shared(mode, "taa", UCX_RNDV_SCHEME=scheme), smoke=mode != "1"))
    found.append(Test("rails, a link that is back is used", "tcp", recovered))
    # What each kind of operation shares, and that by default eager messages don't.
    eager = {"UCX_RNDV_THRESH": "inf", "UCX_MAX_EAGER_RAILS": "2"}
    for ops, name in (("t", "tag"), ("a", "am")):
        found.append(Test(f"two rails share eager messages, {name}", "tcp", shared("0", ops, 20, **eager)))
        found.append(Test(f"two rails share eager messages, {name}, FAILOVER", "tcp", shared("2", ops, 20, **eager)))
    found.append(Test("two rails, eager messages take one, FAILOVER", "tcp", shared("2", "t", 20, one=True, UCX_RNDV_THRESH="inf"), smoke=False))
    found.append(Test("two rails, a stream takes one", "tcp", shared("0", "s", 20, one=True, **eager), smoke=False))
    found.append(Test("rails, 50 kills, eager messages share", "tcp", kills(50, "ta", eager), smoke=False))
    found.append(Test("rails, faults in shared eager fragments", "tcp", faults("ta", 2, UCX_FAULT_MESSAGES="eager_middle,am_middle", UCX_FAULT_SEND="50,400", UCX_FAULT_LATE_COMPLETION="900", **eager)))
    found.append(Test("rails, links whose flags are late", "tcp", resting))
    for mode, name in (("0", "NONE"), ("1", "PEER"), ("2", "FAILOVER")):
        for slow in range(LINKS):
            found.append(Test(f"two rails, a fence between puts, link {slow} is slow, {name}", "tcp", fenced(mode, slow), smoke=mode != "1"))
    fence_faults = {"UCX_FAULT_LANES": "tcp/a0,tcp/b0", "UCX_FAULT_MESSAGES": "put,rndv_put,atomic,flush", "UCX_FAULT_LATE_COMPLETION": "3", "UCX_FAULT_SEND": "9"}
    found.append(Test("two rails, a fence between puts, FAILOVER, faults", "tcp", fenced("2", 1, **fence_faults)))
    found.append(Test("rails, delay and death, all operations", "tcp", faults("taspgfn", 1, UCX_FAULT_DELAY="1ms", UCX_FAULT_SEND="150"), smoke=False))
    found.append(Test("two rails, refused registrations", "tcp", shared("2", "ta", 20, UCX_RNDV_SCHEME="put_zcopy", UCX_FAULT_REGISTRATION="1,2,3,5,8,13,40")))
    found.append(Test("two rails, eager messages take one", "tcp", shared("0", "t", 20, one=True, UCX_RNDV_THRESH="inf"), smoke=False))
    for mode, name in (("0", "NONE"), ("1", "PEER"), ("2", "FAILOVER")):
        found.append(Test(f"two rails share puts, {name}", "tcp", shared(mode, "p", 20), smoke=mode != "1"))
        found.append(Test(f"two rails share gets, {name}", "tcp", shared(mode, "pgg", 10, host=1), smoke=mode == "0"))
    found.append(Test("two rails, all operations, eager ones too", "tcp", shared("0", "taspgfn", 40, UCX_MAX_EAGER_RAILS="2")))
    found.append(Test("two rails, UCX_MAX_RMA_RAILS=1", "tcp", shared("0", "p", 20, one=True, UCX_MAX_RMA_RAILS="1"), smoke=False))
    for scheme in ("am", "put_zcopy"):
        found.append(Test(f"shared memory and TCP share {scheme}", "both", near("taapg", UCX_RNDV_SCHEME=scheme, UCX_MAX_RNDV_RAILS="2")))
    for kind in ("down", "drop"):
        for busy in (True, False):
            found.append(Test(f"the last rail, {kind}{'' if busy else ', idle'}", "tcp", last_rail(kind, FAILOVER, busy)))
    found.append(Test("all rails blink, 5 times", "tcp", blinks(5)))
    found.append(Test("all rails blink, 60 times", "tcp", blinks(60), smoke=False))
    for busy in (True, False):
        found.append(Test(f"a host is lost, PEER{'' if busy else ', idle'}", "tcp", last_rail("down", PEER, busy)))
    for name, ops in (("tag", "t"), ("am", "a"), ("stream", "s"), ("put and get", "pg"), ("atomics", "fn")):
        found.append(Test(f"rails, 50 kills, {name}", "tcp", kills(50, ops), smoke=False))
    for thresh in ("0", "inf"):
        found.append(Test(f"rails, 50 kills, UCX_RNDV_THRESH={thresh}", "tcp", kills(50, "taspgfn", {"UCX_RNDV_THRESH": thresh}), smoke=False))
    kinds = {"refused send": {"UCX_FAULT_SEND": "20,90,200"}, "failed completion": {"UCX_FAULT_COMPLETION": ",".join(map(str, range(20, 400, 7)))},
             "late failed completion": {"UCX_FAULT_LATE_COMPLETION": ",".join(map(str, range(20, 400, 7)))}, "death after bytes": {"UCX_FAULT_BYTES": "300k"}}
    all_kinds = {"UCX_FAULT_SEND": "20,90,200", "UCX_FAULT_COMPLETION": "33,301,302,303", "UCX_FAULT_LATE_COMPLETION": "61,161,361,362,363"}
    found.append(Test("rails, faults of every kind, all operations", "tcp", faults("taspgfn", 3, **all_kinds)))
    found.append(Test("rails, one that carries nothing is lost and tried", "tcp", aside))
    found.append(Test("rails, counters", "tcp", counted("ta", 2, UCX_FAULT_SEND="20", UCX_FAULT_MESSAGES="eager_only,am_only")))
    for kind, env in kinds.items():
        for name, ops in (("tag", "t"), ("am", "a"), ("stream", "s"), ("put and get", "pg"), ("atomics", "fn")):
            if ops != "fn" or "completion" not in kind:
                found.append(Test(f"rails, {kind}, {name}", "tcp", faults(ops, 1, **env), smoke=(kind, ops) == ("death after bytes", "t")))
    found.append(Test("rails, 500 kills, all operations", "tcp", kills(500, "taspgfnw"), smoke=False))
    return found
