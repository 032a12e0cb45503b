#!/usr/bin/env python3
"""CUDA on a simulated driver: that genuine UCX runs on it, which shows that it is right, and ours.

    run.py [--lib DIR] [--long] [--real [DIR]] [NAME...]      NAME: run only tests whose name contains it

Needs the libraries of `make`, and UCX 1.22.0 under $UCX_RS_DEPS/libucx.

With --real the tests use this machine's own driver and devices (DIR: the folder of libcuda.so.1, if the
linker doesn't know it) and genuine UCX with the CUDA runtime that it brings. Tests that look into the
driver, or need a machine of a special kind, are left out, and named.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import machine
import python_clients
import under_mpi
from machine import DEPS, FABRIC, HERE, INCLUDE, LIMIT, ROOT, Failure, Room, build, check, facts, simulated

FAST = "sm,cuda_copy,cuda_ipc"
SLOW = "tcp,cuda_copy"
# What parts of driver.c need of the simulated machine.
PARTS = {
    "memory": {}, "contexts": {}, "streams": {}, "faults": {}, "legacy": {}, "reader_killed": {}, "owner_killed": {},
    "descriptors": {}, "fabric": FABRIC, "pools": FABRIC, "events": {},
    "strangers": {"CUDASIM_NO_PEER": "0-1"},
}  # fmt: skip


# ---- the simulated driver itself ----------------------------------------------------------------


@simulated
def test_driver(room):
    program = room.compile("driver", ucx=False)
    for part, env in PARTS.items():
        out = room.run(program, part, env=env)
        check(out.splitlines()[-1:] == ["end"], f"{part}: {out}")


# ---- genuine UCX on it --------------------------------------------------------------------------


def test_genuine_lists_its_transports(room):
    out = room.run(machine.GENUINE / "bin" / "ucx_info", "-d", lib=machine.GENUINE / "lib")
    for name in ("cuda_copy", "cuda_ipc"):
        check(re.search(rf"Transport: {name}$", out, re.M), f"no {name}: {out[-3000:]}")


def test_genuine_hooks_the_driver(room):
    """Its memory hooks overwrite functions of the driver, and see memory come and go."""
    program = room.compile("buffers")
    for mode in ("bistro", "reloc"):
        env = {"UCX_MEM_CUDA_HOOK_MODE": mode, "UCX_MEM_LOG_LEVEL": "info", "UCX_TLS": FAST}
        out = room.run(program, "cuda,cuda", lib=machine.GENUINE / "lib", env=env)
        hooked = re.search(rf"hooks mode {mode}: installed (\d+) on driver API", out)
        check(hooked and int(hooked[1]) >= 10, f"{mode}: {out[-2000:]}")
        check("all bytes arrived" in out, out[-1500:])


def test_genuine_moves_all_bytes(room):
    program = room.compile("buffers")
    for tls in (FAST, SLOW):
        for kinds in ("cuda,cuda", "host,cuda", "cuda,host", "managed,managed"):
            out = room.run(program, kinds, "1", lib=machine.GENUINE / "lib", env={"UCX_TLS": tls})
            check("all bytes arrived" in out, f"{tls} {kinds}: {out[-1500:]}")


def test_genuine_leaks(room):
    """The test that our library must pass can fail: on genuine UCX 1.22.0 the mapping stays."""
    program = room.compile("leak")
    for how in ("get", "ptr"):
        out = room.run(program, 64 << 20, 3, how, lib=machine.GENUINE / "lib", env={"UCX_TLS": FAST})
        check(re.search(r"free memory: \d+ bytes less", out), f"{how}: no leak? {out[-1500:]}")


@simulated
def test_genuine_counted(room):
    """What was called and what is still open can be read after the end of any program."""
    program = room.compile("leak")
    report = room.folder / "report-%p"
    env = {"UCX_TLS": FAST, "CUDASIM_REPORT": str(report)}
    room.run(program, 8 << 20, 2, "get", lib=machine.GENUINE / "lib", env=env)
    # Only the parent runs to its end; the child leaves by _exit.
    reports = [facts(p.read_text()) for p in room.folder.glob("report-*")]
    check(len(reports) == 1, f"{len(reports)} reports")
    report = reports[0]
    check(report["calls cuMemAlloc_v2"] >= 2, f"{report}")
    check(report["calls cuMemAlloc_v2"] == report["calls cuMemFree_v2"], f"{report}")
    check(report["open device"] == report["open opened"] == 0, f"{report}")


def listening(port):
    """Whether somebody listens at the port; a connection would be taken for the client's."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in lines)


def perftest(room, port, tls, *arguments, lib=None, report=None):
    lib = lib or machine.GENUINE / "lib"
    env = {"UCX_TLS": tls, "UCX_WARN_UNUSED_ENV_VARS": "n", "UCX_MODULE_DIR": str(machine.GENUINE / "lib" / "ucx")}
    command = [machine.GENUINE / "bin" / "ucx_perftest", "-p", port, "-f", *arguments]
    server = room.start(*command, lib=lib, env=env)
    what = f"ucx_perftest {tls} {' '.join(map(str, arguments))}"
    try:
        while not listening(port) and server.poll() is None:
            time.sleep(0.05)
        told = {"CUDASIM_REPORT": str(report)} if report else {}
        out = room.finish(room.start(*command, "127.0.0.1", lib=lib, env=env | told), what)
        room.finish(server, what + " (server)")
    finally:
        server.kill()
    check(re.search(r"^\S.*\d", out, re.M), f"{what}: {out}")


