#!/usr/bin/env python3
"""ucxx's synchronous interface between two processes: tags, streams, active messages, several
buffers at once, cancelling, truncation, and the peer's close and death.

    sync.py [--mode blocking|polling|thread|thread-polling] [--connect listener|address]
            [--no-errors] [--full] [--device]

--device: buffers are on a CUDA device, in the cases where ucxx allocates none itself (that takes rmm).
Client and server run the same cases in step; each case prints 'ok NAME', the last line is 'end'."""
import argparse
import signal
import sys
import time

import common
import numpy as np
import ucxx._lib.libucxx as ucx
from common import expect, pattern, say
from device import DeviceArray
from ucxx._lib.arr import Array
from ucxx import exceptions


class Side:
    """One process: a worker, how it progresses, and its endpoint to the other."""

    def __init__(self, options):
        self.options, self.server, self.ep = options, options.serve, None
        self.kept = []  # buffers of sends: ucxx keeps none of them
        self.context = ucx.UCXContext()
        self.worker = ucx.UCXWorker(self.context)
        self.threaded = options.mode.startswith("thread")
        if self.threaded:
            self.worker.start_progress_thread(polling_mode=options.mode == "thread-polling", epoll_timeout=1)
        else:
            self.worker.init_blocking_progress_mode()

    def step(self):
        if self.threaded:
            time.sleep(0.0002)
        elif self.options.mode == "blocking":
            self.worker.progress_worker_event(1000)
        else:
            self.worker.progress()

    def until(self, done, what, limit=10):
        end = time.monotonic() + limit
        while not done():
            if time.monotonic() > end:
                raise AssertionError(f"{what}: not within {limit} s")
            self.step()

    def wait(self, *requests, what="a request"):
        self.until(lambda: all(r.completed for r in requests), what)
        for r in requests:
            r.check_error()
        return requests

    # Tags carry who sends in their top bit, so that both ways never meet.
    def tag(self, number, mine):
        return ucx.UCXXTag(number | (1 << 63 if self.server == mine else 0))

    def empty(self, size):
        return DeviceArray(size) if self.options.device else np.zeros(size, dtype=np.uint8)

    def data(self, size, seed):
        data = pattern(size, seed)
        if self.options.device:
            whole, data = data, DeviceArray(size)
            data[:] = whole
        self.kept.append(Array(data))
        return self.kept[-1]

    def send(self, number, size, seed):
        return self.ep.tag_send(self.data(size, seed), self.tag(number, True))

    def receive(self, number, size):
        data = self.empty(size)
        return data, self.ep.tag_recv(Array(data), self.tag(number, False))

    def meet(self):
        """Both sides are here."""
        data, r = self.receive(0x7000, 8)
        self.wait(self.send(0x7000, 8, 1), r, what="meeting")
        expect(data, 8, 1, "meeting")


def tags(s):
    for i, size in enumerate(common.sizes(s.options.full)):
        data, r = s.receive(i, size)
        s.wait(s.send(i, size, i + s.server), r, what=f"tag {size}")
        expect(data, size, i + (not s.server), f"tag {size}")


def many_tags(s):
    """Received in the opposite order, first posted early, then late."""
    for late in (False, True):
        sends = [s.send(i, 100 * i + 1, i) for i in range(200)] if late else []
        if late:
            s.meet()
        receives = [s.receive(i, 100 * i + 1) for i in reversed(range(200))]
        sends = sends or [s.send(i, 100 * i + 1, i) for i in range(200)]
        s.wait(*sends, *[r for _, r in receives], what="200 tags")
        for i, (data, _) in zip(reversed(range(200)), receives):
            expect(data, 100 * i + 1, i, f"tag {i} of 200, late={late}")


