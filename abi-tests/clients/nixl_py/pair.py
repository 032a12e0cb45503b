#!/usr/bin/env python3
"""NIXL's UCX backend between two processes: registered DRAM, or memory of a CUDA device, writes and reads of 8 B to 16 MiB, each
byte checked, lists of many blocks, notifications, and the peer's death.

    pair.py [--threads N] [--no-progress-thread] [--full] [--death] [--device]

The other process is started by this one. Prints 'ok NAME' per case, and 'end' last."""
import argparse
import base64
import os
import select
import signal
import subprocess
import sys
import threading
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ucxx_py"))

from common import expect, pattern, say  # noqa: E402
from device import DeviceArray  # noqa: E402

import nixl_cu12 as nixl  # noqa: E402

SIZES = [8, 64, 1000, 4096, 8192, 65536, (1 << 20) + 8, 16 << 20]
SIZES_MORE = [9, (1 << 16) + 1, 1 << 18, 1 << 22, (16 << 20) - 3]
LIMIT = 10


def say_maps():
    with open("/proc/self/maps") as f:
        files = {line.split(None, 5)[5].strip() for line in f if "/libuc" in line}
    for name in sorted(files):
        if os.path.basename(name)[:6] in ("libucp", "libuct", "libucs", "libucm", "libucx"):
            say(f"MAPS {name}")


class Agent:
    """An agent with one registered buffer."""

    def __init__(self, name, options, size):
        progress = not options.no_progress_thread
        config = nixl.nixl_agent_config(progress, False, 0, backends=["UCX"], num_threads=options.threads)
        self.agent = nixl.nixl_agent(name, config)
        if "UCX" not in self.agent.backends:
            raise AssertionError("no UCX backend")
        self.kind = "VRAM" if options.device else "DRAM"
        self.buffer = DeviceArray(size) if options.device else np.zeros(size, dtype=np.uint8)
        self.base = self.buffer.at if options.device else self.buffer.ctypes.data
        self.registered = self.agent.register_memory([(self.base, size, 0, "")], self.kind)
        self.peer = None
        self.notes = []  # that came and were not asked for yet

    def listen(self):
        """Without a thread of its own, an agent gets on when it is asked for its notifications."""
        self.notes += self.agent.get_new_notifs().get(self.peer, [])

    def meet(self, metadata):
        name = self.agent.add_remote_agent(base64.b64decode(metadata))
        # It says bytes here, and text in its notifications.
        self.peer = name.decode() if isinstance(name, bytes) else name

    def blocks(self, base, blocks):
        return self.agent.get_xfer_descs([(base + offset, size, 0) for offset, size in blocks], self.kind)

    def transfer(self, kind, blocks, theirs, message=b""):
        """Moves these blocks, which have the same places on both sides."""
        handle = self.agent.initialize_xfer(kind, self.blocks(self.base, blocks), self.blocks(theirs, blocks), self.peer)
        if self.agent.query_xfer_backend(handle) != "UCX":
            raise AssertionError("not over UCX")
        state, end = self.agent.transfer(handle, message), time.monotonic() + LIMIT
        while state == "PROC":
            if time.monotonic() > end:
                raise AssertionError(f"{kind} of {blocks[:3]}...: not within {LIMIT} s")
            state = self.agent.check_xfer_state(handle)
        if state != "DONE":
            raise AssertionError(f"{kind} of {blocks[:3]}...: {state}")
        self.agent.release_xfer_handle(handle)

    def heard(self, expected, what):
        """That notifications of the peer come, in any order, each once."""
        end = time.monotonic() + LIMIT
        while len(self.notes) < len(expected):
            if time.monotonic() > end:
                raise AssertionError(f"{what}: {len(self.notes)} of {len(expected)} notifications within {LIMIT} s")
            self.listen()
        got, self.notes = self.notes, []
        if sorted(got) != sorted(expected):
            raise AssertionError(f"{what}: other notifications than were sent")


def order(pipe, *words):
    """A line to the other process."""
    pipe.write(" ".join(str(w) for w in words) + "\n")
    pipe.flush()


def answer(pipe):
    """The other's next line to us; NIXL's own logging is in between."""
    for line in pipe:
        if line.startswith("> "):
            return line[2:].strip()
        print(line, end="", flush=True)
    raise AssertionError("the target is gone")


def orders(agent, options):
    """Lines from the other process; an agent without a thread is kept going until one comes."""
    rest = b""
    while True:
        while b"\n" not in rest:
            if options.no_progress_thread and agent.peer:
                while not select.select([0], [], [], 0)[0]:
                    agent.listen()
            more = os.read(0, 65536)
            if not more:
                return
            rest += more
        line, rest = rest.split(b"\n", 1)
        yield line.decode()