def perftests(room, kinds, tests, sizes, port, **where):
    for tls in (FAST, SLOW):
        for kind in kinds:
            for test in tests:
                for size in sizes:
                    port += 1
                    perftest(room, port, tls, "-t", test, "-m", kind, "-s", size, "-n", 20, "-w", 2, **where)


def test_genuine_perftest(room):
    perftests(room, ["cuda"], ["tag_bw"], [300000], 13400)


KINDS = ["cuda", "host,cuda", "cuda,host", "cuda-managed"]
TESTS = ["tag_lat", "tag_bw", "ucp_am_lat", "ucp_am_bw", "ucp_put_lat", "ucp_put_bw", "ucp_get", "stream_bw", "stream_lat"]


def long_test_genuine_perftest(room):
    perftests(room, KINDS, TESTS, [8, 300000], 13500)


# ---- ours -----------------------------------------------------------------------------------------


@simulated
def test_our_units(room):
    """The unit tests of the crate that need a driver; built by `cargo test` before."""
    command = [os.environ.get("CARGO", "cargo"), "test", "--lib", "uct::cuda", "--", "--include-ignored"]
    out = subprocess.run(
        command, cwd=ROOT, env=room.env(None, {"HOME": os.environ.get("HOME", "/")}), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1500
    )  # fmt: skip
    counts = re.search(r"(\d+) passed; 0 failed; 0 ignored", out.stdout)
    check(out.returncode == 0 and counts and int(counts[1]) >= 8, out.stdout[-2000:])


def domains(text):
    """What `ucx_info -d` says of each memory domain."""
    return {part.split("\n", 1)[0].strip(): part.rstrip("#\n ") for part in text.split("# Memory domain: ")[1:]}


def test_our_transports_are_as_genuine(room):
    program = machine.GENUINE / "bin" / "ucx_info"
    genuine = domains(room.run(program, "-d", lib=machine.GENUINE / "lib"))
    ours = domains(room.run_ours(program, "-d"))
    check("cuda_cpy" in genuine, f"{list(genuine)}")
    for name in ("cuda_cpy", "cuda_ipc"):
        check(genuine[name] == ours.get(name), f"{name}: genuine\n{genuine[name]}\nours\n{ours.get(name)}")


MEMORY_SETTINGS = [
    {}, {"UCX_CUDA_COPY_REG_WHOLE_ALLOC": "on"}, {"UCX_CUDA_COPY_REG_WHOLE_ALLOC": "off"},
    {"UCX_CUDA_COPY_MAX_REG_RATIO": "0.0001"}, {"UCX_CUDA_COPY_ASYNC_MEM_TYPE": "cuda"},
    {"UCX_CUDA_COPY_RETAIN_PRIMARY_CTX": "y"},
]  # fmt: skip


def test_memory_is_what_genuine_says(room):
    """Types and extents of memory, and where it is allocated, with each setting that changes them."""
    program, outs = room.program("uct_memory"), set()
    named = [name for name, _ in kinds(*KINDS_OF_MEMORY)]
    for env in MEMORY_SETTINGS:
        genuine = room.run(program, *named, lib=machine.GENUINE / "lib", env={"UCX_LOG_LEVEL": "fatal"} | FABRIC | env)
        ours = room.run_ours(program, *named, env={"UCX_LOG_LEVEL": "fatal"} | FABRIC | env)
        said = [[line for line in out.splitlines() if not line.startswith("MAPS")] for out in (genuine, ours)]
        check(said[0] == said[1], f"{env}: genuine\n{genuine}\nours\n{ours}")
        outs.add(tuple(said[1]))
    check(len(outs) >= (2 if machine.REAL else 4), f"{len(outs)} different outputs")


@simulated
def test_no_links(room):
    """Where devices are not joined by NVLink none is said to be read, as on genuine UCX."""
    program, env = machine.GENUINE / "bin" / "ucx_info", {"CUDASIM_NVLINKS": "0"}
    genuine = domains(room.run(program, "-d", lib=machine.GENUINE / "lib", env=env))
    ours = domains(room.run_ours(program, "-d", env=env))
    check(genuine["cuda_ipc"] == ours["cuda_ipc"], f"genuine\n{genuine['cuda_ipc']}\nours\n{ours['cuda_ipc']}")
    with_links = domains(room.run_ours(program, "-d", env=env | {"UCX_CUDA_IPC_ENABLE_GET_ZCOPY": "on"}))
    check(with_links["cuda_ipc"] == domains(room.run_ours(program, "-d"))["cuda_ipc"], f"{with_links['cuda_ipc']}")


