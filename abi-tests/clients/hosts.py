"""Two hosts, as network namespaces joined by a link, each with a bridge of the same address as docker makes it."""
import os
import subprocess
import time

import capi
import where
from proc import Background, Failure
from tests import Skip, Test

# Run in the namespace of the first host, with the process that holds the second one's.
SETUP = """set -e
ip link set lo up
ip link add a0 type veth peer name b0
ip link set b0 netns $1
ip addr add 10.9.0.1/24 dev a0 && ip link set a0 up
ip link add br0 type bridge && ip addr add 172.17.0.1/16 dev br0 && ip link add p0 type veth peer name p1
ip link set p0 master br0 && ip link set p0 up && ip link set p1 up && ip link set br0 up
nsenter -t $1 -n sh -ec '
ip link set lo up
ip addr add 10.9.0.2/24 dev b0 && ip link set b0 up
ip link add br0 type bridge && ip addr add 172.17.0.1/16 dev br0 && ip link add p0 type veth peer name p1
ip link set p0 master br0 && ip link set p0 up && ip link set p1 up && ip link set br0 up'
"""

# The first host has one more link, which goes nowhere but comes first among its devices. To the second host its
# address seems to be one like any other, behind a router; but the router is not there.
UNUSABLE = """set -e
ip link add 0bad type veth peer name 1bad && ip addr add 10.77.0.1/24 dev 0bad && ip link set 0bad up && ip link set 1bad up
nsenter -t $1 -n sh -ec 'ip route add 10.77.0.0/24 via 10.9.0.99'
"""

# Each host has many more interfaces, which lead nowhere.
MANY = """set -e
crowd='for i in $(seq 1 80); do
ip link add x$i type veth peer name y$i; ip addr add 10.$1.$i.1/24 dev x$i; ip link set x$i up; ip link set y$i up; done'
sh -ec "$crowd" sh 40
nsenter -t $1 -n sh -ec "$crowd" sh 41
"""


class Hosts:
    """Commands that run on either of them; they go with this object."""
    setup = SETUP

    def __enter__(self):
        self.holders = [subprocess.Popen(["unshare", "-n", "sleep", "3600"], stderr=subprocess.DEVNULL) for _ in range(2)]
        own = os.readlink("/proc/self/ns/net")
        end = time.monotonic() + 10
        while any(os.readlink(f"/proc/{h.pid}/ns/net") == own for h in self.holders):
            if any(h.poll() is not None for h in self.holders) or time.monotonic() > end:
                self.__exit__()
                raise Skip("network namespaces can't be made here")
            time.sleep(0.02)
        made = subprocess.run([*self.on(0), "sh", "-c", self.setup, "sh", str(self.holders[1].pid)], capture_output=True, text=True)
        if made.returncode:
            self.__exit__()
            raise Skip(f"no links between namespaces here: {made.stderr.strip()}")
        return self

    def change(self, script):
        made = subprocess.run([*self.on(0), "sh", "-c", script, "sh", str(self.holders[1].pid)], capture_output=True, text=True)
        if made.returncode:
            raise Failure(f"the network can't be changed: {made.stderr.strip()}")

    def on(self, host):
        return ["nsenter", "-t", str(self.holders[host].pid), "-n"]

    def listens(self, host, port):
        """Somebody does there."""
        for name in ("tcp", "tcp6"):
            with open(f"/proc/{self.holders[host].pid}/net/{name}") as f:
                if any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in f.readlines()[1:]):
                    return True
        return False

    def __exit__(self, *_):
        for holder in self.holders:
            holder.kill()
            holder.wait()


def perftest(test, size, more, change=None, says=""):
    """Traffic without UCX_NET_DEVICES goes over the link, never to a host's own bridge. One of the two must
    say `says`."""
    def body(ctx, tls):
        env = where.environ(ctx.lib, tls, UCX_WARN_UNUSED_ENV_VARS="n", **more)
        with Hosts() as hosts:
            if change:
                hosts.change(change)
            server = Background([*hosts.on(0), where.PERFTEST, "-p", "14001"], env)
            end = time.monotonic() + 20
            while not hosts.listens(0, 14001) and server.p.poll() is None and time.monotonic() < end:
                time.sleep(0.02)
            client = [*hosts.on(1), where.PERFTEST, "-p", "14001", "10.9.0.1", "-t", test, "-s", str(size), "-n", "200", "-w", "10"]
            r = ctx.run(client, env, 60)
            rc, out = server.finish(20)
        r.out += "--- server\n" + out
        if r.rc != 0 or rc != 0:
            raise Failure(f"client: {r.how()}, server: {rc}")
        if says not in r.out:
            raise Failure(f"nobody says {says!r}")

    return body


def many_interfaces(to, where_from, more=None):
    """Clients and servers connect by socket address, however many interfaces they have: the connection's private data
    hold the addresses of a part of them."""
    def body(ctx, tls):
        env = where.environ(ctx.lib, tls, UCX_LOG_LEVEL="diag", UCX_LOG_FILE="stderr", **(more or {}))
        binary = capi.program(ctx, "far", "1.22.0")
        with Hosts() as hosts:
            hosts.change(MANY)
            server = Background([*hosts.on(0), binary, "listen", "14002"], env)
            time.sleep(1)
            r = ctx.run([*hosts.on(where_from), binary, "connect", to, "14002"], env, 90)
            rc, out = server.finish(30)
        r.out += "--- server\n" + out
        if r.rc != 0 or rc != 0:
            raise Failure(f"client: {r.how()}, server: {rc}")
        if os.path.realpath(ctx.lib) != os.path.realpath(ctx.genuine) and r.out.count("UCX_TCP_CM_PRIV_DATA_LEN") != 2:
            raise Failure("client and server have not said once each what is left out")

    return body


def tests():
    found = []
    for test, size in (("tag_lat", 8), ("tag_bw", 1 << 20), ("ucp_put_bw", 65536)):
        for what, more in (("bridges", {}), ("bridges in use", {"UCX_TCP_BRIDGE_ENABLE": "y"})):
            found.append(Test(f"two hosts, {what}, {test}", "tcp", perftest(test, size, more), smoke=test == "tag_bw"))
    for test, size in (("tag_lat", 8), ("tag_bw", 1 << 20), ("ucp_put_bw", 65536)):
        found.append(Test(f"two hosts, an unusable address, {test}", "tcp",
                          perftest(test, size, {"UCX_LOG_LEVEL": "diag"}, UNUSABLE, "leads nowhere"), smoke=test == "tag_bw"))
    for tls in ("tcp", "both"):
        found.append(Test("two hosts, 80 interfaces more on each", tls, many_interfaces("10.9.0.1", 1), smoke=tls == "tcp"))
        found.append(Test("one host, 80 interfaces more, by loopback", tls, many_interfaces("127.0.0.1", 0), smoke=False))
        found.append(Test("one host, 80 interfaces more, by one of them", tls, many_interfaces("10.40.50.1", 0), smoke=False))
    return found
