"""A test: a name, the transports it runs over, the form (smoke or full) that it belongs to."""
import hashlib
import os
import subprocess

import proc
from proc import Failure


class Skip(Exception):
    """A test that the project does not ask for on this machine; says why."""


class Context:
    """What a test runs with."""

    def __init__(self, lib, genuine, scratch, full):
        self.lib, self.genuine, self.scratch, self.full = lib, genuine, scratch, full
        self.last = None  # the output to show when the test fails
        self.note = ""

    def run(self, cmd, env, timeout, **more):
        self.last = r = proc.run(cmd, env, timeout, **more)
        r.cmd = cmd
        return r

    def compiled(self, source, compiler, *flags):
        """Path of the program made of a C file, compiled once per run of the tests."""
        # The paths in the flags may be long, so their hash names them.
        name = os.path.splitext(os.path.basename(source))[0]
        what = " ".join([compiler, source, *flags])
        out = os.path.join(self.scratch, f"{name}-{hashlib.sha256(what.encode()).hexdigest()[:16]}")
        if not os.path.exists(out):
            # Another runner beside this one may compile the same.
            mine = f"{out}.{os.getpid()}"
            r = subprocess.run([compiler, "-O1", "-g", "-Wall", source, "-o", mine, *flags], capture_output=True, text=True)
            if r.returncode:
                raise Failure(f"{source} does not compile: {r.stderr[-2000:]}")
            os.rename(mine, out)
        return out


class Test:
    """`light`: keeps one processor busy, and looks at nothing that other tests may change."""

    def __init__(self, name, tls, body, smoke=True):
        self.name, self.tls, self.body, self.smoke, self.light = name, tls, body, smoke, False


def succeeded(r, *lines):
    if r.timed_out or r.rc != 0:
        raise Failure(r.how())
    for line in lines:
        if line not in r.out:
            raise Failure(f"no {line!r} in the output")


def over_both(name, body, smoke=True):
    """The same test over shared memory and over TCP."""
    return [Test(name, tls, body, smoke) for tls in ("sm", "tcp")]


def over_all(name, body, smoke=True):
    """Those two, and both kinds of transport together."""
    return over_both(name, body, smoke) + [Test(name, "both", body, smoke)]
