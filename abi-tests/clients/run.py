#!/usr/bin/env python3
"""Runs unmodified clients of UCX over a folder of libraries.

usage: run.py [--smoke | --full] [--lib DIR] [--genuine DIR] [--tls sm|tcp|both] [--only TEXT]... [--jobs N] [--list]

Each test has a time limit, and must prove from /proc/PID/maps that every process in it used the
libraries of DIR and no other UCX. The last line is 'N passed, N failed, N skipped'."""
import argparse
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import proc  # noqa: E402
import where  # noqa: E402
from tests import Context, Skip  # noqa: E402


def parse():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--smoke", action="store_true", help="the short form of every client (default)")
    a.add_argument("--full", action="store_true", help="the clients' whole suites")
    a.add_argument("--lib", default=where.OURS, help="the libraries under test")
    a.add_argument("--genuine", default=where.GENUINE, help="genuine UCX 1.22.0")
    a.add_argument("--tls", choices=["sm", "tcp", "both"], help="only over these transports")
    a.add_argument("--only", action="append", default=[], help="only tests whose name has this text")
    a.add_argument("--names", metavar="FILE", help="only tests that FILE names, in its order: lines such as --list prints")
    a.add_argument("--list", action="store_true", help="print the names of the tests")
    a.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N",
                   help="so many tests at once of those that keep one processor busy (default: the number of processors)")
    a.add_argument("--patience", type=float, default=float(os.environ.get("UCX_RS_TEST_PATIENCE", 1)), metavar="N",
                   help="every time limit N times as long, for a machine that does other work beside")
    a.add_argument("--logs", default=os.path.join(where.REPO, "build", "client-logs"), help="outputs of failed tests")
    return a.parse_args()


def all_tests():
    import btl_uct
    import capi
    import hosts
    import io_demo
    import mpi
    import mpi4py_suite
    import nixl_py
    import own
    import proto_info
    import rails
    import rails_bad
    import rails_mpi
    import nonsense
    import settings
    import shmem
    import tools
    import uct
    import ucxx_py

    suites = (mpi, shmem, capi, tools, mpi4py_suite, io_demo, ucxx_py, nixl_py, hosts, rails, rails_bad, rails_mpi, proto_info, settings, nonsense, uct, btl_uct, own)
    return [test for suite in suites for test in suite.tests()]


def chosen(options):
    for t in all_tests():
        if not options.full and not t.smoke:
            continue
        if options.tls and t.tls and t.tls != options.tls:
            continue
        if options.only and not any(o in t.name for o in options.only):
            continue
        yield t


def label(test):
    return test.name + (f" [{test.tls}]" if test.tls else "")


def named(options):
    """The chosen tests, in the order of --names."""
    tests = list(chosen(options))
    if not options.names:
        return tests
    with open(options.names) as f:
        place = {line.strip(): i for i, line in reversed(list(enumerate(f)))}
    return sorted((t for t in tests if label(t) in place), key=lambda t: place[label(t)])


def keep_log(options, what, ctx, why):
    """Where the output of a failed test was put."""
    os.makedirs(options.logs, exist_ok=True)
    path = os.path.join(options.logs, "".join(c if c.isalnum() or c in ".-" else "_" for c in what) + ".log")
    with open(path, "w") as f:
        f.write(f"{what}: {why}\n")
        if ctx.last:
            f.write("$ " + " ".join(getattr(ctx.last, "cmd", [])) + "\n" + ctx.last.out)
            for pid, files in ctx.last.mapped.items():
                f.write(f"process {pid} mapped {' '.join(sorted(files))}\n")
    return path


def run_one(options, t, scratch):
    """Runs a test, says how it went, and returns the verdict."""
    ctx = Context(os.path.abspath(options.lib), os.path.abspath(options.genuine), scratch, options.full)
    start = time.monotonic()
    try:
        t.body(ctx, t.tls)
        verdict, why = "ok", ctx.note
    except Skip as e:
        verdict, why = "skipped", str(e)
    except Exception as e:  # a fault in a test is a failed test, and the others still run
        why = str(e) if isinstance(e, proc.Failure) else f"{type(e).__name__}: {e}"
        why += f"; output in {keep_log(options, label(t), ctx, why)}"
        verdict = "FAILED"
    finally:
        proc.end_all(0.1)
    print(f"{verdict:7} {label(t)} ({time.monotonic() - start:.1f} s){': ' + why if why else ''}", flush=True)
    return verdict


def side_by_side(options, tests, scratch, count):
    """Runs light tests, several at once: each by the next runner that has nothing to do."""
    fork = multiprocessing.get_context("fork")
    taken, verdicts = fork.Value("i", 0), fork.Array("i", len(count))

    def runner():
        proc.adopt()
        while True:
            with taken:
                mine, taken.value = taken.value, taken.value + 1
            if mine >= len(tests):
                return
            verdict = run_one(options, tests[mine], scratch)
            with verdicts:
                verdicts[list(count).index(verdict)] += 1

    runners = [fork.Process(target=runner) for _ in range(options.jobs)]
    try:
        for r in runners:
            r.start()
        for r in runners:
            r.join()
    finally:
        proc.end_all()
    for verdict, n in zip(count, verdicts):
        count[verdict] += n
    # A runner that ended before its time took its test with it.
    count["FAILED"] += len(tests) - sum(verdicts)


def main():
    options = parse()
    # Being told to stop ends the clients too: the exception passes through what cleans up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    proc.patience = options.patience
    proc.own_shared_memory()
    tests = named(options)
    if options.list:
        for t in tests:
            print(label(t))
        return 0
    if not os.path.exists(os.path.join(options.lib, "libucp.so.0")):
        print(f"no libucp.so.0 in {options.lib}: build first, or name a folder with --lib", file=sys.stderr)
        return 2
    if not os.path.isdir(where.DEPS):
        print(f"no {where.DEPS}: run `make deps` first, or set UCX_RS_DEPS", file=sys.stderr)
        return 2
    count = {"ok": 0, "FAILED": 0, "skipped": 0}
    scratch = tempfile.mkdtemp(prefix="ucx-rs-clients-")
    try:
        if options.jobs > 1:
            side_by_side(options, [t for t in tests if t.light], scratch, count)
            tests = [t for t in tests if not t.light]
        for t in tests:
            count[run_one(options, t, scratch)] += 1
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{count['ok']} passed, {count['FAILED']} failed, {count['skipped']} skipped")
    return 1 if count["FAILED"] or not count["ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