def probes(s):
    """Receives by the handle of a probe."""
    for i, size in enumerate(common.sizes(s.options.full)):
        sent = s.send(i, size, i)
        found = []

        def probe():
            result = s.worker.tag_probe(s.tag(i, False), remove=True)
            if result.matched:
                found.append(result)
            return result.matched

        s.until(probe, f"probe {size}")
        if found[0].length != size or found[0].sender_tag != s.tag(i, False).value:
            raise AssertionError(f"probe says {found[0].length} bytes, tag {found[0].sender_tag:#x}")
        data = s.empty(size)
        s.wait(s.worker.tag_recv_with_handle(Array(data), found[0]), sent, what=f"message {size}")
        expect(data, size, i, f"probe {size}")


def masks(s):
    """A receive on the worker for any tag of a family."""
    sent = s.send(0x1234, 500, 3)
    data = s.empty(500)
    r = s.worker.tag_recv(Array(data), ucx.UCXXTag(s.tag(0x1200, False).value), ucx.UCXXTagMask(~0xFF & (1 << 64) - 1))
    s.wait(sent, r, what="mask")
    expect(data, 500, 3, "mask")


def multi(s):
    sizes = [1, 8191, 300, 65536, 8192, (1 << 20) + 1]
    for count in (1, 6, 60):
        chosen = [sizes[i % 6] for i in range(count)]
        sent = s.ep.tag_send_multi(tuple(s.data(n, i) for i, n in enumerate(chosen)), s.tag(1, True))
        got = s.ep.tag_recv_multi(s.tag(1, False))
        s.until(lambda: sent.all_completed and got.all_completed, f"{count} buffers")
        sent.check_error()
        got.check_error()
        for r in got.requests:
            r.check_error()
        for i, (n, buffer) in enumerate(zip(chosen, got.py_buffers, strict=True)):
            expect(buffer, n, i, f"buffer {i} of {count}")


def streams(s):
    for i, size in enumerate(common.sizes(s.options.full)):
        data = s.empty(size)
        s.wait(s.ep.stream_send(s.data(size, i)), s.ep.stream_recv(Array(data)), what=f"stream {size}")
        expect(data, size, i, f"stream {size}")
    # Many sends, each received by its own, in order.
    chosen = [(i * 7919) % 30000 + 1 for i in range(100)]
    sends = [s.ep.stream_send(s.data(n, i)) for i, n in enumerate(chosen)]
    for i, n in enumerate(chosen):
        data = s.empty(n)
        s.wait(s.ep.stream_recv(Array(data)), what=f"stream piece {i}")
        expect(data, n, i, f"stream piece {i}")
    s.wait(*sends, what="stream sends")


def messages(s):
    """Active messages; their buffers are made by the receiver."""
    for i, size in enumerate(common.sizes(s.options.full)):
        sent, got = s.ep.am_send(s.data(size, i)), s.ep.am_recv()
        s.wait(sent, got, what=f"am {size}")
        expect(got.recv_buffer, size, i, f"am {size}")
    sends = [s.ep.am_send(s.data(97 * i + 1, i)) for i in range(200)]
    s.meet()
    receives = [s.ep.am_recv() for _ in range(200)]
    s.wait(*sends, *receives, what="200 am")
    for i, r in enumerate(receives):
        expect(r.recv_buffer, 97 * i + 1, i, f"am {i} of 200")


def truncated(s):
    for size in (1000, 100000):
        sent = s.send(5, size, 0)
        _, r = s.receive(5, 100)
        try:
            s.wait(r, what="truncated")
        except exceptions.UCXMessageTruncatedError:
            pass
        else:
            raise AssertionError("no error for a message that is too long")
        s.wait(sent, what="the send of a truncated message")


def closed(s):
    """The server closes; the client hears of it. Receives that are posted then are cancelled."""
    told = []
    s.ep.set_close_callback(lambda: told.append(1))
    receives = [s.receive(0x999, 64)[1] for _ in range(50)]
    s.meet()
    if not s.server:
        s.until(lambda: told and not s.ep.alive, "the peer's close")
    s.ep.close_blocking(period=10**9, max_attempts=3)
    s.until(lambda: all(r.completed for r in receives), "cancelled receives")
    for r in receives:
        try:
            r.check_error()
        except exceptions.UCXError:
            continue
        raise AssertionError("a receive on a closed endpoint has no error")
    if len(told) != 1:
        raise AssertionError(f"told of the close {len(told)} times")