def test_other_machines_are_not_reached(room):
    """NVLink to other machines: asked for, it is refused in words, and all else works."""
    out = room.run_ours(room.program("buffers"), "cuda,cuda", "1", env={"UCX_TLS": FAST, "UCX_CUDA_IPC_ENABLE_MNNVL": "y"})
    check("devices of other machines are not reached" in out and "all bytes arrived" in out, out[-1500:])


@simulated
def test_our_transports_need_a_device(room):
    for env in ({"CUDASIM_DEVICES": "0"}, {"LD_LIBRARY_PATH": str(room.ours)}):
        out = room.run_ours(machine.GENUINE / "bin" / "ucx_info", "-d", env=env)
        check("tcp" in out and "cuda" not in out, out[-1500:])


def test_our_modules(room):
    """Of genuine UCX's modules ours loads what ucx_perftest needs, and no transport."""
    env = {"UCX_TLS": "self,cuda_copy", "LD_DEBUG": "files"}
    command = [machine.GENUINE / "bin" / "ucx_perftest", "-l", "-t", "tag_bw", "-m", "cuda", "-s", 1000, "-n", 5, "-w", 1, "-f"]
    out = room.run_ours(*command, env=env)
    loaded = set(re.findall(r"calling init: \S*/(libuc[a-z_]*)\S*\.so", out))
    check("libucx_perftest_cuda" in loaded, f"{sorted(loaded)}")
    check(not {name for name in loaded if name.startswith(("libuct_", "libucm_"))}, f"{sorted(loaded)}")


def balanced(report):
    for what in ("streams", "events", "handles", "opened", "imported", "mapped"):
        check(report[f"open {what}"] == 0, f"{what} left open: {report}")
    check(report["opens"] == report["closes"], f"{report}")


def all_closed(room, processes):
    """Nothing is open in the reports of as many processes, which only the simulated driver writes."""
    reports = [facts(p.read_text()) for p in room.folder.glob("report-*")]
    check(machine.REAL or len(reports) == processes, f"{len(reports)} reports")
    for report in reports:
        balanced(report)
    return reports


def test_ours_moves_all_bytes(room):
    program = room.compile("buffers")
    report = room.folder / "report-%p"
    for tls in (FAST, SLOW):
        for kinds in ("cuda,cuda", "host,cuda", "cuda,host", "managed,managed"):
            env = {"UCX_TLS": tls, "CUDASIM_REPORT": str(report)}
            out = room.run_ours(program, kinds, "1", env=env)
            check("all bytes arrived" in out, f"{tls} {kinds}: {out[-1500:]}")
    all_closed(room, 8)


def test_kinds_of_buffers(room):
    program = room.compile("kinds")
    report = room.folder / "report-%p"
    for tls in (FAST, SLOW):
        for env in ({}, {"UCX_MEMTYPE_CACHE": "n"}):
            out = room.run_ours(program, env=env | {"UCX_TLS": tls, "UCX_LOG_LEVEL": "fatal", "CUDASIM_REPORT": str(report)})
            check(out.splitlines()[-1:] == ["end"], f"{tls} {env}: {out[-1500:]}")
    for found in all_closed(room, 4):
        check(found["open device"] == found["open managed"] == found["open contexts"] == 0, f"{found}")


def test_order(room):
    """What a program does by calls that return early is done before UCX reads the memory."""
    program, slow = room.program("order"), {"CUDASIM_DELAY_US": "2000", "UCX_TLS": FAST, "UCX_LOG_LEVEL": "fatal"}
    for kind, env in kinds("alloc", "descriptor", "fabric", "pool"):
        for run in (lambda **more: room.run(program, kind, lib=machine.GENUINE / "lib", **more), lambda **more: room.run_ours(program, kind, **more)):
            check(f"{kind}: in order" in run(env=slow | env), kind)


def long_test_ours_moves_all_bytes(room):
    """By every scheme of rendezvous, and with other ways to find out what memory is."""
    program = room.compile("buffers")
    schemes = [{"UCX_RNDV_SCHEME": scheme} for scheme in ("get_zcopy", "put_zcopy", "get_ppln", "put_ppln", "rkey_ptr", "am")]
    others = [{"UCX_MEMTYPE_CACHE": "n"}, {"UCX_MEM_CUDA_HOOK_MODE": "reloc"}, {"UCX_RNDV_THRESH": "0"}, {"UCX_RNDV_THRESH": "inf"}]
    for env in schemes + others:
        for tls in (FAST, SLOW):
            for kinds in ("cuda,cuda", "host,cuda", "cuda,host", "managed,managed"):
                out = room.run_ours(program, kinds, "1", env={"UCX_TLS": tls} | env)
                check("all bytes arrived" in out, f"{tls} {env} {kinds}: {out[-1500:]}")


def test_our_perftest(room):
    perftests(room, ["cuda"], ["tag_lat", "ucp_am_bw"], [300000], 13300, lib=room.ours)


def long_test_our_perftest(room):
    perftests(room, KINDS, TESTS, [8, 300000], 13600, lib=room.ours)


