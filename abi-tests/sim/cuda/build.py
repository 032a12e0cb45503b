#!/usr/bin/env python3
"""Builds the simulated CUDA libraries and, beside them, genuine UCX that uses them.

    build.py [--genuine WHEEL]      WHEEL: the folder that has libucx/ and libucx_cu12.libs/

They go to target/sim/cuda/lib. The modules of the genuine wheel look for the CUDA runtime relative
to themselves before anywhere else, so with --genuine the wheel is copied to target/sim/cuda/genuine,
where the simulated runtime stands in the place of the real one.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "sim" / "cuda"
LIB = TARGET / "lib"
# The name that auditwheel gave the runtime in the wheel of genuine UCX 1.22.0.
RUNTIME = "libcudart-256e6409.so.12.9.79"


def run(*command):
    subprocess.run([str(c) for c in command], check=True)


def replace(source, target):
    """Puts a new file in place of one that processes may have mapped."""
    new = target.with_name(target.name + ".new")
    shutil.copyfile(source, new)
    new.chmod(0o755)
    new.rename(target)


def link_runtime(archive, name):
    """Its symbols have versions, which rustc doesn't give to those of a cdylib."""
    linked = LIB / "runtime.tmp"
    run(
        os.environ.get("CC", "cc"), "-shared", "-o", linked, "-Wl,--whole-archive", archive,
        "-Wl,--no-whole-archive", f"-Wl,-soname,{name}", "-Wl,--gc-sections",
        f"-Wl,--version-script={HERE / 'runtime' / 'libcudart.map'}", "-ldl", "-lpthread",
    )  # fmt: skip
    replace(linked, LIB / name)
    linked.unlink()


def build():
    """Builds the libraries; returns the folder that has them under their genuine names."""
    cargo = os.environ.get("CARGO", "cargo")
    manifest = HERE / "Cargo.toml"
    run(cargo, "build", "--quiet", "--release", "--manifest-path", manifest, "--target-dir", TARGET)
    out = TARGET / "release"
    LIB.mkdir(parents=True, exist_ok=True)
    replace(out / "libcuda.so", LIB / "libcuda.so.1")
    replace(out / "libnvidia_ml.so", LIB / "libnvidia-ml.so.1")
    for name in (RUNTIME, "libcudart.so.12"):
        link_runtime(out / "libcudart.a", name)
    return LIB


def genuine(wheel):
    """Copies the wheel; returns the copy's folder of libraries. Needs `build` first."""
    wheel, copy = Path(wheel), TARGET / "genuine"
    stamp = copy / "stamp"
    if not stamp.exists():
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(wheel / "libucx", copy / "libucx", symlinks=True, ignore=shutil.ignore_patterns("*.a"))
        shutil.copytree(wheel / "libucx_cu12.libs", copy / "libucx_cu12.libs", symlinks=True)
        stamp.touch()
    replace(LIB / RUNTIME, copy / "libucx_cu12.libs" / RUNTIME)
    return copy / "libucx" / "lib"


def main():
    arguments = sys.argv[1:]
    if arguments and (len(arguments) != 2 or arguments[0] != "--genuine"):
        sys.exit(__doc__)
    print(build())
    if arguments:
        print(genuine(arguments[1]))


if __name__ == "__main__":
    main()
