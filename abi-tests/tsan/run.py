#!/usr/bin/env python3
"""Programs with many threads under ThreadSanitizer: our libraries are built for it, with its runtime
in the program. Needs `make` before.

    run.py [--tls sm|tcp]...

The compiler's sanitizers are for nightly toolchains; RUSTC_BOOTSTRAP lets the stable one have them.
The last line is 'N passed, N failed'."""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DEPS = Path(os.environ.get("UCX_RS_DEPS") or ROOT / ".deps")
LIB = ROOT / "build" / "lib"
OUT = ROOT / "target" / "tsan"
TRIPLE = "x86_64-unknown-linux-gnu"
LIMIT = 300
# Program, arguments, transports.
PROGRAMS = [("threads", ["60", "warm"], ("sm", "tcp")), ("free_threads", ["2000"], ("sm",)), ("wakeup", ["300"], ("sm", "tcp")),
            ("together", ["60"], ("tcp",)), ("together", ["60", "sm"], ("sm",))]


def libraries():
    """A folder like build/lib, with the instrumented library in it."""
    env = os.environ | {
        "RUSTC_BOOTSTRAP": "1",
        "RUSTFLAGS": "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer -Cforce-frame-pointers=yes",
    }
    cargo = os.environ.get("CARGO", "cargo")
    subprocess.run([cargo, "build", "--release", "--lib", "--target", TRIPLE, "--target-dir", OUT], cwd=ROOT, env=env, check=True)
    lib = OUT / "lib"
    shutil.rmtree(lib, ignore_errors=True)
    shutil.copytree(LIB, lib, symlinks=True)
    real = lib / "libucp.so.0.0.0"
    real.unlink()
    shutil.copy(OUT / TRIPLE / "release" / "libucx.so", real)
    return lib


def runtime():
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    found = list((Path(sysroot) / "lib" / "rustlib" / TRIPLE / "lib").glob("librustc-*rt.tsan.a"))
    if not found:
        sys.exit("the toolchain has no runtime of ThreadSanitizer")
    return found[0]


def program(name):
    """The compiler's own runtime would not know all that ours calls, so it is only asked to compile."""
    genuine = DEPS / "libucx"
    obj, out = OUT / f"{name}.o", OUT / name
    source = ROOT / "abi-tests" / "capi" / f"{name}.c"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-fsanitize=thread", "-O1", "-g", "-Wno-deprecated-declarations", f"-I{genuine}/include", "-c", source, "-o", obj], check=True)
    subprocess.run([compiler, obj, "-o", out, "-Wl,--whole-archive", runtime(), "-Wl,--no-whole-archive", "-rdynamic",
                    f"-L{LIB}", f"-Wl,-rpath-link,{LIB}", "-lucp", "-lucs", "-lpthread", "-lm", "-ldl", "-lrt"], check=True)
    return out


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--tls", action="append", choices=["sm", "tcp"])
    wanted = options.parse_args().tls or ["sm", "tcp"]
    lib = libraries()
    passed = failed = 0
    for name, arguments, transports in PROGRAMS:
        binary = program(name)
        for tls in transports:
            if tls not in wanted:
                continue
            env = {k: v for k, v in os.environ.items() if not k.startswith(("UCX_", "LD_"))} | {
                "LD_LIBRARY_PATH": str(lib),
                "UCX_TLS": f"self,{tls}",
                # Stopped when a report has been written; 66 is what the runtime exits with then.
                "TSAN_OPTIONS": f"suppressions={HERE}/suppressions.txt",
            }
            try:
                r = subprocess.run([binary, *arguments], env=env, capture_output=True, text=True, timeout=LIMIT)
                bad = r.returncode != 0 or "WRONG" in r.stdout or "MISCOUNTED" in r.stdout
                text = r.stdout + r.stderr
            except subprocess.TimeoutExpired as e:
                bad, text = True, f"did not end in {LIMIT} s\n{e.stdout}"
            print("FAILED" if bad else "ok    ", name, f"[{tls}]", flush=True)
            if bad:
                print(text[:20000], flush=True)
            failed += bad
            passed += not bad
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