def calls(room, lib, port, *arguments):
    """Calls of the driver that the client of a test makes per iteration, but for questions whether a copy is done."""
    counts = []
    for rounds in (100, 200):
        port += 1
        report = room.folder / "calls"
        report.unlink(missing_ok=True)
        perftest(room, port, "sm,cuda_copy", "-n", rounds, "-w", 0, *arguments, lib=lib, report=report)
        found = facts(report.read_text()).items()
        counts.append(sum(n for name, n in found if name.startswith("calls ") and "Query" not in name))
    return (counts[1] - counts[0]) / 100


def test_our_cuda_copy_by_uct(room):
    """Genuine ucx_perftest on the C operations of cuda_copy, which leads to the process itself."""
    program = machine.GENUINE / "bin" / "ucx_perftest"
    for test in (["put_lat", "-D", "short", "-s", 8], ["put_bw", "-D", "zcopy", "-s", 100000], ["get", "-D", "short", "-s", 100], ["get", "-D", "zcopy", "-s", 100000]):
        for kind in ("cuda", "host", "cuda-managed"):
            out = room.run_ours(program, "-l", "-d", "cuda", "-x", "cuda_copy", "-m", kind, "-n", 20, "-w", 2, "-f", "-t", *test)
            check(re.search(r"^ +20 ", out, re.M), f"{test} {kind}: {out[-1500:]}")


def calls_for_operations(room):
    """What is done, our calls for each, and those of genuine UCX."""
    for port, (what, *arguments) in enumerate(OPERATIONS):
        arguments = [*arguments, "-m", "cuda"]
        genuine = calls(room, machine.GENUINE / "lib", 13800 + 10 * port, *arguments)
        yield what, calls(room, room.ours, 13805 + 10 * port, *arguments), genuine


OPERATIONS = [
    ("message of 8 B and back", "-t", "tag_lat", "-s", 8), ("message of 64 KiB and back", "-t", "tag_lat", "-s", 65536),
    ("get of 100 kB", "-t", "ucp_get", "-s", 100000), ("put of 100 kB", "-t", "ucp_put_lat", "-s", 100000),
]  # fmt: skip


@simulated
def long_test_calls_per_operation(room):
    """Not more of them than genuine UCX makes."""
    for what, ours, genuine in calls_for_operations(room):
        print(f"       driver calls per {what}: {ours:.1f}, genuine {genuine:.1f}", flush=True)
        check(ours <= genuine, f"{what}: {ours} calls, genuine {genuine}")


def faults(room, kind, tls, code, **env):
    """Each call of the driver fails once: an error, nothing leaked, no crash."""
    out = room.run_ours(room.program("faults"), kind, code, env={"UCX_TLS": tls, "UCX_LOG_LEVEL": "fatal"} | env)
    found = re.search(r"(\d+) faults, (\d+) (operations|processes) .* nothing was left open", out)
    check(found and int(found[1]) > 20 and int(found[2]) > 5, f"{kind}, {tls}: {out[-2000:]}")
    print(f"       {kind}, {tls}, code {code}: {found[0]}", flush=True)


@simulated
def test_ours_survives_faults(room):
    faults(room, "begin", FAST, 999, UCX_CUDA_COPY_RETAIN_PRIMARY_CTX="y")
    faults(room, "alloc", FAST, 999)


def kinds(*names):
    """Kinds of memory that the driver has, with what the simulated machine needs for them. A real one may be
    in no fabric, which memory of two of them needs."""
    names = [name for name in names if not (machine.REAL and name in ("fabric", "pool"))]
    return [(name, FABRIC if name in ("fabric", "pool") else {}) for name in names]


KINDS_OF_MEMORY = ["alloc", "managed", "descriptor", "fabric", "pool"]
OUT_OF_MEMORY, NO_CONTEXT, NOT_SUPPORTED, UNKNOWN = 2, 201, 801, 999


@simulated
def long_test_ours_survives_faults(room):
    """With all kinds of memory, over both transports, with the codes that have statuses of their own."""
    for code in (OUT_OF_MEMORY, NO_CONTEXT, NOT_SUPPORTED, UNKNOWN):
        faults(room, "begin", FAST, code, UCX_CUDA_COPY_RETAIN_PRIMARY_CTX="y")
        for kind in KINDS_OF_MEMORY:
            faults(room, kind, FAST, code, **FABRIC)
    for kind in KINDS_OF_MEMORY:
        faults(room, kind, SLOW, UNKNOWN, **FABRIC)


@simulated
def test_questions_of_memory_survive_faults(room):
    """What UCT says of memory, and its registration of the host's."""
    out = room.run_ours(room.program("uct_memory"), "faults", env={"UCX_LOG_LEVEL": "fatal"})
    check(re.search(r"\d+ calls failed once, \d+ errors", out), out[-1500:])


# Functions of the driver that can't fail when all do in turn: the first, before which there is no driver;
# the text of an error; what only tests of it call; and what only older drivers are called by.
NEVER_FAILS = {"cuInit", "cuGetErrorString", "cuMemGetInfo_v2", "cuPointerSetAttribute"}