def killed(s, server):
    """The server dies with receives of ours posted; each ends with an error."""
    told = []
    s.ep.set_close_callback(lambda: told.append(1))
    receives = [s.receive(i, 64)[1] for i in range(20)]
    s.meet()
    time.sleep(0.2)  # it can't say itself what it has mapped: who watches must have seen it
    common.kill(server)
    s.until(lambda: told and all(r.completed for r in receives), "the peer's death", 40)
    for r in receives:
        try:
            r.check_error()
        except exceptions.UCXError:
            continue
        raise AssertionError("a receive from the dead has no error")
    s.ep.close_blocking(period=10**9, max_attempts=3)


CASES = [tags, many_tags, probes, masks, multi, streams, messages, truncated]
ON_DEVICES = [tags, many_tags, probes, masks, streams, truncated]


def connect(s, first_line):
    if s.options.connect == "listener":
        s.ep = ucx.UCXEndpoint.create(s.worker, "127.0.0.1", int(first_line), endpoint_error_handling=s.options.errors)
    else:
        address = ucx.UCXAddress.create_from_buffer(bytes.fromhex(first_line))
        s.ep = ucx.UCXEndpoint.create_from_worker_address(s.worker, address, endpoint_error_handling=s.options.errors)
        own = np.frombuffer(s.worker.address.tobytes(), dtype=np.uint8).copy()
        s.wait(s.ep.tag_send(Array(own), ucx.UCXXTag(0xADD)), what="our address")


def accept(s):
    """Tells where we are, and waits for the client."""
    if s.options.connect == "listener":
        def on_request(request):
            s.ep = listener.create_endpoint_from_conn_request(request, endpoint_error_handling=s.options.errors)

        listener = ucx.UCXListener.create(worker=s.worker, port=0, cb_func=on_request)
        say(str(listener.port))
        s.until(lambda: s.ep, "a client")
        return listener
    say(s.worker.address.tobytes().hex())
    found = []

    def probe():
        result = s.worker.tag_probe(ucx.UCXXTag(0xADD), remove=True)
        if result.matched:
            found.append(result)
        return result.matched

    s.until(probe, "a client's address")
    data = np.zeros(found[0].length, dtype=np.uint8)
    s.wait(s.worker.tag_recv_with_handle(Array(data), found[0]), what="a client's address")
    address = ucx.UCXAddress.create_from_buffer(data.tobytes())
    s.ep = ucx.UCXEndpoint.create_from_worker_address(s.worker, address, endpoint_error_handling=s.options.errors)
    return None


def run(options, more=()):
    server, line = (None, "") if options.serve else common.serve_self(*more)
    s = Side(options)
    listener = accept(s) if options.serve else connect(s, line)
    cases = [] if options.death else ON_DEVICES if options.device else CASES
    for case in cases:
        s.meet()
        case(s)
        s.kept.clear()
        say(f"ok {case.__name__}")
    if options.death and options.serve:
        s.meet()
        s.until(lambda: False, "our end", 60)
    if options.death:
        killed(s, server)
        say("ok killed")
    elif options.errors:
        closed(s)
        say("ok closed")
    else:
        s.meet()
    if s.threaded:
        s.worker.stop_progress_thread()
    if not options.serve:
        if not options.death:
            common.ended(server)
        common.say_maps()
    elif not options.death:
        common.say_maps()
    del s.ep, listener


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--mode", default="blocking", choices=["blocking", "polling", "thread", "thread-polling"])
    a.add_argument("--connect", default="listener", choices=["listener", "address"])
    a.add_argument("--no-errors", dest="errors", action="store_false")
    a.add_argument("--full", action="store_true")
    a.add_argument("--serve", action="store_true")
    a.add_argument("--death", action="store_true", help="only the peer's death")
    a.add_argument("--device", action="store_true")
    options = a.parse_args()
    signal.alarm(100)
    run(options)
    if not options.serve:
        say("end")
    return 0


if __name__ == "__main__":
    sys.exit(main())