def target(options):
    """Does what it is told by lines: check a block, fill one, notify."""
    a = Agent("target", options, 32 << 20)
    lines = orders(a, options)
    say(f"> {a.base} {base64.b64encode(a.agent.get_agent_metadata()).decode()}")
    a.meet(next(lines))
    for line in lines:
        what, *numbers = line.split()
        n = [int(x) for x in numbers]
        if what == "check":
            a.heard([f"wrote {n[1]} {n[2]}".encode()], "a write")
            expect(a.buffer[n[0]:n[0] + n[1]], n[1], n[2], "written")
        elif what == "fill":
            a.buffer[n[0]:n[0] + n[1]] = pattern(n[1], n[2])
        elif what == "read":
            a.heard([b"read"], "a read")
        elif what == "notify":
            for i in range(n[0]):
                a.agent.send_notif(a.peer, f"note {i}".encode() + b"." * (i % 300))
        elif what == "hear":
            a.heard([f"note {i}".encode() + b"." * (i % 300) for i in range(n[0])], "notes")
        say("> done")
        if what == "end":
            break
    say_maps()
    a.agent.deregister_memory(a.registered)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--threads", type=int, default=0, help="the backend's thread pool")
    p.add_argument("--no-progress-thread", action="store_true")
    p.add_argument("--full", action="store_true")
    p.add_argument("--death", action="store_true", help="the target is killed")
    p.add_argument("--device", action="store_true", help="memory of the first CUDA device")
    p.add_argument("--target", action="store_true")
    options = p.parse_args()
    signal.alarm(110)
    if options.target:
        return target(options)
    other = subprocess.Popen([sys.executable, sys.argv[0], *sys.argv[1:], "--target"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    theirs, metadata = answer(other.stdout).split()
    theirs = int(theirs)
    a = Agent("initiator", options, 32 << 20)
    a.meet(metadata)
    order(other.stdin, base64.b64encode(a.agent.get_agent_metadata()).decode())

    def told(*words):
        order(other.stdin, *words)
        while options.no_progress_thread and not select.select([other.stdout], [], [], 0)[0]:
            a.listen()
        if answer(other.stdout) != "done":
            raise AssertionError(f"the target failed at {words}")

    if options.death:
        death(a, other, theirs, told)
    else:
        work(a, theirs, told, options)
        told("end")
        print(other.communicate(timeout=20)[0], end="", flush=True)
        if other.returncode != 0:
            raise AssertionError(f"the target ended with {other.returncode}")
    say_maps()
    a.agent.deregister_memory(a.registered)
    if not options.death:
        a.agent.remove_remote_agent(a.peer)
    a.agent = None  # it ends here, before "end" is said
    say("end")


def work(a, theirs, told, options):
    sizes = SIZES + (SIZES_MORE if options.full else [])
    for i, size in enumerate(sizes):
        at = 64 * i
        a.buffer[at:at + size] = pattern(size, i)
        a.transfer("WRITE", [(at, size)], theirs, f"wrote {size} {i}".encode())
        told("check", at, size, i)
    say("ok writes")
    for i, size in enumerate(sizes):
        at = 128 * i + 1
        told("fill", at, size, i + 50)
        a.buffer[:] = 0
        a.transfer("READ", [(at, size)], theirs, b"read")
        expect(a.buffer[at:at + size], size, i + 50, f"read {size}")
        told("read")
    say("ok reads")
    # Many blocks in one transfer, with gaps between them.
    for count, size in ((1000, 100), (300, 8192), (20, 300000))[:3 if options.full else 2]:
        blocks = [(i * (size + 60), size) for i in range(count)]
        told("fill", 0, count * (size + 60), 9)
        a.buffer[:] = 255
        a.transfer("READ", blocks, theirs, b"read")
        told("read")
        whole = pattern(count * (size + 60), 9)
        got = a.buffer[:count * (size + 60)]  # of a device it is a copy
        for at, n in blocks:
            if not np.array_equal(got[at:at + n], whole[at:at + n]) or (got[at + n:at + n + 60] != 255).any():
                raise AssertionError(f"block at {at} of {count} x {size} is wrong")
        a.buffer[:count * (size + 60)] = pattern(count * (size + 60), 10)
        a.transfer("WRITE", [(0, count * (size + 60))], theirs, f"wrote {count * (size + 60)} 10".encode())
        told("check", 0, count * (size + 60), 10)
    say("ok lists")
    for i in range(500):
        a.agent.send_notif(a.peer, f"note {i}".encode() + b"." * (i % 300))
    told("hear", 500)
    told("notify", 500)
    a.heard([f"note {i}".encode() + b"." * (i % 300) for i in range(500)], "notes")
    say("ok notifications")


def death(a, other, theirs, told):
    """Transfers to the dead end with an error, now or when posted; nothing crashes or hangs."""
    a.buffer[:] = pattern(a.buffer.size, 0)
    a.transfer("WRITE", [(0, 1 << 20)], theirs, f"wrote {1 << 20} 0".encode())
    told("check", 0, 1 << 20, 0)
    handle = a.agent.initialize_xfer("WRITE", a.blocks(a.base, [(0, 16 << 20)]), a.blocks(theirs, [(0, 16 << 20)]), a.peer)
    # In the middle of one of many.
    threading.Timer(0.3, other.kill).start()
    end, seen = time.monotonic() + 40, []
    while not seen:
        if time.monotonic() > end:
            raise AssertionError("transfers to the dead peer show no error within 40 s")
        try:
            state = a.agent.transfer(handle)
            while state == "PROC" and time.monotonic() < end:
                state = a.agent.check_xfer_state(handle)
            if state == "ERR":
                seen.append(state)
        except Exception as e:  # its errors have no common class of their own
            if "NIXL_ERR" not in str(e):
                raise
            seen.append(str(e))
    other.wait(10)
    say(f"error: {seen[0]}")
    for _ in range(3):
        try:
            a.agent.send_notif(a.peer, b"anybody?")
        except Exception as e:
            if "NIXL_ERR" not in str(e):
                raise
    try:
        a.agent.release_xfer_handle(handle)
        a.agent.remove_remote_agent(a.peer)
    except Exception as e:
        if "NIXL_ERR" not in str(e):
            raise
    say("ok death")


if __name__ == "__main__":
    sys.exit(main())