@simulated
def long_test_every_function_has_failed(room):
    """Of all functions of the driver that the library may call: where each is called it has failed once, in
    the tests of faults."""
    folder, fatal = room.folder / "reports", {"UCX_LOG_LEVEL": "fatal", "UCX_TLS": FAST}
    folder.mkdir()
    told = fatal | FABRIC | {"CUDASIM_REPORT": str(folder / "%p")}
    # Processes that leave by _exit write no report.
    faults, keys, lists, memory = (room.compile(name, "-D_exit=exit") for name in ("faults", "keys", "lists", "uct_memory"))
    uct_keys = room.compile("uct_keys", "-D_exit=exit", include=ROOT / "include")
    room.run_ours(faults, "begin", UNKNOWN, env=told | {"UCX_CUDA_COPY_RETAIN_PRIMARY_CTX": "y"})
    for kind in KINDS_OF_MEMORY:
        room.run_ours(faults, kind, UNKNOWN, env=told)
        if kind != "managed":
            room.run_ours(keys, "fail_each", 1, kind, env=told)
    for program, *arguments in ((lists,), (memory, "faults"), (uct_keys,)):
        room.run_ours(program, *arguments, env=told)
    failed = {name for path in folder.iterdir() for name, n in re.findall(r"^calls (\S+) \d+ (\d+)$", path.read_text(), re.M) if int(n)}
    table = (ROOT / "src" / "uct" / "cuda" / "driver" / "table.rs").read_text()
    known = set(re.findall(r'= "(cu\w+)" \(', table))
    check(len(known) > 45, f"{known}")
    check(known - failed == NEVER_FAILS, f"never failed: {sorted(known - failed - NEVER_FAILS)}; did: {sorted(failed & NEVER_FAILS)}")


# ---- cuda_ipc -------------------------------------------------------------------------------------

KEYS = ["never", "two", "in_flight", "pointers", "put", "again", "alive"]
CACHES = [{"UCX_CUDA_IPC_CACHE": "n"}, {"UCX_CUDA_IPC_CACHE_MAX_REGIONS": "1"}, {"UCX_CUDA_IPC_CACHE_MAX_SIZE": "1m"}]


def ours(room, program, *arguments, **env):
    out = room.run_ours(program, *arguments, env={"UCX_TLS": FAST} | env)
    check(str(room.ours) in out, f"not our library: {out[-1500:]}")
    return out


def devices(room):
    """How many there are."""
    ask = "import ctypes; d = ctypes.CDLL('libcuda.so.1'); n = ctypes.c_int(); d.cuInit(0); d.cuDeviceGetCount(ctypes.byref(n)); print(n.value)"
    return int(room.run(sys.executable, "-c", ask))


def leaks(room, size, rounds, hows=("get", "ptr", "never")):
    """What genuine UCX leaks: all memory is free again, and each round finds its own contents."""
    program = room.compile("leak")
    for how in hows:
        for device in range(min(2, devices(room))):
            out = ours(room, program, size, rounds, how, device)
            check("free memory: as before" in out, f"{how}: {out[-1500:]}")
            check("rounds at the same address: all" in out, f"{how}: {out[-1500:]}")


def test_mappings_go_with_their_keys(room):
    leaks(room, 4 << 20, 20)


def long_test_mappings_go_with_their_keys(room):
    leaks(room, 1 << 30, 1)
    leaks(room, 1 << 20, 1000)
    leaks(room, 1 << 30, 1000, ["ptr", "never"])  # reading all of it as often would take an hour


def keys(room, program, part, *arguments, **env):
    out = ours(room, program, part, *arguments, **env)
    check("free memory: as before" in out, f"{part} {env}: {out[-1500:]}")


def test_lives_of_keys(room):
    """Never mapped, two to one allocation, destroyed in flight, outliving endpoint and worker."""
    program = room.compile("keys")
    for part in KEYS:
        keys(room, program, part)
    for env in CACHES:
        for part in ("in_flight", "put"):
            keys(room, program, part, **env)


@simulated
def test_limits_of_the_cache(room):
    """Of four keys' memory no more stays open than the user wants."""
    program = room.program("keys")
    for most, env in (
        (4, {}), (2, {"UCX_CUDA_IPC_CACHE_MAX_REGIONS": "2"}), (1, {"UCX_CUDA_IPC_CACHE_MAX_REGIONS": "1"}),
        (2, {"UCX_CUDA_IPC_CACHE_MAX_SIZE": "9m"}), (3, {"UCX_CUDA_IPC_CACHE_MAX_SIZE": "12m"}), (0, {"UCX_CUDA_IPC_CACHE": "n"}),
    ):  # fmt: skip
        keys(room, program, "limits", EXPECT_OPEN=str(most), **env)


def test_kinds_of_memory(room):
    """Memory that is shared by descriptor, by a fabric, and in pools."""
    program = room.compile("keys")
    for kind, env in kinds("descriptor", "fabric", "pool"):
        for part in ("two", "in_flight", "put", "never"):
            keys(room, program, part, 1, kind, **env)


