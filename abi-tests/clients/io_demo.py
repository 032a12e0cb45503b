"""Genuine io_demo (1.22.0): clients that read from and write to a server found by its socket address,
with every buffer checked. Clients and servers are killed, and others go on.

Not over shared memory alone: io_demo asks for peer failure handling, which that does not have yet."""
import os
import signal
import time

import proc
import where
from proc import Background, Failure, mapped_only
from tests import Test
from tools import free_port, listening

IO_DEMO = os.path.join(os.path.dirname(where.PERFTEST), "io_demo")
SIZES = ["-d", "8:1M", "-q", "-o", "read,write"]


class Party:
    """A server on a port of its own and its clients."""

    def __init__(self, ctx, tls):
        self.ctx, self.port = ctx, free_port()
        self.env = where.environ(ctx.lib, tls, UCX_WARN_UNUSED_ENV_VARS="n")
        self.watch = proc.Watch()
        self.watch.start()
        self.said = []
        self.server = None

    def serve(self, *options):
        self.server = Background([IO_DEMO, "-p", str(self.port), *SIZES, *options], self.env)
        until = time.monotonic() + 10
        while not listening(self.port):
            if self.server.p.poll() is not None or time.monotonic() > until:
                raise Failure("the server does not listen")
            time.sleep(0.02)

    def client(self, iterations, *options):
        command = [IO_DEMO, "-p", str(self.port), "-i", str(iterations), *SIZES, *options, "127.0.0.1"]
        return Background(command, self.env)

    def expect(self, client, limit=60):
        """That a client ends well."""
        rc, out = client.finish(limit)
        self.said.append(out)
        if rc != 0 or "exit with status 'OK'" not in out:
            raise Failure("a client did not end" if rc is None else f"a client ended with {rc}")

    def kill(self, process):
        process.p.send_signal(signal.SIGKILL)
        self.said.append(process.finish(5)[1])

    def stop_server(self):
        self.server.p.send_signal(signal.SIGINT)
        rc, out = self.server.finish(10)
        self.said.append("--- server\n" + out)
        if rc != 0:
            raise Failure("the server did not end" if rc is None else f"the server ended with {rc}")

    def over(self):
        mapped = self.watch.stop()
        proc.end_all()
        self.ctx.last = proc.Result(0, "\n".join(self.said), False, mapped, 0)
        return mapped


def test(scenario):
    def body(ctx, tls):
        party = Party(ctx, tls)
        try:
            scenario(party)
        finally:
            mapped = party.over()
        mapped_only(mapped, ctx.lib, 2)

    return body


def one(*options):
    def scenario(party):
        party.serve(*options)
        party.expect(party.client(300, *options))
        party.stop_server()

    return scenario


def several(party):
    party.serve()
    for client in [party.client(200, "-C", str(7 + i)) for i in range(4)]:
        party.expect(client)
    party.stop_server()


def killed_clients(party):
    """Some die in the middle of their work; the server and the others don't notice."""
    party.serve()
    stays = party.client(1000)
    for _ in range(3):
        dies = party.client(1000000)
        time.sleep(0.7)
        party.kill(dies)
    party.expect(stays)
    party.expect(party.client(100))
    party.stop_server()


def killed_server(party):
    """The client notices, waits, and goes on with the server's successor on the same port."""
    # Shared memory tells of a death only when it is asked.
    party.env["UCX_KEEPALIVE_INTERVAL"] = "500ms"
    party.serve()
    client = party.client(100000, "-c", "20", "-y", "0.2", "-l", "12s")
    time.sleep(1.5)
    party.kill(party.server)
    party.env = dict(party.env, UCX_TCP_CM_REUSEADDR="y")
    party.serve()
    rc, out = client.finish(60)
    party.said.append(out)
    if rc != 0 or out.count("Connected to server") < 2:
        raise Failure(f"the client ended with {rc} after {out.count('Connected to server')} connections")
    party.stop_server()


def tests():
    found = []
    for name, scenario in (("tag", one()), ("active messages", one("-A")), ("window of 16", one("-w", "16")),
                           ("four clients", several), ("killed clients", killed_clients), ("killed server", killed_server)):
        for tls in ("tcp", "both"):
            found.append(Test(f"io_demo, {name}", tls, test(scenario), smoke=tls == "tcp"))
    return found
