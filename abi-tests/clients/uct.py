"""UCT for programs that use it directly: genuine ucx_perftest and ucx_info of both versions in UCT
mode, and programs of our own (abi-tests/uct) through the inline functions of genuine headers."""
import os
import re
import time

import proc
import tools
import where
from capi import header_sets
from proc import Failure, mapped_only
from tests import Skip, Test, succeeded

SOURCES = os.path.join(where.REPO, "abi-tests", "uct")
DEVICES = {"self": "memory", "sysv": "memory", "posix": "memory", "cma": "memory", "tcp": "lo"}
LIMIT = 60

AM = [("am_lat", "short", 8), ("am_bw", "short", 8), ("am_lat", "bcopy", 4096), ("am_bw", "bcopy", 4096),
      ("am_lat", "shortiov", 8), ("am_bw", "shortiov", 8)]
ACCESS = [("put_lat", "short", 8), ("put_bw", "short", 8), ("put_lat", "bcopy", 1024), ("put_bw", "bcopy", 4096),
          ("get", "bcopy", 8), ("get", "bcopy", 4096)]
ATOMIC = [(op, "short", size) for op in ("add_lat", "add_mr", "fadd", "swap", "cswap") for size in (4, 8)]
CASES = {
    "self": AM + ACCESS + ATOMIC,
    "sysv": AM + ACCESS + ATOMIC,
    "posix": AM + ACCESS + ATOMIC,
    "cma": [("put_bw", "zcopy", 8192), ("put_lat", "zcopy", 64), ("get", "zcopy", 65536), ("put_bw", "zcopy", 1 << 20)],
    "tcp": AM + [("am_lat", "zcopy", 64), ("am_bw", "zcopy", 8192), ("put_lat", "zcopy", 64), ("put_bw", "zcopy", 8192),
                 ("put_bw", "zcopy", 1 << 20)],
}
FEW = {"self": AM[:1] + ATOMIC[1:2], "sysv": AM[:1] + ACCESS[:1], "posix": AM[3:4] + ACCESS[5:6] + ATOMIC[7:8],
       "cma": CASES["cma"][:1], "tcp": [("am_lat", "short", 8), ("put_bw", "zcopy", 8192)]}


def measured(r, what, n):
    succeeded(r)
    rows = [line.split() for line in r.out.split("--- server")[0].splitlines() if re.match(r"^\s*\d+\s", line)]
    if not rows or int(rows[-1][0]) != n:
        raise Failure(f"{what}: no final line for {n} iterations")


def pair(ctx, binary, lib, what, arguments):
    env = where.environ(lib, UCX_WARN_UNUSED_ENV_VARS="n")
    port = str(tools.free_port())
    server = proc.Background([binary, "-p", port, *what], env)
    try:
        until = time.monotonic() + 10
        while not tools.listening(int(port)) and server.p.poll() is None:
            if time.monotonic() > until:
                raise Failure("the server does not listen")
            time.sleep(0.02)
        r = ctx.run([binary, "-p", port, "127.0.0.1", *what, *arguments], env, LIMIT)
    finally:
        rc, out = server.finish(10)
        if ctx.last:
            ctx.last.out += "\n--- server\n" + out
    succeeded(r)
    if rc != 0:
        raise Failure(f"the server ended with {rc}")
    return r


def perftest(version, tl, cases):
    def body(ctx, tls):
        lib = tools.library(ctx, version)
        binary = tools.BINARIES[version][0]
        mapped = {}
        for test, layout, size in cases:
            # Debian's UCX names the device of `self` otherwise.
            device = "memory0" if tl == "self" and lib == where.DEBIAN else DEVICES[tl]
            # Within a process a thousand is over before its maps are looked at.
            n = 200 if size >= 1 << 20 else 500000 if tl == "self" else 1000
            what = ["-d", device, "-x", tl]
            arguments = ["-t", test, "-D", layout, "-s", str(size), "-n", str(n), "-w", "10", "-f"]
            if tl == "self":
                env = where.environ(lib, UCX_WARN_UNUSED_ENV_VARS="n")
                r = ctx.run([binary, "-l", *what, *arguments], env, LIMIT)
            else:
                r = pair(ctx, binary, lib, what, arguments)
            measured(r, f"{test} {layout} {size}", n)
            mapped.update(r.mapped)
        mapped_only(mapped, lib, 1)
        ctx.note = f"{len(cases)} measurements"

    return body