def test_memory_that_the_program_opens(room):
    """Other processes' memory that the program opened itself, or got by ucp_rkey_ptr, is a device's."""
    program = room.compile("imported")
    for kind, needs in kinds("alloc", "descriptor", "fabric", "pool", "pointer"):
        for env in ({}, {"UCX_TLS": SLOW}, {"UCX_MEMTYPE_CACHE": "n"}):
            if kind == "pointer" and "UCX_TLS" in env:
                continue  # there are pointers only by cuda_ipc
            out = ours(room, program, kind, **env, **needs)
            check("free memory: as before" in out, f"{kind} {env}: {out[-1500:]}")


def test_keys_through_uct(room):
    program = room.compile("uct_keys", include=ROOT / "include")
    for env in ({},) if machine.REAL else ({}, {"CUDASIM_NO_PEER": "0-1"}):
        out = ours(room, program, UCX_LOG_LEVEL="fatal", **env)
        check("free memory: as before" in out, out[-1500:])


def keys_survive_faults(room, kinds):
    """Each of the driver's calls for a key fails once, or for a message that is read or written where it
    is, on either side: nothing stays open, and the next try works."""
    program = room.program("keys")
    for kind in kinds:
        env = {"UCX_LOG_LEVEL": "fatal"} | (FABRIC if kind != "descriptor" else {})
        keys(room, program, "fail_each", 1, kind, **env)
        # Others than plain allocations go through the host.
        for scheme in ("get_zcopy", "put_zcopy") if kind == "alloc" else ("get_zcopy",):
            for part in ("fail_receiving", "fail_sending"):
                keys(room, program, part, 1, kind, UCX_RNDV_SCHEME=scheme, **env)


@simulated
def test_keys_survive_faults(room):
    keys_survive_faults(room, ["alloc", "descriptor"])


@simulated
def long_test_keys_survive_faults(room):
    keys_survive_faults(room, ["alloc", "descriptor", "fabric", "pool"])


def calls_for_keys(room):
    """Calls of the driver per read and per key, of genuine UCX and of ours."""
    program = room.compile("keys")
    made = {}
    for name, lib in (("genuine", machine.GENUINE / "lib"), ("ours", room.ours)):
        out = room.run(program, "count", lib=lib, env={"UCX_TLS": FAST, "UCX_WARN_UNUSED_ENV_VARS": "n"})
        made[name] = {line[1]: float(line[2]) for line in re.finditer(r"calls per (.*): ([\d.]+)", out)}
    check(len(made["ours"]) == 3, f"{made}")
    return made


@simulated
def test_calls_for_keys(room):
    """A read and a key, used or not, take no more calls of the driver than genuine UCX makes, which
    closes nothing."""
    made = calls_for_keys(room)
    for what in made["ours"]:
        check(made["ours"][what] <= made["genuine"][what], f"{what}: {made}")
    print(f"       calls of the driver: {made}")


@simulated
def test_genuine_keeps_mappings(room):
    """The test of keys can fail too."""
    process = room.start(room.compile("keys"), "two", lib=machine.GENUINE / "lib", env={"UCX_TLS": FAST})
    line = next((line for line in process.stdout if "are open" in line), "")
    process.kill()
    process.communicate()
    check("1 are open, not 0" in line, "genuine UCX closes its mappings?")


def test_owner_killed(room):
    """Mappings of a process that was killed are closed as all others."""
    process = room.start(room.compile("keys"), "killed", lib=room.ours, env={"UCX_TLS": FAST})
    out, _ = process.communicate(timeout=LIMIT)
    check(process.returncode == -9 and out.splitlines()[-1:] == ["end"], f"{process.returncode}: {out[-1500:]}")


def test_memory_lists(room):
    out = ours(room, room.compile("lists"), UCX_LOG_LEVEL="fatal")
    check("free memory: as before" in out, out[-1500:])


@simulated
def test_rendezvous_by_opened_memory(room):
    """Messages between devices are read from where they are; what was opened is closed at the end."""
    program = room.compile("buffers")
    report = room.folder / "report-%p"
    out = room.run_ours(program, "cuda,cuda", "1", env={"UCX_TLS": FAST, "CUDASIM_REPORT": str(report)})
    check("all bytes arrived" in out, out[-1500:])
    reports = all_closed(room, 1)
    check(sum(report.get("calls cuIpcOpenMemHandle_v2", 0) for report in reports) >= 1, f"{reports}")


def other_views(room, parts):
    program = room.program("keys")
    views = [{"CHILD_NAMESPACE": "1"}] if os.geteuid() == 0 else []
    if devices(room) > 1:
        views += [{"CHILD_DEVICES": "1,0"}, {"CHILD_DEVICES": "1"}]
    for view in views:
        for part in parts:
            keys(room, program, part, **view)


def test_other_views_of_the_machine(room):
    """The other process sees other devices, or the same in another order, or is in a pid namespace of its
    own, where it is process 1."""
    other_views(room, ("two", "pointers"))


def long_test_other_views_of_the_machine(room):
    other_views(room, ("never", "in_flight", "put", "again"))
    if os.geteuid() == 0:
        for kind, env in kinds("fabric", "pool"):
            keys(room, room.program("keys"), "two", 1, kind, CHILD_NAMESPACE="1", **env)


