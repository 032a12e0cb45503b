"""What the tests of CUDA run on: libraries, a driver, and rooms with programs in them."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "sim" / "cuda"))
import build  # noqa: E402

DEPS = Path(os.environ.get("UCX_RS_DEPS", ROOT / ".deps"))
INCLUDE = DEPS / "libucx" / "include"
GENUINE = build.TARGET / "genuine" / "libucx"
DRIVER = build.LIB  # the folder of the driver's library
REAL = False  # it is not the simulated one
LIMIT = 120
FABRIC = {"CUDASIM_FABRIC": "1"}


class Failure(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


def simulated(test):
    """Only the simulated driver counts its calls, fails on demand, or lacks something."""
    test.simulated = True
    return test


def on_real_driver(folder):
    """All that runs from now on uses a real driver."""
    global GENUINE, DRIVER, REAL
    known = subprocess.run(["/sbin/ldconfig", "-p"], stdout=subprocess.PIPE, text=True).stdout
    found = re.search(r"libcuda\.so\.1 .*x86-64.* => (\S+)", known)
    DRIVER = Path(folder) if folder else Path(found[1]).parent if found else None
    if not DRIVER or not (DRIVER / "libcuda.so.1").exists():
        sys.exit("there is no libcuda.so.1: no driver")
    GENUINE, REAL = DEPS / "libucx", True


class Room:
    """A folder for a test's files, and a simulated machine of its own."""

    def __init__(self, folder, ours):
        self.reports = folder / "reports-of-all"
        self.reports.mkdir()
        self.folder, self.ours, self.machine = folder, ours, Path(tempfile.mkdtemp(prefix="cudasim-", dir="/dev/shm"))

    def env(self, lib, extra):
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("UCX_", "LD_", "CUDA"))}
        path = ":".join(str(part) for part in (lib, DRIVER) if part)
        if lib == self.ours:
            clean["ALL_IS_CLOSED"] = "1"  # what programs of two processes check at their end
            clean["CUDASIM_REPORT"] = str(self.reports / "%p")
        return clean | {"LD_LIBRARY_PATH": path, "CUDASIM_DIR": str(self.machine), "HOME": "/nonexistent"} | extra

    def start(self, *command, lib=None, env=None):
        return subprocess.Popen(
            [str(part) for part in command], env=self.env(lib, env or {}),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip

    def finish(self, process, what):
        try:
            out, _ = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Failure(f"{what}: no end; {process.communicate()[0][-1500:]}")
        check(process.returncode == 0, f"{what}: exit status {process.returncode}: {out[-1500:]}")
        return out

    def run(self, *command, lib=None, env=None):
        return self.finish(self.start(*command, lib=lib, env=env), command[0])

    def run_ours(self, *command, env=None):
        """On our libraries, with the modules of genuine UCX that are not transports."""
        modules = {"UCX_MODULE_DIR": str(GENUINE / "lib" / "ucx")}
        return self.run(*command, lib=self.ours, env=modules | (env or {}))

    def all_is_closed(self):
        """Every process on our libraries that came to its end has closed what it had opened of others."""
        for path in self.reports.iterdir():
            report = facts(path.read_text())
            still = report["open opened"] + report["open imported"]
            check(report["opens"] == report["closes"] and not still, f"left open: {report}")

    def program(self, name):
        """As compile, once for a test."""
        known = self.folder / name
        return known if known.exists() else self.compile(name)

    def compile(self, name, *flags, ucx=True, include=INCLUDE):
        program = self.folder / "-".join((name, *flags))
        command = [os.environ.get("CC", "cc"), "-O1", "-g", "-w", str(HERE / f"{name}.c"), "-o", str(program)]
        if ucx:
            command += [f"-I{include}", f"-I{HERE.parent / 'capi'}", f"-L{GENUINE / 'lib'}", "-lucp", "-luct", "-lucs", "-pthread"]
        command += [*flags, *driver_flags()]
        subprocess.run(command, check=True, timeout=LIMIT)
        return program


def driver_flags():
    return [*(["-DREAL"] if REAL else []), f"-L{DRIVER}", "-l:libcuda.so.1", "-Wl,--allow-shlib-undefined"]


def facts(report):
    """A report by its facts: the first number behind each name."""
    lines = (re.fullmatch(r"(.*?) (\d+)( \d+)?", line) for line in report.splitlines())
    return {line[1]: int(line[2]) for line in lines if line}