def listing(ctx, version, lib):
    """`ucx_info -d` without what is free to differ: numbers, and lines that 1.13.1 doesn't have."""
    r = ctx.run([tools.BINARIES[version][1], "-d"], where.environ(lib), LIMIT)
    succeeded(r)
    lines = []
    for line in r.out.splitlines():
        if "memory types" in line or "rkey_ptr" in line:
            continue
        line = re.sub(r"unlimited", "<= N", line)
        lines.append(re.sub(r"\b\d+(\.\d+)?[KMGT]?\b", "N", line))
    # The order of network devices is free.
    return sorted(lines)


def info(version):
    def body(ctx, tls):
        if os.path.realpath(ctx.lib) == os.path.realpath(ctx.genuine):
            raise Skip("it takes two libraries")
        genuine = listing(ctx, "1.22.0", ctx.genuine)
        ours = listing(ctx, version, ctx.lib)
        if genuine != ours:
            lost = [line for line in genuine if line not in ours]
            more = [line for line in ours if line not in genuine]
            raise Failure(f"lines that are missing: {lost}, that are too many: {more}")

    return body


def said(ctx, name, headers, lib, arguments, under=(), more=(), limit=LIMIT, env=None):
    include, link = header_sets(ctx)[headers]
    flags = [f"-I{include}", "-Wno-unused-function", f"-L{link}", f"-Wl,-rpath-link,{link}", "-luct", "-lucs", "-lpthread",
             f"-DHEADERS_{headers.replace('.', '_')}", *more]
    binary = ctx.compiled(os.path.join(SOURCES, f"{name}.c"), "cc", *flags)
    r = ctx.run([*under, binary, *arguments], where.environ(lib, UCX_LOG_FILE="stderr", **(env or {})), limit)
    succeeded(r)
    lines = r.out.splitlines()
    root = os.path.realpath(lib) + "/"
    mapped = {line.split()[1] for line in lines if line.startswith("MAPS ")}
    if not mapped or any(not os.path.realpath(m).startswith(root) for m in mapped):
        raise Failure(f"mapped {sorted(mapped) or 'no UCX at all'} instead of {lib}")
    lines = [line for line in lines if not line.startswith(("MAPS ", "["))]
    if lines[-1:] != ["end"]:
        raise Failure(f"the output ends with {lines[-1:]}")
    return lines


def same(name, arguments, sets=("1.22.0", "1.13.1")):
    """What a program prints on ours it prints on genuine UCX; it is compiled with each set of headers."""
    def body(ctx, tls):
        base = said(ctx, name, sets[0], ctx.genuine, arguments)
        for headers in sets:
            ours = said(ctx, name, headers, ctx.lib, arguments)
            if ours != base:
                odd = next((pair for pair in zip(ours, base) if pair[0] != pair[1]), (ours[len(base):], base[len(ours):]))
                raise Failure(f"{headers} headers: says {odd[0]!r}, where genuine UCX says {odd[1]!r}")

    return body


# Memory that is used wrongly, by the program or on its behalf, or lost.
VALGRIND = {"under": ("valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite",
                      "--errors-for-leak-kinds=definite"), "limit": 600}
# Allocations that are too large are to fail, as without it.
ASAN = {"more": ("-fsanitize=address",), "env": {"ASAN_OPTIONS": "allocator_may_return_null=1"}}


def alone(name, headers, arguments, **how):
    def body(ctx, tls):
        if os.path.realpath(ctx.lib) == os.path.realpath(ctx.genuine):
            raise Skip("genuine UCX fails here")
        lines = said(ctx, name, headers, ctx.lib, arguments, **how)
        bad = [line for line in lines if line.startswith("WRONG")]
        if bad:
            raise Failure("; ".join(bad))

    return body


HEADERS = ("uct.h", "tl.h", "v2/uct_v2.h")
# What every transport of a host refuses: these programs show that it does.
REFUSED_BY_ALL = re.compile(r"uct_ep_(tag_\w+|get_short|get_device_ep|outstanding_purge|(put|get)_sgl_zcopy)|"
                            r"uct_iface_(tag_\w+|accept|reject)|uct_md_(mem_attach|mem_elem_\w+|is_sockaddr_accessible)")