HOSTILE = {
    "flips": 270, "forged": 300, "halves": 9, "empty": 2, "types": 35, "freed": 2, "early": 1, "forked": 0,
    "left": 0, "dead": 2,
}  # fmt: skip
# Outside of an allocation a real driver may do as it likes.
HOSTILE_TO_DRIVERS = ["forged", "halves", "early"]


def said_once(part, out):
    """Tries, of which each says no more than a line for each of two ways that it was tried by, or of the
    processes that it concerns."""
    tries, lines = 0, []
    for line in out.splitlines():
        if line.startswith("-- "):
            check(len(lines) <= 2, f"{part}: {line}: {lines}")
            tries, lines = tries + 1, []
        elif re.search(r"UCX +(ERROR|WARN)", line):
            lines.append(re.sub(r"^\S+ \S+ +", "", line))
    return tries


def test_strangers(room):
    """Damaged and forged keys, those of processes and memory that are gone, buffers half inside of an
    allocation, memory freed too early, forked processes: a status, a line in the log, and nothing more."""
    program = room.program("hostile")
    for part, tries in HOSTILE.items():
        if machine.REAL and part in HOSTILE_TO_DRIVERS:
            continue
        out = ours(room, program, part, UCX_WARN_UNUSED_ENV_VARS="n")
        check("free memory: as before" in out, f"{part}: {out[-1500:]}")
        done = said_once(part, out)
        check(done >= tries, f"{part}: {done} tries: {out[-1500:]}")


# ---- under MPI ------------------------------------------------------------------------------------


def in_mpi(room, name):
    flags = [f"-I{HERE.parent / 'clients' / 'mpi'}", f"-I{INCLUDE}", f"-L{machine.GENUINE / 'lib'}", "-lucp", "-lucs", "-lm"]
    flags += machine.driver_flags()
    return under_mpi.UnderMpi(room, under_mpi.MPIS[name], flags)


def ended_well(result, ranks=2):
    """All that was opened is closed when MPI has ended, in every rank."""
    out, reports = result
    check("ok end" in out and (machine.REAL or len(reports) == ranks), f"{len(reports)} reports: {out[-1500:]}")
    for report in reports:
        balanced(facts(report))
    return out


def buffers_in_mpi(room, names, ranks):
    for name in names:
        mpi = in_mpi(room, name)
        for tls in (under_mpi.FAST, under_mpi.SLOW):
            out = ended_well(mpi.run(room.ours, tls, "buffers", ranks=ranks), ranks)
            check("ok buffers" in out, f"{name} {tls}: {out[-1500:]}")


def keys_in_mpi(room, names, size, rounds, hows=("get", "ptr", "never"), **env):
    for name in names:
        mpi = in_mpi(room, name)
        for how in hows:
            out = ended_well(mpi.run(room.ours, under_mpi.FAST, how, size, rounds, **env))
            check("free memory: as before" in out, f"{name} {how}: {out[-1500:]}")


def test_buffers_in_mpi(room):
    buffers_in_mpi(room, ["openmpi-4.1.4"], 2)


def test_keys_in_mpi(room):
    keys_in_mpi(room, ["openmpi-4.1.4"], 4 << 20, 20)


def test_genuine_leaks_in_mpi(room):
    """The same program on genuine UCX 1.22.0."""
    out, _ = in_mpi(room, "openmpi-4.1.4").run(machine.GENUINE / "lib", under_mpi.FAST, "get", 4 << 20, 20)
    check(re.search(r"round 0: \d+ bytes of memory less", out), f"no leak? {out[-1500:]}")


def long_test_buffers_in_mpi(room):
    buffers_in_mpi(room, under_mpi.MPIS, 4)


def long_test_keys_in_mpi(room):
    keys_in_mpi(room, under_mpi.MPIS, 1 << 20, 1000)
    keys_in_mpi(room, ["openmpi-4.1.4", "openmpi-5.0.11"], 1 << 30, 1)
    keys_in_mpi(room, ["openmpi-4.1.4"], 1 << 30, 1000, ["ptr", "never"])
    keys_in_mpi(room, ["openmpi-5.0.11"], 1 << 20, 20, CUDASIM_DEVICES="1")


# ---- other clients ----------------------------------------------------------------------------------


def client_on_devices(room, run, tls, cases, full=False):
    """Buffers on devices in a client that was built for genuine UCX."""
    said, reports = run(room, room.ours, tls, full=full)
    check(sum(line.startswith("ok ") for line in said.splitlines()) >= cases, f"{tls}: {said[-1500:]}")
    check(machine.REAL or len(reports) == 2, f"{tls}: {len(reports)} reports")
    for report in reports:
        report = facts(report)
        balanced(report)
        check(report["open device"] == 0, f"{report}")


def test_ucxx(room):
    client_on_devices(room, python_clients.ucxx, python_clients.FAST, 7)


def long_test_nixl(room):
    client_on_devices(room, python_clients.nixl, python_clients.FAST, 4)


