"""ucxx 0.52, the unmodified wheel, on memory of the host: programs of ours (ucxx_py/) over its
synchronous and asynchronous interfaces, and its own benchmark. The whole form runs each on genuine
UCX 1.22.0 too, which must pass as well."""
import os

import where
from proc import Failure, mapped_only, told_by_both
from tests import Skip, Test, succeeded

PYTHON = os.path.join(where.DEPS, "ucxx", "bin", "python")
PROGRAMS = os.path.join(where.HERE, "ucxx_py")
# What of it takes a GPU, and is not tested on memory of the host. Buffers on devices that the program
# itself allocates are tested on a simulated driver (abi-tests/cuda).
NEEDS_A_GPU = ["rmm buffers", "cupy arrays", "benchmark cudf_merge", "CUDA allocators of active messages"]


def once(ctx, lib, tls, command, more):
    # It opens the libraries by their unversioned names then, instead of its own.
    env = where.environ(lib, tls, RAPIDS_LIBUCX_PREFER_SYSTEM_LIBRARY="true", UCX_WARN_UNUSED_ENV_VARS="n",
                        PYTHONDONTWRITEBYTECODE="1", **more)
    return ctx.run([PYTHON, *command], env, 120)


def own(ctx, lib, r):
    """That a program of ours ran to its end, every process of it on `lib`, by its own account too."""
    lines = r.out.splitlines()
    succeeded(r)
    if lines[-1:] != ["end"]:
        raise Failure(f"the output ends with {lines[-1:]}")
    told_by_both(lines, r.mapped, lib)
    ctx.note = f"{sum(line.startswith('ok ') for line in lines)} cases"


def program(name, *options, genuine=True, **more):
    """`genuine`: whether genuine UCX can run it."""
    def body(ctx, tls):
        command = [os.path.join(PROGRAMS, f"{name}.py"), *options] + (["--full"] if ctx.full else [])
        if ctx.full and genuine:
            own(ctx, ctx.genuine, once(ctx, ctx.genuine, tls, command, more))
        own(ctx, ctx.lib, once(ctx, ctx.lib, tls, command, more))

    return body


def benchmark(*options):
    def body(ctx, tls):
        command = ["-m", "ucxx.benchmarks.send_recv", "-s", "127.0.0.1", "--no-detailed-report", *options]
        for lib in ([ctx.genuine] if ctx.full else []) + [ctx.lib]:
            r = once(ctx, lib, tls, command, {})
            succeeded(r, "Latency (median)")
            mapped_only(r.mapped, lib, 2)

    return body


def needs_a_gpu(ctx, tls):
    raise Skip("takes a GPU")


def tests():
    found = []

    def add(name, smoke_on, body, alone=None, over_tcp=None):
        """Over every choice of transports; over shared memory alone genuine UCX has neither
        listeners nor endpoints that handle errors, so `alone` is what runs there. Over TCP alone
        its server never ends where nobody handles errors."""
        for tls in ("sm", "tcp", "both"):
            this = {"sm": alone, "tcp": over_tcp}.get(tls) or body
            found.append(Test(f"ucxx {name}", tls, this, smoke=tls in smoke_on.split()))

    for mode, smoke in (("blocking", "sm tcp"), ("polling", ""), ("thread", "sm tcp"), ("thread-polling", "")):
        add(f"synchronous, {mode}", smoke, program("sync", "--mode", mode), program("sync", "--mode", mode, genuine=False))
        by_address = "--mode", mode, "--connect", "address", "--no-errors"
        add(f"synchronous by address, {mode}", "both" if mode == "polling" else "", program("sync", *by_address),
            over_tcp=program("sync", *by_address, genuine=False))
        options = ["--mode", mode, "--clients", "3"]
        add(f"asynchronous, {mode}", "sm both" if mode in ("thread", "blocking") else "",
            program("asynchronous", *options), program("asynchronous", *options, genuine=False))
    add("asynchronous, futures", "tcp", program("asynchronous", "--futures"), program("asynchronous", "--futures", genuine=False))
    add("asynchronous by address", "sm tcp", program("asynchronous", "--by-address", "--no-errors"))
    for mode in ("blocking", "thread"):
        options = ["--death", "--mode", mode]
        soon = {"UCX_KEEPALIVE_INTERVAL": "500ms"}
        add(f"synchronous, killed peer, {mode}", "sm tcp" if mode == "blocking" else "",
            program("sync", *options, **soon), program("sync", *options, genuine=False, **soon))
        add(f"asynchronous, killed peer, {mode}", "both" if mode == "thread" else "",
            program("asynchronous", *options, **soon), program("asynchronous", *options, genuine=False, **soon))
    for name, *options in (("", "-l", "ucxx-async", "-n", "100000"), (", 16 buffers", "-l", "ucxx-async", "-x", "16", "-n", "100000"),
                           (", core", "-l", "ucxx-core", "-n", "10000"), (", core, asyncio", "-l", "ucxx-core", "--asyncio-wait", "-n", "1000000")):
        for tls in ("tcp", "both"):
            found.append(Test(f"ucxx benchmark send_recv{name}", tls, benchmark(*options), smoke=tls == "both" and not name))
    for what in NEEDS_A_GPU:
        found.append(Test(f"ucxx {what}", None, needs_a_gpu))
    return found
