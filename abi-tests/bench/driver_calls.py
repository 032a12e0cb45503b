"""Calls of the CUDA driver per read, per key and per message, on the simulated driver: counts, not times."""
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

CUDA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cuda")


def tests():
    """The tests of CUDA, whose programs count."""
    sys.path.append(CUDA)
    spec = importlib.util.spec_from_file_location("cuda_tests", os.path.join(CUDA, "run.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(table, options):
    """Not more of them than genuine UCX makes."""
    if options.cases not in "driver calls":
        return
    cuda = tests()
    cuda.build.build()
    cuda.build.genuine(cuda.DEPS)
    with tempfile.TemporaryDirectory() as folder:
        room = cuda.Room(Path(folder), Path(options.ours))
        try:
            made = cuda.calls_for_keys(room)
            for what, ours, genuine in cuda.calls_for_operations(room):
                made["ours"][what], made["genuine"][what] = ours, genuine
        finally:
            cuda.shutil.rmtree(room.machine, ignore_errors=True)
    for what, ours in made["ours"].items():
        genuine = made["genuine"][what]
        print(f"{'driver calls per ' + what:32} ours {ours:10.1f}  genuine {genuine:10.1f}", flush=True)
        if ours > genuine:
            table.missed.append(f"driver calls per {what}")
