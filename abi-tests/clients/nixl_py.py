"""NIXL 1.5.1, with its UCX backend over the libraries under test: a private copy of the wheel in which
its four UCX libraries, whose names are mangled, are links to ours, and its folder of UCX modules is
empty. The whole form runs each test on genuine UCX 1.22.0 too, put in its place in the same way."""
import glob
import os
import shutil

import where
from proc import Failure, told_by_both
from tests import Test, succeeded

ROOT = os.path.join(where.DEPS, "nixl")
PROGRAM = os.path.join(where.HERE, "nixl_py", "pair.py")


def wheel_over(ctx, lib):
    """The folder of a copy of the wheel (links, but for what differs) whose UCX is in `lib`."""
    copy = os.path.join(ctx.scratch, "nixl-" + os.path.realpath(lib).replace("/", "_"))
    if os.path.isdir(copy):
        return copy
    (wheel,) = glob.glob(os.path.join(ROOT, "lib", "python3*", "site-packages"))
    for part in ("nixl_cu12", "nixl_cu12.libs", ".nixl_cu12.mesonpy.libs"):
        shutil.copytree(os.path.join(wheel, part), os.path.join(copy, part), copy_function=os.symlink,
                        ignore=shutil.ignore_patterns("ucx", "__pycache__"))
    libs = os.path.join(copy, "nixl_cu12.libs")
    os.mkdir(os.path.join(libs, "ucx"))
    for name in ("libucp", "libuct", "libucs", "libucm"):
        (mangled,) = glob.glob(os.path.join(libs, f"{name}-*.so*"))
        os.unlink(mangled)
        os.symlink(os.path.join(os.path.realpath(lib), f"{name}.so.0"), mangled)
    return copy


def once(ctx, lib, tls, options):
    # LD_LIBRARY_PATH serves what the libraries need of each other by their common names.
    env = where.environ(lib, tls, PYTHONPATH=wheel_over(ctx, lib), UCX_KEEPALIVE_INTERVAL="1s", NIXL_LOG_LEVEL="error",
                        PYTHONDONTWRITEBYTECODE="1")
    r = ctx.run([os.path.join(ROOT, "bin", "python"), PROGRAM, *options], env, 120)
    succeeded(r)
    lines = r.out.splitlines()
    if lines[-1:] != ["end"]:
        raise Failure(f"the output ends with {lines[-1:]}")
    told_by_both(lines, r.mapped, lib)
    ctx.note = f"{sum(line.startswith('ok ') for line in lines)} cases"


def pair(*options):
    def body(ctx, tls):
        # NIXL's endpoints handle errors, which genuine UCX doesn't have over shared memory alone.
        if ctx.full and tls != "sm":
            once(ctx, ctx.genuine, tls, [*options, "--full"])
        once(ctx, ctx.lib, tls, [*options] + (["--full"] if ctx.full else []))

    return body


def tests():
    found = []
    for name, smoke, *options in (("DRAM", "sm tcp"), ("DRAM, four threads", "both", "--threads", "4"),
                                  ("DRAM, no progress thread", "", "--no-progress-thread"), ("killed peer", "sm tcp", "--death")):
        for tls in ("sm", "tcp", "both"):
            found.append(Test(f"NIXL {name}", tls, pair(*options), smoke=tls in smoke.split()))
    return found