def long_test_other_clients(room):
    for tls in (python_clients.FAST, python_clients.SLOW):
        client_on_devices(room, python_clients.ucxx, tls, 7, full=True)
        client_on_devices(room, python_clients.nixl, tls, 4, full=True)


# ---- threads --------------------------------------------------------------------------------------


def copies_of(room, program, **env):
    """Copies that the driver is asked for by the sender of messages, puts and gets between devices."""
    folder = Path(tempfile.mkdtemp(dir=room.folder))
    out = room.run_ours(program, "cuda,cuda", "1", env={"UCX_TLS": FAST, "CUDASIM_REPORT": str(folder / "%p")} | env)
    check("all bytes arrived" in out, f"{env}: {out[-1500:]}")
    reports = [facts(path.read_text()) for path in folder.iterdir()]
    check(len(reports) == 1, f"{env}: {len(reports)} reports")
    balanced(reports[0])
    return reports[0].get("calls cuMemcpyAsync", 0)


SCHEMES = ["get_zcopy", "put_zcopy", "rkey_ptr", "get_ppln", "put_ppln", "am"]


@simulated
def test_schemes_between_devices(room):
    """A scheme that is asked for is the one that is taken: read where it is, written where it goes, or
    staged. Whether there is a network, whose devices can't register memory of devices, changes nothing."""
    program, thresh = room.program("buffers"), {"UCX_RNDV_THRESH": "20000"}
    made = {scheme: copies_of(room, program, UCX_RNDV_SCHEME=scheme, **thresh) for scheme in SCHEMES}
    read, written, staged = made["get_zcopy"], made["put_zcopy"], made["am"]
    check(made["rkey_ptr"] == read == copies_of(room, program, **thresh), f"{made}")
    check(read < written < staged, f"{made}")
    for scheme in SCHEMES:
        with_network = copies_of(room, program, UCX_RNDV_SCHEME=scheme, UCX_TLS="tcp," + FAST, **thresh)
        check(with_network == made[scheme], f"{scheme}: {made[scheme]}, with a network {with_network}")
    # Only where there are links is reading the choice.
    for env in ({"CUDASIM_NVLINKS": "0"}, {"UCX_CUDA_IPC_ENABLE_GET_ZCOPY": "n"}):
        copies = copies_of(room, program, **env, **thresh)
        check(copies > read, f"{env}: {copies} copies, {read} by reading")
    copies = copies_of(room, program, CUDASIM_NVLINKS="0", UCX_CUDA_IPC_ENABLE_GET_ZCOPY="y", **thresh)
    check(copies == read, f"{copies} copies, {read} by reading")


FORCE = {"UCX_RNDV_PIPELINE_SHM_CUDA_STAGING_FORCE": "y"}


@simulated
def test_staging_policy(room):
    """Messages between devices are read where that is faster, or go through the host if the user wants:
    that takes more copies. All bytes arrive either way."""
    program = room.compile("buffers")
    read = copies_of(room, program)
    for env in (FORCE, {"UCX_CUDA_IPC_BW": "1MBs"}):
        copies = copies_of(room, program, **env)
        check(copies > read, f"{env}: {copies} copies, {read} by reading")
    for no in ({"UCX_RNDV_PIPELINE_SHM_ENABLE": "n"}, {"UCX_RNDV_FRAG_MEM_TYPE": "cuda"}, {"UCX_RNDV_SCHEME": "get_zcopy"}):
        copies = copies_of(room, program, **FORCE, **no)
        check(copies == read, f"{no}: {copies} copies, {read} by reading")


def threads(room, seconds):
    program = room.compile("keys")
    for env in ({}, {"UCX_CUDA_IPC_CACHE_MAX_REGIONS": "2"}):
        keys(room, program, "threads", seconds, **env)


def test_threads(room):
    threads(room, 2)


def long_test_threads(room):
    threads(room, 60)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lib", type=Path, default=ROOT / "build" / "lib")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--real", nargs="?", const="", metavar="DIR")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if arguments.real is None:
        build.build()
        build.genuine(DEPS)
    else:
        machine.on_real_driver(arguments.real)
    prefixes = ("test_", "long_test_") if arguments.long else ("test_",)
    tests = {name: run for name, run in globals().items() if name.startswith(prefixes)}
    passed = failed = 0
    for name, run in tests.items():
        if arguments.names and not any(part in name for part in arguments.names):
            continue
        if machine.REAL and hasattr(run, "simulated"):
            print(f"left out {name}", flush=True)
            continue
        with tempfile.TemporaryDirectory(prefix="ucx-rs-cuda-") as folder:
            room = Room(Path(folder), arguments.lib)
            start = time.monotonic()
            try:
                run(room)
                room.all_is_closed()
                passed += 1
                print(f"ok     {name} ({time.monotonic() - start:.1f} s)", flush=True)
            except (Failure, under_mpi.proc.Failure) as failure:
                failed += 1
                print(f"FAILED {name}: {failure}", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED {name}:\n{traceback.format_exc()}", flush=True)
            finally:
                shutil.rmtree(room.machine, ignore_errors=True)
    print(f"cuda: {passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