def every_function():
    """Each function of UCT's headers is used as it should be by one of the programs whose results are
    held against genuine UCX, or is one of those that no transport has; and each is given nonsense."""
    def body(ctx, tls):
        declared, macros = set(), set()
        for header in HEADERS:
            with open(os.path.join(where.REPO, "include", "uct", "api", header)) as f:
                text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.DOTALL)
            declared |= set(re.findall(r"\b(uct_[a-z0-9_]+)\(", text))
            macros |= set(re.findall(r"#define (uct_[a-z0-9_]+)\(", text))
        declared -= macros

        def called(*programs):
            text = ""
            for name in programs:
                with open(os.path.join(SOURCES, name)) as f:
                    text += f.read()
            return set(re.findall(r"\b(uct_[a-z0-9_]+)\(", text))

        if len(declared) < 100:
            raise Failure(f"only {len(declared)} functions")
        # That an endpoint can be made to fail, where genuine UCX refuses, is shown by bad.c.
        unused = declared - called("uct.h", "pair.h", "ops.c", "kept.c", "more.c", "cm.c") - {"uct_ep_invalidate"}
        unused = {name for name in unused if not REFUSED_BY_ALL.fullmatch(name)}
        # What is released is a part of a message: there is no nonsense that isn't a crash.
        untried = declared - called("bad.c", "refused.c") - {"uct_iface_release_desc"}
        if unused or untried:
            raise Failure(f"used by no program: {sorted(unused)}, given no nonsense: {sorted(untried)}")
        ctx.note = f"{len(declared)} functions"

    return body


def tests():
    found = [Test("uct every function is called", None, every_function())]
    for version in tools.BINARIES:
        found.append(Test(f"ucx_info {version} -d", None, info(version)))
        for tl in DEVICES:
            found.append(Test(f"ucx_perftest {version} UCT {tl}", None, perftest(version, tl, FEW[tl])))
            found.append(Test(f"ucx_perftest {version} UCT {tl}, all", None, perftest(version, tl, CASES[tl]), smoke=False))
    for tl, device in DEVICES.items():
        found.append(Test(f"uct ops {tl}", None, same("ops", [tl, device])))
        found.append(Test(f"uct more {tl}", None, same("more", [tl, device], ("ours",))))
        # The headers of `uct/api/v2` are not installed by the packages of genuine UCX.
        found.append(Test(f"uct bad {tl}", None, alone("bad", "ours", [tl, device])))
        found.append(Test(f"uct refused {tl}", None, alone("refused", "ours", [tl, device])))
        # Genuine UCX doesn't look at limits in a release build.
        found.append(Test(f"uct limits {tl}", None, alone("limits", "1.22.0", [tl, device])))
        programs = ["ops", "more", "bad", "refused", "limits"]
        if tl != "cma":
            found.append(Test(f"uct kept {tl}", None, same("kept", [tl, device])))
            found.append(Test(f"uct kept {tl}, all", None, alone("kept", "1.13.1", [tl, device, "all"])))
            programs.append("kept")
        for name in programs:
            headers = "ours" if name in ("more", "bad", "refused") else "1.22.0"
            found.append(Test(f"uct {name} {tl}, AddressSanitizer", None, alone(name, headers, [tl, device], **ASAN),
                              smoke=name == "bad" and tl in ("sysv", "tcp")))
            found.append(Test(f"uct {name} {tl}, valgrind", None, alone(name, headers, [tl, device], **VALGRIND), smoke=False))
    for tl in ("sysv", "posix"):
        found.append(Test(f"uct sleeps {tl}", None, same("sleeps", [tl, DEVICES[tl]])))
        found.append(Test(f"uct sleeps {tl}, long", None, alone("sleeps", "1.22.0", [tl, DEVICES[tl], "3000"], limit=300), smoke=False))
    # Genuine UCX 1.22.0 never tells a client of a refusal that comes late.
    found.append(Test("uct cm", None, alone("cm", "ours", [])))
    for test in found:
        test.light = test.name.startswith(("uct ops", "uct more", "uct bad", "uct refused", "uct limits", "uct kept"))
    return found
