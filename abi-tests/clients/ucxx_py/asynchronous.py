#!/usr/bin/env python3
"""ucxx's asynchronous interface between a listener and several clients, and by worker address.

    asynchronous.py [--mode thread|thread-polling|polling|blocking] [--futures] [--clients N]
                    [--no-errors] [--by-address] [--full] [--death]

The client process runs N clients at once, each with its own endpoint. Each case prints 'ok NAME',
the last line is 'end'."""
import argparse
import asyncio
import os
import pickle
import signal
import sys

import common
import numpy as np
import ucxx
from common import expect, pattern, say
from ucxx._lib.arr import Array

LIMIT = 20


async def within(what, *awaitables):
    try:
        return await asyncio.wait_for(asyncio.gather(*awaitables), LIMIT)
    except asyncio.TimeoutError:
        raise AssertionError(f"{what}: not within {LIMIT} s") from None


async def exchange(what, ep, size, seed, **tag):
    data = np.zeros(size, dtype=np.uint8)
    await within(what, ep.send(pattern(size, seed), **tag), ep.recv(data, **tag))
    expect(data, size, seed, what)


async def tags(ep, options):
    for i, size in enumerate(common.sizes(options.full)):
        await exchange(f"tag {size}", ep, size, i)
    await within("50 at once", *[exchange(f"tag {i}", ep, 1000 * i + 1, i, tag=i) for i in range(50)])


async def objects(ep, options):
    thing = {"numbers": list(range(10000)), "text": "x" * 5000}
    sent = pickle.dumps(thing)
    _, got = await within("objects", ep.send_obj(sent), ep.recv_obj())
    if pickle.loads(got) != thing:
        raise AssertionError("another object arrived")


async def multi(ep, options):
    sizes = [1, 8192, 300, 100000, 65536, (1 << 20) + 1] * (4 if options.full else 1)
    _, got = await within("multi", ep.send_multi([Array(pattern(n, i)) for i, n in enumerate(sizes)]), ep.recv_multi())
    for i, (n, buffer) in enumerate(zip(sizes, got, strict=True)):
        expect(buffer, n, i, f"buffer {i}")


async def messages(ep, options):
    for i, size in enumerate(common.sizes(options.full)):
        _, got = await within(f"am {size}", ep.am_send(pattern(size, i)), ep.am_recv())
        expect(got, size, i, f"am {size}")


async def truncated(ep, options):
    short = np.zeros(10, dtype=np.uint8)
    sent = asyncio.ensure_future(ep.send(pattern(1000, 1)))
    try:
        await within("truncated", ep.recv(short))
    except ucxx.exceptions.UCXMessageTruncatedError:
        pass
    else:
        raise AssertionError("no error for a message that is too long")
    await within("its send", sent)


CASES = [tags, objects, multi, messages, truncated]


async def all_cases(ep, options, loud):
    for case in CASES:
        await exchange("meeting", ep, 8, 1)
        await case(ep, options)
        if loud:
            say(f"ok {case.__name__}")


async def server(options):
    """Serves as many clients as will come; the last to end ends it."""
    errors, left, over = [], [options.clients], asyncio.Event()

    async def on_client(ep):
        try:
            if options.death:
                await exchange("meeting", ep, 8, 1)
                await asyncio.sleep(60)
            await all_cases(ep, options, False)
            await exchange("the end", ep, 8, 1)
            await ep.close()
        except BaseException as e:
            errors.append(f"{type(e).__name__}: {e}")
        left[0] -= 1
        if not left[0]:
            over.set()

    listener = ucxx.create_listener(on_client, endpoint_error_handling=options.errors)
    say(str(listener.port))
    await asyncio.wait_for(over.wait(), 80)
    listener.close()
    if errors:
        raise AssertionError("; ".join(errors))


async def one_client(port, options, loud):
    ep = await ucxx.create_endpoint("127.0.0.1", port, endpoint_error_handling=options.errors)
    await all_cases(ep, options, loud)
    await exchange("the end", ep, 8, 1)
    # The server closes first; what it had sent before is here.
    await ep.close()


async def client(options, line):
    # Each takes its turn to connect: ucxx gives a client 5 s for its first exchange.
    await asyncio.gather(*[one_client(int(line), options, i == 0) for i in range(options.clients)])


async def death(options, line, process):
    """The server dies: a receive that is posted ends with an error, and so does the next send."""
    ep = await ucxx.create_endpoint("127.0.0.1", int(line))
    await exchange("meeting", ep, 8, 1)
    waiting = asyncio.ensure_future(ep.recv(np.zeros(8, dtype=np.uint8)))
    await asyncio.sleep(0.1)
    common.kill(process)
    for what, it in (("the receive", waiting), ("a send afterwards", None)):
        try:
            await within(what, it or ep.send(pattern(8, 1)))
        except ucxx.exceptions.UCXError:
            continue
        raise AssertionError(f"{what} to the dead ended well")
    ep.abort()
    say("ok death")


async def by_address(options, line):
    """Endpoints from worker addresses, receives on the worker by forced tags."""
    mine, theirs = (1, 2) if options.serve else (2, 1)
    if options.serve:
        say(ucxx.get_worker_address().tobytes().hex())
        n = np.zeros(1, dtype=np.uint64)
        await within("a client", ucxx.recv(n, tag=10))
        packed = np.zeros(int(n[0]), dtype=np.uint8)
        await within("its address", ucxx.recv(packed, tag=11))
        packed = packed.tobytes()
    else:
        packed = bytes.fromhex(line)
    ep = await ucxx.create_endpoint_from_worker_address(
        ucxx.get_ucx_address_from_buffer(packed), endpoint_error_handling=options.errors)
    if not options.serve:
        own = np.frombuffer(ucxx.get_worker_address().tobytes(), dtype=np.uint8).copy()
        await within("our address", ep.send(np.array([own.nbytes], dtype=np.uint64), tag=10, force_tag=True),
                     ep.send(own, tag=11, force_tag=True))
    for i, size in enumerate(common.sizes(options.full)):
        data = np.zeros(size, dtype=np.uint8)
        await within(f"{size}", ep.send(pattern(size, i), tag=100 * mine + i, force_tag=True),
                     ucxx.recv(data, tag=100 * theirs + i))
        expect(data, size, i, f"{size} on the worker")
    # Neither may close while the other has something of its last message to do.
    last = np.zeros(1, dtype=np.uint8)
    await within("the end", ep.send(np.ones(1, dtype=np.uint8), tag=mine, force_tag=True), ucxx.recv(last, tag=theirs))
    if options.serve:
        await asyncio.sleep(0.3)
    await ep.close()
    if not options.serve:
        say("ok by_address")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--mode", default="thread", choices=["blocking", "polling", "thread", "thread-polling"])
    a.add_argument("--futures", action="store_true", help="Python futures and the notifier thread")
    a.add_argument("--clients", type=int, default=1)
    a.add_argument("--no-errors", dest="errors", action="store_false")
    a.add_argument("--by-address", action="store_true")
    a.add_argument("--full", action="store_true")
    a.add_argument("--death", action="store_true")
    a.add_argument("--serve", action="store_true")
    options = a.parse_args()
    signal.alarm(100)
    process, line = (None, "") if options.serve else common.serve_self()

    async def run():
        ucxx.init(progress_mode=options.mode, enable_python_future=options.futures)
        if options.by_address:
            await by_address(options, line)
        elif options.serve:
            await server(options)
        elif options.death:
            await death(options, line, process)
        else:
            await client(options, line)
        common.say_maps()
        ucxx.stop_notifier_thread()

    asyncio.run(run())
    if not options.serve and not options.death:
        common.ended(process)
    if not options.serve:
        say("end")
    sys.stdout.flush()
    # Interpreter shutdown with ucxx's objects alive is not what is tested.
    os._exit(0)


if __name__ == "__main__":
    main()
